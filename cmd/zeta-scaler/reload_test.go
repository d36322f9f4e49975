package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A reload changes which clusters are collected; what is wrong with anything
// else leaves them, too.
func TestReloadOfClusters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := zetaServer(t, 3), zetaServer(t, 2)
	configure := func(path, clusters string) {
		write(t, dir, "zeta-scaler.yml", fmt.Sprintf("embedded: {path: %s}\nclusters: [%s]\nrule_sets: [{file: quick.yaml}]\n", path, clusters))
	}
	first := fmt.Sprintf("{name: one, urls: [%q]}", one)
	both := first + fmt.Sprintf(", {name: two, urls: [%q]}", two)
	write(t, dir, "quick.yaml", quickRules("1.0.0"))
	configure("tsdb", first)
	p := start(t, dir, "serve", "--web.enable-lifecycle")
	workers := func() map[string]int {
		counts := map[string]int{}
		for _, s := range p.status().Scopes {
			if n := s.Recommendation.CurrentWorkers; n != nil {
				counts[s.Scope] = *n
			}
		}
		return counts
	}
	is := func(want map[string]int) func() bool {
		return func() bool { return fmt.Sprint(workers()) == fmt.Sprint(want) }
	}
	reload := func() (int, string) { return p.request(http.MethodPost, "/-/reload") }
	eventually(t, "one cluster", is(map[string]int{"one": 3}))

	configure("tsdb", both)
	write(t, dir, "quick.yaml", "format: nothing\n")
	status, _ := reload()
	require.GreaterOrEqual(t, status, 400)
	configure("elsewhere", both)
	write(t, dir, "quick.yaml", quickRules("1.0.0"))
	status, body := reload()
	require.GreaterOrEqual(t, status, 400)
	require.Contains(t, body, "embedded has changed, which needs a restart")
	before := p.evaluations()
	eventually(t, "more ticks", func() bool { return p.evaluations() >= before+2 })
	require.Equal(t, map[string]int{"one": 3}, workers(), "nothing of a bad reload is used")

	configure("tsdb", both)
	status, body = reload()
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, "what it changed", func() bool {
		return p.log.count(`msg="reload changed" what="clusters[1].name: two (new)"`) == 1
	})
	eventually(t, "both clusters", is(map[string]int{"one": 3, "two": 2}))
	configure("tsdb", `{name: two, urls: ["`+two+`"]}`)
	status, body = reload()
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, "the second cluster", is(map[string]int{"two": 2}))
	require.Condition(t, func() bool {
		for _, s := range p.status().Scopes {
			if s.Scope == "one" {
				return s.Recommendation.Action == scaling.NoAction
			}
		}
		return false
	}, "a scope that is lost stays until forget_after")
	p.stop()
}
