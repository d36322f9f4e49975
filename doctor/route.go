package doctor

import (
	"errors"
	"regexp"
	"slices"

	"github.com/prometheus/alertmanager/pkg/labels"
	"go.yaml.in/yaml/v3"
)

// hiddenURL is what Alertmanager writes in the place of a secret.
const hiddenURL = "<secret>"

// routing is the part of Alertmanager's configuration that says who is told.
type routing struct {
	Route     *route     `yaml:"route"`
	Receivers []receiver `yaml:"receivers"`
}

// route is a node of the tree of routes.
type route struct {
	Receiver string            `yaml:"receiver"`
	Match    map[string]string `yaml:"match"`
	MatchRE  map[string]string `yaml:"match_re"`
	Matchers []string          `yaml:"matchers"`
	Continue bool              `yaml:"continue"`
	Routes   []*route          `yaml:"routes"`

	all []*labels.Matcher
}

type receiver struct {
	Name     string `yaml:"name"`
	Webhooks []struct {
		URL     string `yaml:"url"`
		URLFile string `yaml:"url_file"`
	} `yaml:"webhook_configs"`
}

// parseRoutes reads the configuration as Alertmanager shows it.
func parseRoutes(text string) (*routing, error) {
	var r routing
	if err := yaml.Unmarshal([]byte(text), &r); err != nil {
		return nil, err
	}
	if r.Route == nil {
		return nil, errors.New("there is no route in its configuration")
	}
	return &r, r.Route.prepare("")
}

// prepare reads the matchers and hands receivers down.
func (r *route) prepare(inherited string) error {
	if r.Receiver == "" {
		r.Receiver = inherited
	}
	add := func(t labels.MatchType, name, value string) error {
		m, err := labels.NewMatcher(t, name, value)
		if err != nil {
			return err
		}
		r.all = append(r.all, m)
		return nil
	}
	for name, value := range r.Match {
		if err := add(labels.MatchEqual, name, value); err != nil {
			return err
		}
	}
	for name, value := range r.MatchRE {
		if _, err := regexp.Compile(value); err != nil {
			return err
		}
		if err := add(labels.MatchRegexp, name, value); err != nil {
			return err
		}
	}
	for _, text := range r.Matchers {
		ms, err := labels.ParseMatchers(text)
		if err != nil {
			return err
		}
		r.all = append(r.all, ms...)
	}
	r.Routes = slices.DeleteFunc(r.Routes, func(child *route) bool { return child == nil })
	for _, child := range r.Routes {
		if err := child.prepare(r.Receiver); err != nil {
			return err
		}
	}
	return nil
}

// receivers are those that an alert with these labels goes to: the first child
// that matches and, where that says continue, the next ones; a route whose
// children do not match takes it itself.
func (r *routing) receivers(alert map[string]string) []string { return r.Route.walk(alert) }

func (r *route) walk(alert map[string]string) []string {
	for _, m := range r.all {
		if !m.Matches(alert[m.Name]) {
			return nil
		}
	}
	var out []string
	for _, child := range r.Routes {
		found := child.walk(alert)
		out = append(out, found...)
		if len(found) > 0 && !child.Continue {
			break
		}
	}
	if len(out) == 0 {
		out = append(out, r.Receiver)
	}
	return out
}

// webhooks are the addresses of a receiver.
func (r *routing) webhooks(name string) []string {
	var out []string
	for _, rc := range r.Receivers {
		if rc.Name != name {
			continue
		}
		for _, w := range rc.Webhooks {
			if w.URL == "" && w.URLFile != "" {
				w.URL = hiddenURL
			}
			out = append(out, w.URL)
		}
	}
	return out
}
