// Command report reads the output of Go benchmarks and says, for every target
// of docs/performance.md, what was measured: medians, and for a comparison the
// median of the ratios of each round.
//
//	report FILE...
package main

import (
	"fmt"
	"os"
)

func main() {
	results, err := read(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	for _, line := range targets(results) {
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
	return append(lines,
		r.atMost("loop 10000 scopes, file store", "ResidentLoop/store=file/scopes=10000", "MB-resident", 1, "MB", 200),
		r.figure("loop 10000 scopes, peak with restore", "ResidentLoop/store=file/scopes=10000", "MB-peak", 1, "MB"),
		r.atMost("serve 10000 scopes", "ResidentServe/store=file/scopes=10000", "MB-resident", 1, "MB", 200),
		r.figure("serve 10000 scopes, peak with restore", "ResidentServe/store=file/scopes=10000", "MB-peak", 1, "MB"),
		r.atMost("serve 1 scope, idle", "ResidentServe/store=file/scopes=1", "MB-resident", 1, "MB", 60),
	)
}
