package api

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// configPage is the page of what is configured, and of what was set at run time.
type configPage struct {
	// Pauses are those of the whole service that hold now, Problem is said if nobody
	// can tell.
	Pauses  []pauseView
	Problem string
	// Groups are the settings by the first part of their path.
	Groups []settingsView
	// Scopes are those that the configuration lists, or for which something is set
	// at run time; Others is how many there are beside them.
	Scopes []scopeConfigView
	Others int
}

type settingsView struct {
	Name     string
	Settings []settingView
	// Given is how many are not defaults.
	Given int
}

type settingView struct{ Path, Value, From string }

type scopeConfigView struct {
	Name, URL string
	Listed    bool
	Values    []settingView
	Pause     string
	// Conflicts say what was set at run time and does not count.
	Conflicts []string
}

func (s *server) configPageView(ctx context.Context, query url.Values) (pageView, error) {
	if s.Store == nil || s.Settings == nil {
		return pageView{}, errNoStore()
	}
	var keys []string
	if scope := query.Get("scope"); scope != "" {
		if err := s.exists(ctx, scope); err != nil {
			return pageView{}, err
		}
		keys = []string{scope}
	}
	conf, _, err := s.effective(ctx, keys)
	if err != nil {
		return pageView{}, err
	}
	service := s.controlView(ctx, s.Now(), state.GlobalKey)
	v := &configPage{Groups: settingsViews(conf.Settings), Pauses: service.Pauses, Problem: service.Problem}
	for i := range conf.Scopes {
		c := &conf.Scopes[i]
		if len(keys) == 0 && !c.Listed && c.Control.UpdatedAt == nil && len(c.Conflicts) == 0 {
			v.Others++
			continue
		}
		v.Scopes = append(v.Scopes, scopeConfigViewOf(c, s.Now()))
	}
	return pageView{Config: v}, nil
}

// settingsViews groups settings by the first part of their path; those that
// somebody has given come first.
func settingsViews(all []Setting) []settingsView {
	var out []settingsView
	for _, setting := range all {
		name := setting.Path[:cmp.Or(strings.IndexAny(setting.Path+".", ".["), 1)]
		i := slices.IndexFunc(out, func(g settingsView) bool { return g.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, settingsView{Name: name})
		}
		out[i].Settings = append(out[i].Settings, settingView{setting.Path, valueWords(setting.Value), fromWords(setting.Origin, setting.Source)})
		if setting.Origin != FromDefault {
			out[i].Given++
		}
	}
	return out
}

func valueWords(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		if v == "" {
			return "–"
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

// fromWords says where a value comes from.
func fromWords(origin Origin, source string) string {
	words := map[Origin]string{
		FromDefault: "default", FromRuleSet: "rule set", FromFile: "file", FromEnvironment: "environment",
		FromFlag: "flag", FromRuntime: "set at run time",
	}[origin]
	if source != "" {
		words += " " + source
	}
	return words
}

func scopeConfigViewOf(c *ScopeConfig, now time.Time) scopeConfigView {
	v := scopeConfigView{Name: scaling.ShownKey(c.Scope), URL: scopeURL(c.Scope), Listed: c.Listed, Conflicts: c.Conflicts}
	most := "unbounded"
	if c.MaxWorkers.Value != nil {
		most = count(c.MaxWorkers.Value)
	}
	v.Values = []settingView{
		{"min_workers", count(c.MinWorkers.Value), fromWords(c.MinWorkers.Origin, c.MinWorkers.Source)},
		{"max_workers", most, fromWords(c.MaxWorkers.Origin, c.MaxWorkers.Source)},
		{"mode", string(c.Mode.Value), fromWords(c.Mode.Origin, c.Mode.Source)},
	}
	// A pause that has ended by itself stays in the record for a while.
	if end := c.Control.Until; c.Control.Paused && (end == nil || now.Before(*end)) {
		v.Pause = "paused"
		if end != nil {
			v.Pause += " until " + scaling.At(*end)
		}
	}
	return v
}
