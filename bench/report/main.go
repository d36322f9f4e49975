// Command report reads the output of Go benchmarks and says, for every target
// of docs/performance.md, what was measured: medians, and for a comparison the
// median of the ratios of each round.
//
//	report FILE...
//	report -peers FILE...   the lines of bench/peers.sh
package main

import (
	"fmt"
	"os"
)

func main() {
	files, lines := os.Args[1:], targets
	if len(files) > 0 && files[0] == "-peers" {
		files, lines = files[1:], peers
	}
	results, err := read(files)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	for _, line := range lines(results) {
		fmt.Println(line)
	}
}

// targets are the lines of the report.
func targets(r results) []string {
	const cycle, zeta, manager = "Cycle/scopes=", "/by=zeta-scaler", "/by=rule-manager"
	lines := []string{
		r.atMost("Step, per scope and tick", "Step", "ns/op", 1, "ns", 1000),
		r.atMost("Step, allocations", "Step", "allocs/op", 1, "", 0),
		r.ratio("cycle 1000 scopes", cycle+"1000"+zeta, cycle+"1000"+manager, "× rule manager", 1.0/3),
		r.ratio("cycle 100 scopes", cycle+"100"+zeta, cycle+"100"+manager, "× rule manager", 1.0/3),
	}
	for _, n := range []string{"100", "1000", "10000"} {
		lines = append(lines, r.figure("cycle "+n+" scopes, cost of one", cycle+n+zeta, "µs/scope", 1, "µs"))
	}
	lines = append(lines,
		r.ratio("cycle, one of 10000 scopes", cycle+"10000"+zeta, cycle+"1000"+zeta, "× one of 1000", 0),
		r.atMost("restore 1000 scopes", "Restore/scopes=1000", "ns/op", 1e9, "s", 2),
		r.atMost("exporter scrape, 50 workers", "Scrape", "ns/op", 1e6, "ms", 5))
	for _, n := range []string{"100", "1000", "10000"} {
		for _, store := range []string{"memory", "file"} {
			lines = append(lines, r.figure("loop "+n+" scopes, "+store+" store, live heap", "ResidentLoop/store="+store+"/scopes="+n, "MB-live", 1, "MB"))
		}
	}
	lines = append(lines,
		r.atMost("loop 10000 scopes, file store", "ResidentLoop/store=file/scopes=10000", "MB-resident", 1, "MB", 200),
		r.figure("loop 10000 scopes, peak with restore", "ResidentLoop/store=file/scopes=10000", "MB-peak", 1, "MB"),
		r.atMost("serve 10000 scopes", "ResidentServe/store=file/scopes=10000", "MB-resident", 1, "MB", 200),
		r.figure("serve 10000 scopes, peak with restore", "ResidentServe/store=file/scopes=10000", "MB-peak", 1, "MB"),
		r.atMost("serve 1 scope, idle", "ResidentServe/store=file/scopes=1", "MB-resident", 1, "MB", 60),
	)
	return append(append(lines, actuation(r)...), replies(r)...)
}

// actuation are the lines about the way from a recommendation to an action.
func actuation(r results) []string {
	const twenty, one = "Duplicates/alerts=20", "Duplicates/alerts=1"
	return []string{
		r.atMost("webhook, durably accepted, median", "Accept", "ms-median", 1, "ms", 2),
		r.figure("webhook, median", "Accept", "×bare-median", 1, "× bare insert"),
		r.atMost("webhook, p99", "Accept", "×bare-p99", 1, "× bare insert", 3),
		r.figure("webhook, p99", "Accept", "ms-p99", 1, "ms"),
		r.figure("bare fsynced insert, median", "Accept", "ms-bare-median", 1, "ms"),
		r.figure("bare fsynced insert, p99", "Accept", "ms-bare-p99", 1, "ms"),
		r.figure("webhook, allocations with client and action", "Accept", "allocs/op", 1, ""),
		r.figure("duplicates, 20 in a notification", twenty, "duplicates/s", 1, "/s"),
		r.atMost("  latest tick, published", twenty, "ms-published-loaded", 1, "ms", 100),
		r.figure("  latest tick, begun", twenty, "ms-late-loaded", 1, "ms"),
		r.figure("  latest tick without them, published", twenty, "ms-published-quiet", 1, "ms"),
		r.figure("duplicates, one in a notification", one, "duplicates/s", 1, "/s"),
		r.atMost("  latest tick, published", one, "ms-published-loaded", 1, "ms", 100),
		r.figure("refusals", "Refusals/alerts=20", "duplicates/s", 1, "/s"),
		r.figure("  latest tick, published", "Refusals/alerts=20", "ms-published-loaded", 1, "ms"),
		r.atMost("notifier, 10000 active alerts", "ActiveAlerts", "MB-live", 1, "MB", 50),
		r.figure("notifier, alerts in one request", "ActiveAlerts", "alerts/request", 1, ""),
		r.figure("notifier, 10000 alerts sent", "ActiveAlerts", "ns/op", 1e9, "s"),
	}
}

// replies are the lines about what the API answers over 1 000 scopes.
func replies(r results) []string {
	var lines []string
	for _, reply := range []struct{ title, name string }{
		{"status of 1000 scopes", "status"},
		{"page, list of 1000 scopes", "list"},
		{"explain, one of 1000 scopes", "explain"},
		{"actions, 1000 under way", "actions"},
	} {
		name := "ThousandScopes/" + reply.name + "/identity"
		lines = append(lines, r.atMost(reply.title, name, "ns/op", 1e6, "ms", 50),
			r.figure(reply.title+", allocations", name, "allocs/op", 1, ""))
	}
	return lines
}
