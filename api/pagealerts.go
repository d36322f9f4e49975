package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// alertsView is the page of what was sent to Alertmanager.
type alertsView struct {
	// Fired are active, Ended over for a short time; the newest first.
	Fired, Ended []alertView
	// Nowhere is true if no Alertmanager is configured.
	Nowhere bool
	// Alertmanager is where people silence, empty for nowhere.
	Alertmanager string
}

type alertView struct {
	Name, Severity  string
	Kind            string
	Scope, ScopeURL string
	Summary, Text   string
	Since, For      string
	EndedAt         string
	// SilenceURL is Alertmanager's form, filled in; Runbook is what to do.
	SilenceURL, Runbook string
}

func (s *server) alertsPageView(ctx context.Context, _ url.Values) (pageView, error) {
	if s.Store == nil {
		return pageView{}, refuse(http.StatusNotImplemented, "this process sends no alerts")
	}
	rows, _, err := state.Alerts(s.Store, state.NoFence).ListReadable(ctx)
	if err != nil {
		return pageView{}, s.storeFailure(err)
	}
	h := s.health()
	v := &alertsView{Nowhere: len(h.Alertmanagers) == 0, Alertmanager: alertmanagerOf(h.Alertmanagers)}
	now := s.Now()
	for _, row := range rows {
		for i := range row.Value.Alerts {
			a := v.alert(&row.Value.Alerts[i], now)
			if a.EndedAt == "" {
				v.Fired = append(v.Fired, a)
			} else {
				v.Ended = append(v.Ended, a)
			}
		}
	}
	for _, list := range [][]alertView{v.Fired, v.Ended} {
		slices.SortStableFunc(list, func(a, b alertView) int {
			return cmp.Or(cmp.Compare(b.EndedAt, a.EndedAt), cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(b.Since, a.Since))
		})
	}
	return pageView{Alerts: v}, nil
}

func severityRank(severity string) int {
	return slices.Index([]string{"info", "warning", "page"}, severity) * -1
}

// alertmanagerOf is the one that people are sent to: one that answers, if any does.
func alertmanagerOf(all []contact.Status) string {
	address := ""
	for i := range all {
		if all[i].State == contact.Up {
			return all[i].URL
		}
		address = cmp.Or(address, all[i].URL)
	}
	return address
}

func (v *alertsView) alert(f *state.FiredAlert, now time.Time) alertView {
	scope := f.Labels["scope"]
	a := alertView{
		Name: f.Labels["alertname"], Severity: f.Labels["severity"], Kind: "plain",
		Scope: cmp.Or(scaling.ShownKey(scope), f.Labels["cluster"]), ScopeURL: scopeURL(scope),
		Summary: f.Annotations["summary"], Text: f.Annotations["description"],
		Since: scaling.At(f.StartsAt), For: ago(now.Sub(f.StartsAt)),
	}
	a.Runbook = "runbook#" + strings.ToLower(a.Name)
	switch a.Severity {
	case "page":
		a.Kind = "alarm"
	case "warning":
		a.Kind = "person"
	}
	if !f.ResolvedAt.IsZero() {
		a.Kind, a.EndedAt = "plain", scaling.At(f.ResolvedAt)
		return a
	}
	if v.Alertmanager != "" {
		a.SilenceURL = silenceURL(v.Alertmanager, f.Labels)
	}
	return a
}

// ago is for how long something has lasted, from an hour on in minutes.
func ago(d time.Duration) string {
	if d >= time.Hour {
		d = d.Truncate(time.Minute)
	}
	return span(max(0, d.Truncate(time.Second).Seconds()))
}

// silenceURL is Alertmanager's form for a new silence of an alert of one scope or
// cluster, whatever its severity and recommendation are.
func silenceURL(alertmanager string, labels map[string]string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var matchers []string
	for _, name := range []string{"alertname", "scope", "cluster"} {
		if value := labels[name]; value != "" {
			matchers = append(matchers, name+`="`+quote.Replace(value)+`"`)
		}
	}
	filter := strings.ReplaceAll(url.QueryEscape("{"+strings.Join(matchers, ", ")+"}"), "+", "%20")
	return strings.TrimSuffix(alertmanager, "/") + "/#/silences/new?filter=" + filter
}
