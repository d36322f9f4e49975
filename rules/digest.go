package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// digest is the SHA-256 of the canonical form. Comments, the order of keys,
// white space, quoting and spelled-out defaults do not change it; whatever
// changes what the set means or says does.
func digest(rs *RuleSet) string {
	sum := sha256.Sum256(canonical(rs))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonical writes a rule set in one way only: JSON with fixed keys, defaults
// filled in, durations in milliseconds, expressions as PromQL prints them.
// Changing it changes every digest.
func canonical(rs *RuleSet) []byte {
	b, err := json.Marshal(canonicalSetOf(rs))
	if err != nil {
		panic("rules: the canonical form has only texts, numbers and lists: " + err.Error())
	}
	return b
}

type canonicalSet struct {
	Format       string            `json:"format"`
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	Interval     int64             `json:"interval"`
	QueryOffset  int64             `json:"query_offset"`
	ScopeBy      []string          `json:"scope_by"`
	SlotMode     string            `json:"slot_mode"`
	SlotModeExpr string            `json:"slot_mode_expr"`
	MinCoverage  string            `json:"min_coverage"`
	GapTolerance int               `json:"gap_tolerance"`
	Workers      [6]string         `json:"workers"`
	Free         string            `json:"free,omitempty"`
	Sources      string            `json:"sources,omitempty"`
	Bounds       canonicalBounds   `json:"bounds"`
	Step         canonicalStep     `json:"step"`
	Signals      []canonicalSignal `json:"signals"`
}

type canonicalBounds struct {
	Min   int   `json:"min"`
	Max   int   `json:"max"`
	Delay int64 `json:"floor_delay"`
}

type canonicalStep struct {
	Policy           string `json:"policy"`
	Workers          int    `json:"workers"`
	Rounds           bool   `json:"rounds,omitempty"`
	Unit             int    `json:"unit"`
	MaxStep          int    `json:"max_step"`
	SustainedBacklog int64  `json:"sustained_backlog"`
	SchedulerBacklog int64  `json:"scheduler_backlog"`
	BootDeadline     int64  `json:"boot_deadline"`
}

type canonicalSignal struct {
	Name          string     `json:"name"`
	Class         string     `json:"class"`
	Expr          string     `json:"expr"`
	Unit          string     `json:"unit"`
	Summary       string     `json:"summary"`
	Export        string     `json:"export"`
	Range         []string   `json:"range"`
	Absent        string     `json:"absent"`
	Required      bool       `json:"required"`
	Demand        bool       `json:"demand"`
	Surplus       bool       `json:"surplus,omitempty"`
	SlotModes     []string   `json:"slot_mode"`
	KeepFiringFor int64      `json:"keep_firing_for"`
	Out           *[3]string `json:"scale_out"`
	In            *[3]string `json:"scale_in"`
	Holds         []string   `json:"holds"`
	Advice        string     `json:"advice"`
}

func canonicalSetOf(rs *RuleSet) canonicalSet {
	b := scaling.DefaultBounds()
	if rs.Bounds != nil {
		b = *rs.Bounds
	}
	w, st := rs.Workers, rs.Step
	c := canonicalSet{
		Format: Format, Name: rs.Name, Version: rs.Version, Description: rs.Description,
		Interval: ms(rs.Interval), QueryOffset: ms(rs.QueryOffset), ScopeBy: rs.ScopeBy,
		SlotMode: string(rs.SlotMode), SlotModeExpr: canonicalExpr(rs.SlotModeExpr),
		MinCoverage: num(rs.MinCoverage), GapTolerance: rs.GapTolerance,
		Workers: [6]string{
			canonicalExpr(w.Current), canonicalExpr(w.Reporting), canonicalExpr(w.Master), w.MasterLabel,
			canonicalExpr(w.Slots), canonicalExpr(w.Unsatisfied),
		},
		Free:    canonicalExpr(w.Free),
		Sources: canonicalExpr(w.Sources),
		Bounds:  canonicalBounds{b.Min, b.Max, ms(b.FloorDelay)},
		Step: canonicalStep{
			string(st.Policy), st.Workers, st.Rounds, st.Unit, st.MaxStep, ms(st.SustainedBacklog), ms(st.SchedulerBacklog), ms(st.BootDeadline),
		},
	}
	for i := range rs.Signals {
		c.Signals = append(c.Signals, canonicalSignalOf(rs, &rs.Signals[i]))
	}
	return c
}

func canonicalSignalOf(rs *RuleSet, s *Signal) canonicalSignal {
	c := canonicalSignal{
		Name: s.Name, Class: string(s.Class), Expr: canonicalExpr(s.Expr), Unit: s.Unit, Summary: s.Summary,
		Export: s.Export, Absent: string(s.Absent), Required: s.Required, Demand: s.Demand, Surplus: s.Surplus,
		KeepFiringFor: ms(s.KeepFiringFor), Advice: s.Advice,
		Out: canonicalCondition(s.Out), In: canonicalCondition(s.In), Holds: canonicalHolds(rs, s),
	}
	if s.Range != nil {
		c.Range = []string{num(s.Range[0]), num(s.Range[1])}
	}
	for _, m := range s.SlotModes {
		c.SlotModes = append(c.SlotModes, string(m))
	}
	slices.Sort(c.SlotModes)
	return c
}

// canonicalHolds spells out what a guard without a list holds: every blocking
// signal that could trigger.
func canonicalHolds(rs *RuleSet, g *Signal) []string {
	if g.Class != scaling.Guard {
		return nil
	}
	out := []string{}
	out = append(out, g.Holds...)
	if !g.HoldsSet {
		for i := range rs.Signals {
			if rs.Signals[i].canBeHeld() {
				out = append(out, rs.Signals[i].Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func canonicalCondition(c *Condition) *[3]string {
	if c == nil {
		return nil
	}
	threshold := num(c.Threshold)
	if c.MaxWorkers {
		threshold = thresholdMaxWorkers
	}
	return &[3]string{string(c.Comparison), threshold, strconv.FormatInt(ms(c.For), 10)}
}

// canonicalExpr is PromQL as its parser prints it, if that says the same; else
// the text as written.
func canonicalExpr(e *Expr) string {
	if e == nil || e.Node == nil {
		return ""
	}
	printed := e.Node.String()
	again, err := parser.NewParser(parser.Options{}).ParseExpr(printed)
	if err != nil || again.String() != printed {
		return e.Text
	}
	return printed
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// num writes a number in one way; -0 is 0.
func num(v float64) string {
	if v == 0 {
		v = math.Abs(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
