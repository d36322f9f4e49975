package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

// Who does not answer stands above every page, those of errors included, and so
// does what that means.
func TestEveryPageSaysWhoDoesNotAnswer(t *testing.T) {
	o := options(t)
	o.Health = silenced
	for target, status := range map[string]int{"/": 200, "/?scope=prod": 200, "/?scope=" + url.QueryEscape(hostile): 200, "/?scope=none": 404} {
		rec := call(newHandler(t, o), http.MethodGet, target)
		require.Equal(t, status, rec.Code)
		var lines []string
		for _, n := range named(elements(t, rec.Body.String()), "p") {
			if attribute(n, "class") == "trouble" {
				lines = append(lines, text(n))
			}
		}
		why := "(connection refused " + hostile + ")"
		require.Equal(t, []string{
			"Prometheus http://prom:9090/base gives no answer since 2026-03-14T08:26:30Z, and never did " + why + ": what is shown was decided without it.",
			"The state store (file) gives no answer since 2026-03-14T08:26:30Z " + why + ": nothing is decided until it works again.",
			"Cluster prod gives no answer since 2026-03-14T08:26:30Z " + why + ".",
			"Cluster " + hostile + " gives no answer since 2026-03-14T08:26:30Z " + why + ".",
			"Alertmanager http://am:9093 gives no answer since 2026-03-14T08:26:30Z " + why + ".",
		}, lines, target)
		require.Len(t, named(elements(t, rec.Body.String()), "script"), len(named(pageOf(t, options(t), "/"), "script"))+2*boolean(target != "/" && status == 200))
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestTheListNamesEverybody(t *testing.T) {
	o := options(t)
	words := mainOf(t, o, "/")
	require.Contains(t, words, "Everybody who was asked answers; next evaluation at 2026-03-14T09:27:00Z")
	require.Contains(t, words, "Cluster "+hostile+" "+hostile+" answers 2026-03-14T08:26:30Z 2026-03-14T09:26:30Z")
	require.Contains(t, words, "Prometheus http://prom2:9090 not asked yet – never –")
	require.NotContains(t, text(named(pageOf(t, o, "/"), "header")[0]), "gives no answer")
	o.Health = silenced
	require.Contains(t, mainOf(t, o, "/"), "Somebody does not answer")
}

// Before anything is known the page says when the first evaluation is due.
func TestTheFirstTickIsDue(t *testing.T) {
	o := options(t)
	o.Board = &fakeBoard{early: true}
	require.Contains(t, mainOf(t, o, "/"), "No scope is known yet: nothing was evaluated since this replica began to lead. The first evaluation is due at 2026-03-14T09:27:00Z .")
	o.Board = &fakeBoard{}
	require.Contains(t, mainOf(t, o, "/"), "There is no scope yet: the rule set has found no worker count, and the configuration lists none. The next evaluation is due at 2026-03-14T09:27:00Z .")
}

// A replica that is not asked is no trouble while another is.
func TestSpareReplicasAreNoTrouble(t *testing.T) {
	h := healthy()
	h.Sources[1].State, h.Sources[1].Since = contact.Down, new(tick.Add(-time.Minute))
	require.Nil(t, h.SourceDown())
	require.Empty(t, h.Troubles())
}

// A reload that was refused is said on every page, as a restart would fail.
func TestARefusedReloadIsATrouble(t *testing.T) {
	o := options(t)
	o.Health = func() Health {
		h := healthy()
		h.Reload = &ReloadFailure{At: tick, Error: "zeta-scaler.yml:3:1: " + hostile}
		return h
	}
	want := "The reload of 2026-03-14T09:26:30Z was refused, and a restart would fail; what was loaded before runs on. zeta-scaler.yml:3:1: " + hostile
	for _, target := range []string{"/", "/?scope=prod"} {
		require.Contains(t, text(named(pageOf(t, o, target), "header")[0]), want)
	}
	var s Status
	require.NoError(t, json.Unmarshal(call(newHandler(t, o), http.MethodGet, "/autoscaler/status").Body.Bytes(), &s))
	h := s.Health()
	require.Equal(t, []string{want}, h.Troubles())
}
