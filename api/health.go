package api

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Health is what the service knows about those that it depends on.
type Health struct {
	// Sources are the addresses of Prometheus, Alertmanagers and Clusters those of
	// the configuration.
	Sources, Alertmanagers, Clusters []contact.Status
	// Store is nil in a process that has none of its own.
	Store *contact.Status
	// NextTick is when the next evaluation is due, zero where nothing is evaluated.
	NextTick time.Time
	// Reload is the last reload if it was refused, else nil.
	Reload *ReloadFailure
}

// Health is the part of a status that is not about scopes.
func (s *Status) Health() Health {
	h := Health{Sources: s.Sources, Alertmanagers: s.Alertmanagers, Clusters: s.Clusters, Store: s.Store, Reload: s.ReloadFailure}
	if s.NextTick != nil {
		h.NextTick = *s.NextTick
	}
	return h
}

func (s *server) health() Health {
	if s.Health == nil {
		return Health{}
	}
	return s.Health()
}

// SourceDown is the Prometheus that should answer and does not, nil if there is
// none.
func (h *Health) SourceDown() *contact.Status {
	for i := range h.Sources {
		if s := &h.Sources[i]; s.InUse && s.State == contact.Down {
			return s
		}
	}
	return nil
}

// Troubles are what people have to know before they believe anything else, in
// sentences, the worst first.
func (h *Health) Troubles() []string {
	var out []string
	if s := h.SourceDown(); s != nil {
		out = append(out, fmt.Sprintf("%s %s: what is shown was decided without it.", whoOf("Prometheus", s), silence(s)))
	}
	if s := h.Store; s != nil && s.State == contact.Down {
		out = append(out, fmt.Sprintf("The state store (%s) %s: nothing is decided until it works again.", s.Name, silence(s)))
	}
	for _, kind := range []struct {
		words string
		of    []contact.Status
	}{{"Cluster", h.Clusters}, {"Alertmanager", h.Alertmanagers}} {
		for i := range kind.of {
			if s := &kind.of[i]; s.State == contact.Down {
				out = append(out, fmt.Sprintf("%s %s.", whoOf(kind.words, s), silence(s)))
			}
		}
	}
	if r := h.Reload; r != nil {
		out = append(out, fmt.Sprintf("The reload of %s was refused, and a restart would fail; what was loaded before runs on. %s", scaling.At(r.At), r.Error))
	}
	return out
}

// whoOf names somebody as people know it.
func whoOf(kind string, s *contact.Status) string {
	switch {
	case kind == "Cluster":
		return fmt.Sprintf("Cluster %s", s.Name)
	case s.URL == "":
		return fmt.Sprintf("%s (%s)", kind, s.Name)
	default:
		return fmt.Sprintf("%s %s", kind, s.URL)
	}
}

// silence says since when somebody does not answer, and why.
func silence(s *contact.Status) string {
	text := "gives no answer"
	if s.Since != nil {
		text += " since " + scaling.At(*s.Since)
	}
	if s.LastAnswer == nil {
		text += ", and never did"
	}
	if s.Error != "" {
		text += " (" + s.Error + ")"
	}
	return text
}

// contactView is a line of the page about somebody.
type contactView struct {
	What, Who, Version string
	State              contact.State
	Words              string
	Error              string
	Since, LastAnswer  string
}

// contactViews are everybody, in the order of the data's way.
func (h *Health) contactViews() []contactView {
	var out []contactView
	add := func(what string, all ...contact.Status) {
		for i := range all {
			out = append(out, contactViewOf(what, &all[i]))
		}
	}
	add("Cluster", h.Clusters...)
	add("Prometheus", h.Sources...)
	if h.Store != nil {
		add("State", *h.Store)
	}
	add("Alertmanager", h.Alertmanagers...)
	return out
}

func contactViewOf(what string, s *contact.Status) contactView {
	v := contactView{What: what, Who: s.Name, Version: s.Version, State: s.State, Error: s.Error}
	if s.URL != "" && what != "Cluster" {
		v.Who = s.URL
	}
	switch s.State {
	case contact.Up:
		v.Words = "answers"
	case contact.Down:
		v.Words = "no answer"
	default:
		v.Words = "not asked yet"
	}
	if s.Since != nil {
		v.Since = scaling.At(*s.Since)
	}
	if s.LastAnswer != nil {
		v.LastAnswer = scaling.At(*s.LastAnswer)
	}
	return v
}

// anyDown reports whether somebody does not answer.
func anyDown(views []contactView) bool {
	return slices.ContainsFunc(views, func(v contactView) bool { return v.State == contact.Down })
}
