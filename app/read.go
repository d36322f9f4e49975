package app

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// logRead says what a start has read, and from where.
func (s *service) logRead(cfg *config.Config) {
	file := cfg.File
	if file == "" {
		file = "none: defaults, environment and flags"
	}
	s.logger.Info("configuration read", "file", file)
	for _, rs := range cfg.Rules {
		s.logger.Info("rule set read", ruleSetArgs(rs)...)
	}
	if cfg.Embedded != nil {
		s.logger.Info("Prometheus is embedded", "path", cfg.Embedded.Path, "clusters", len(cfg.Clusters))
	} else {
		var urls []string
		for _, u := range cfg.Prometheus.URLs {
			urls = append(urls, shownURL(u))
		}
		s.logger.Info("asks Prometheus", "urls", strings.Join(urls, " "))
	}
	if !s.alone {
		if u := s.advertisedURL(); u != "" {
			s.logger.Info("other replicas reach this one", "url", u)
		} else {
			s.logger.Warn("other replicas cannot reach this one, which listens on this machine alone: while it leads they have no answer for people; set web.advertise_url",
				"listen_address", cfg.Web.ListenAddress)
		}
	}
	s.logger.Info("keeps its state", "type", cfg.State.Type, "path", storePlace(cfg))
	if page := s.pageURL(cfg.Web); page != "" {
		s.logger.Info("page for people", "url", strings.TrimRight(page, "/")+"/")
	}
}

// opened are the settings of the server with the port that was opened: that of
// the file may be 0.
func (s *service) opened(w config.Web) config.Web {
	host, _, err := net.SplitHostPort(w.ListenAddress)
	if tcp, ok := s.server.Addr().(*net.TCPAddr); ok && err == nil {
		w.ListenAddress = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return w
}

func ruleSetArgs(rs *rules.RuleSet) []any {
	return []any{"name", rs.Name, "version", rs.Version, "digest", rs.Digest, "from", rs.Origin()}
}

// maxChanges bounds the settings that a reload names.
const maxChanges = 50

// changes are what a reload brings, in words: settings with what they were, and
// rule sets. Secrets are masked on both sides.
func changes(old, next *config.Config) []string {
	var out []string
	before := map[string]string{}
	for _, s := range old.Settings() {
		before[s.Path] = fmt.Sprint(s.Value)
	}
	for _, s := range next.Settings() {
		value := fmt.Sprint(s.Value)
		was, there := before[s.Path]
		delete(before, s.Path)
		switch {
		case !there:
			out = append(out, fmt.Sprintf("%s: %s (new)", s.Path, value))
		case was != value:
			out = append(out, fmt.Sprintf("%s: %s → %s", s.Path, was, value))
		}
	}
	for _, s := range old.Settings() {
		if was, gone := before[s.Path]; gone {
			out = append(out, fmt.Sprintf("%s: %s (gone)", s.Path, was))
		}
	}
	out = append(out, ruleSetChanges(old, next)...)
	if n := len(out) - maxChanges; n > 0 {
		out = append(out[:maxChanges], fmt.Sprintf("and %d more", n))
	}
	return out
}

func ruleSetChanges(old, next *config.Config) []string {
	var out []string
	for _, rs := range next.Rules {
		switch was := old.RuleSet(rs.Name); {
		case was == nil:
			out = append(out, fmt.Sprintf("rule set %s %s %s from %s (new)", rs.Name, rs.Version, rs.Digest, rs.Origin()))
		case was.Digest != rs.Digest || was.Origin() != rs.Origin():
			out = append(out, fmt.Sprintf("rule set %s %s %s from %s → %s %s from %s",
				rs.Name, was.Version, was.Digest, was.Origin(), rs.Version, rs.Digest, rs.Origin()))
		}
	}
	for _, rs := range old.Rules {
		if next.RuleSet(rs.Name) == nil {
			out = append(out, fmt.Sprintf("rule set %s %s (gone)", rs.Name, rs.Version))
		}
	}
	return out
}
