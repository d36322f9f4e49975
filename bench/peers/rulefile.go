package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// ruleFile is a file that Prometheus and vmalert read.
type ruleFile struct {
	path string
	// rules is how many there are.
	rules int
}

// writeRules writes the conditions of a rule set as alerting rules: one group of
// all clusters, or one group for each that is named. With values, what the
// conditions look at is recorded, too.
func writeRules(dir, name string, rs *rules.RuleSet, interval time.Duration, clusters []string, values bool) (ruleFile, error) {
	f := ruleFile{path: filepath.Join(dir, name+".rules.yml")}
	if clusters == nil {
		clusters = []string{""}
	}
	var b strings.Builder
	b.WriteString("groups:\n")
	for _, cluster := range clusters {
		fmt.Fprintf(&b, "- name: %q\n  interval: %s\n  rules:\n", name+cluster, interval)
		if values {
			for record, text := range questions(rs) {
				expr, err := fleet.Only(text, cluster)
				if err != nil {
					return f, err
				}
				fmt.Fprintf(&b, "  - record: %q\n    expr: %q\n", "bench:"+record, expr)
				f.rules++
			}
		}
		conditions, err := fleet.Conditions(rs, cluster)
		if err != nil {
			return f, err
		}
		for _, c := range conditions {
			fmt.Fprintf(&b, "  - alert: %q\n    expr: %q\n    for: %s\n", c.Name, c.Expr, c.For)
			if c.KeepFiringFor > 0 {
				fmt.Fprintf(&b, "    keep_firing_for: %s\n", c.KeepFiringFor)
			}
			f.rules++
		}
	}
	return f, os.WriteFile(f.path, []byte(b.String()), 0o600)
}

// questions are the expressions whose values a decision shows.
func questions(rs *rules.RuleSet) map[string]string {
	all := map[string]string{"workers": rs.Workers.Current.Text, "reporting": rs.Workers.Reporting.Text}
	for i := range rs.Signals {
		all[rs.Signals[i].Name] = rs.Signals[i].Expr.Text
	}
	return all
}
