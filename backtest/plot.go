package backtest

import (
	"encoding/json"
	"time"

	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxBuckets is how many columns a plot has at most.
const maxBuckets = 480

// Plot is a scope over the period in columns of equal length.
type Plot struct {
	// From is where the first column begins, Step how long each is.
	From time.Time     `json:"from"`
	Step time.Duration `json:"step"`
	// Observed are the workers that were there, Recommended those that each rule
	// set recommended.
	Observed    chart.Band   `json:"observed"`
	Recommended []chart.Band `json:"recommended"`
	// Lines are the signals.
	Lines []*PlotLine `json:"lines"`
	// Rows count, for each rule set and column, the ticks of each row.
	Rows [][]map[scaling.RowID]int `json:"rows"`
	// Failed counts the ticks of each column at which an expression had no value.
	Failed []int `json:"failed"`
}

// PlotLine is one signal with its thresholds.
type PlotLine struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// RuleSet is the index of the rule set, Signal that of the signal in it.
	RuleSet int        `json:"ruleSet"`
	Signal  int        `json:"signal"`
	Out     *float64   `json:"out,omitempty"`
	In      *float64   `json:"in,omitempty"`
	Band    chart.Band `json:"band"`
}

// axis are the columns.
func (p *Plot) axis() chart.Axis {
	return chart.Axis{From: p.From, Step: p.Step, Columns: len(p.Failed)}
}

func newPlot(o *Options, sides []*side) *Plot {
	length, interval := o.end().Sub(o.Start), sides[0].rs.Interval
	n := min(maxBuckets, max(1, int(length/interval)+1))
	step := (length/time.Duration(n)/interval + 1) * interval
	n = int(length/step) + 1
	p := &Plot{From: o.Start.UTC(), Step: step, Observed: chart.NewBand(n), Failed: make([]int, n)}
	seen := map[string]bool{}
	for which, s := range sides {
		p.Recommended = append(p.Recommended, chart.NewBand(n))
		p.Rows = append(p.Rows, make([]map[scaling.RowID]int, n))
		for i := range s.rs.Signals {
			sig := &s.rs.Signals[i]
			line := &PlotLine{Name: sig.Name, Unit: sig.Unit, RuleSet: which, Signal: i, Band: chart.NewBand(n)}
			if sig.Out != nil && !sig.Out.MaxWorkers {
				line.Out = &sig.Out.Threshold
			}
			if sig.In != nil {
				line.In = &sig.In.Threshold
			}
			if key := line.key(sig.Expr.Text); !seen[key] {
				seen[key] = true
				p.Lines = append(p.Lines, line)
			}
		}
	}
	return p
}

// key is equal for signals that would be drawn alike.
func (l *PlotLine) key(expr string) string {
	key, _ := json.Marshal([]any{l.Name, expr, l.Out, l.In})
	return string(key)
}

func (p *Plot) add(which int, t *Tick) {
	i := int(t.At.Sub(p.From) / p.Step)
	if i < 0 || i >= len(p.Failed) {
		return
	}
	d, samples := t.Decision(), t.outcome.Samples()
	if which == 0 && samples.Current.Known {
		p.Observed.Add(i, samples.Current.V)
	}
	if d.TargetKnown {
		p.Recommended[which].Add(i, float64(d.Target))
	}
	if t.Failing {
		p.Failed[i]++
	}
	if p.Rows[which][i] == nil {
		p.Rows[which][i] = map[scaling.RowID]int{}
	}
	p.Rows[which][i][d.RowID()]++
	for _, l := range p.Lines {
		if l.RuleSet == which && samples.Signals[l.Signal].Known {
			l.Band.Add(i, samples.Signals[l.Signal].V)
		}
	}
}
