package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// duel is one of our rule sets against another controller, over all workloads: on how
// many it has less of both, and on how many of those clearly; on how many it clearly has
// more of both.
type duel struct{ better, clearly, worse, of int }

func (d duel) String() string { return fmt.Sprintf("%d (%d) / %d", d.better, d.clearly, d.worse) }

// fight counts the workloads on which controller a has less of both than b, and
// more of both.
func fight(r *simulate.Report, a, b int) duel {
	var d duel
	for i := range r.Workloads {
		ours, other := r.Workloads[i].Outcomes[a], r.Workloads[i].Outcomes[b]
		if ours == nil || other == nil || ours.Partial || other.Partial {
			continue
		}
		d.of++
		if ours.Against(other, simulate.Margin{}) < 0 {
			d.better++
		}
		switch ours.Against(other, simulate.Clear) {
		case -1:
			d.clearly++
		case 1:
			d.worse++
		}
	}
	return d
}

// write prints the duels as a table for the documentation.
func write(w io.Writer, r *simulate.Report) {
	var ours, others []int
	for k, c := range r.Controllers {
		switch c.Kind {
		case simulate.KindRuleSet:
			ours = append(ours, k)
		case simulate.KindPeer:
			others = append(others, k)
		}
	}
	others = append(others, ours...)
	fmt.Fprintf(w, "\nless of both than (clearly) / clearly more of both than, of %d workloads\n\n| rule set |", len(r.Workloads))
	for _, k := range others {
		fmt.Fprintf(w, " %s |", r.Controllers[k].Name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(others)))
	for _, a := range ours {
		fmt.Fprintf(w, "| %s |", r.Controllers[a].Name)
		for _, b := range others {
			if a == b {
				fmt.Fprint(w, " |")
				continue
			}
			fmt.Fprintf(w, " %s |", fight(r, a, b))
		}
		fmt.Fprintln(w)
	}
}
