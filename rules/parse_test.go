package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const minimal = `
format: zeta-scaler/v1
ruleset: small
version: 0.1.0
workers: {current: {expr: "vector(1)"}, reporting: {expr: "vector(1)"}}
signals:
  - {signal: waiting, class: blocking, expr: sum(x), scale_out: {above: 1}, scale_in: {at_most: 0}}
  - {signal: cpu, class: saturation, expr: sum(y), unit: ratio, scale_out: {}, scale_in: {}}
  - {signal: free, class: capacity, expr: sum(z)}
  - {signal: big, class: guard, expr: sum(g), scale_out: {above: max_workers}}
`

func TestParseFillsInDefaults(t *testing.T) {
	rs, err := Parse("small.yaml", []byte(minimal))
	require.NoError(t, err)
	require.Equal(t, "small.yaml", rs.File)
	require.Equal(t, 30*time.Second, rs.Interval)
	require.Zero(t, rs.QueryOffset)
	require.Empty(t, rs.ScopeBy)
	require.Equal(t, scaling.FixedSlots, rs.SlotMode)
	require.Nil(t, rs.SlotModeExpr)
	require.InDelta(t, 0.5, rs.MinCoverage, 0)
	require.Equal(t, 1, rs.GapTolerance)
	require.Nil(t, rs.Bounds)
	require.Equal(t, Step{
		Policy: StepFixed, Workers: 1, Unit: 1, MaxStep: 4,
		SustainedBacklog: 30 * time.Second, SchedulerBacklog: time.Minute, BootDeadline: 3 * time.Minute,
	}, rs.Step)

	waiting, cpu, free, big := &rs.Signals[0], &rs.Signals[1], &rs.Signals[2], &rs.Signals[3]
	require.Equal(t, &Condition{Comparison: Above, Threshold: 1, For: 5 * time.Minute}, waiting.Out)
	require.Equal(t, &Condition{Comparison: AtMost, For: 10 * time.Minute}, waiting.In)
	require.Equal(t, &Condition{Comparison: Above, Threshold: 0.8, For: 5 * time.Minute}, cpu.Out)
	require.Equal(t, &Condition{Comparison: Below, Threshold: 0.3, For: 10 * time.Minute}, cpu.In)
	require.Equal(t, &[2]float64{0, 1}, cpu.Range)
	require.Nil(t, waiting.Range)
	require.Equal(t, []bool{true, true, false, false}, []bool{waiting.Required, cpu.Required, free.Required, big.Required})
	require.Equal(t, AbsentUnknown, waiting.Absent)
	require.Nil(t, free.Out)
	require.Nil(t, free.In)
	require.Equal(t, &Condition{Comparison: Above, MaxWorkers: true, For: 5 * time.Minute}, big.Out)
	require.False(t, big.HoldsSet)
	require.Equal(t, document.Position{File: "small.yaml", Line: 7, Column: 5}, waiting.Pos)
}

// TestParseReadsEveryKey decodes a file with every key of the format.
func TestParseReadsEveryKey(t *testing.T) {
	rs, err := ParseFile("testdata/every-key.yaml")
	require.NoError(t, err)
	require.Equal(t, "every-key", rs.Name)
	require.Equal(t, "1.2.3", rs.Version)
	require.Equal(t, "one of each", rs.Description)
	require.Equal(t, 15*time.Second, rs.Interval)
	require.Equal(t, time.Minute, rs.QueryOffset)
	require.Equal(t, []string{"cluster", "pool"}, rs.ScopeBy)
	require.Equal(t, scaling.SlotMode(""), rs.SlotMode)
	require.Equal(t, "max by (cluster, pool) (dynamic)", rs.SlotModeExpr.Text)
	require.InDelta(t, 0.75, rs.MinCoverage, 0)
	require.Equal(t, 3, rs.GapTolerance)
	require.Equal(t, "master", rs.Workers.MasterLabel)
	for _, e := range []*Expr{rs.Workers.Current, rs.Workers.Reporting, rs.Workers.Master, rs.Workers.Slots, rs.Workers.Unsatisfied} {
		require.NotNil(t, e)
		require.NotNil(t, e.Node)
	}
	require.Equal(t, &scaling.Bounds{Min: 2, Max: 8, FloorDelay: time.Minute}, rs.Bounds)
	require.Equal(t, Step{
		Policy: StepDemand, Workers: 2, Rounds: true, Unit: 2, MaxStep: 6,
		SustainedBacklog: time.Minute, SchedulerBacklog: 2 * time.Minute, BootDeadline: 5 * time.Minute,
	}, rs.Step)
	s := rs.Signals[0]
	require.Equal(t, "count", s.Unit)
	require.Equal(t, &[2]float64{0, 1000}, s.Range)
	require.Equal(t, AbsentZero, s.Absent)
	require.False(t, s.Required)
	require.True(t, s.Demand)
	require.Equal(t, []scaling.SlotMode{scaling.FixedSlots, scaling.MixedSlots}, s.SlotModes)
	require.Equal(t, 5*time.Minute, s.KeepFiringFor)
	require.Equal(t, "input_blocked_jobs", s.Export)
	require.Equal(t, "{{ .Value | printf \"%.0f\" }} jobs wait", s.Summary)
	require.Equal(t, &Condition{Comparison: AtLeast, Threshold: 2, For: 5 * time.Minute}, s.Out)
	require.False(t, s.Surplus)
	require.True(t, rs.Signals[2].Surplus)
	require.Equal(t, []string{"waiting"}, rs.Signals[3].Holds)
	require.True(t, rs.Signals[3].HoldsSet)
	require.Equal(t, "raise it", rs.Signals[3].Advice)
	require.True(t, rs.Signals[4].HoldsSet)
	require.Empty(t, rs.Signals[4].Holds)
}

func TestParseReportsEverythingAtOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/many.yaml")
	require.NoError(t, err)
	_, err = Parse("many.yaml", data)
	require.Error(t, err)
	golden(t, "many.txt", []byte(err.Error()+"\n"))
	var list *document.ErrorList
	require.ErrorAs(t, err, &list)
	last := 0
	for _, d := range list.Diagnostics {
		require.GreaterOrEqual(t, d.Pos.Line, last, "in the order of the file")
		last = d.Pos.Line
	}
}

func TestParseFileNamesWhatItCannotRead(t *testing.T) {
	_, err := ParseFile(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)

	path := filepath.Join(t.TempDir(), "huge.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("#\n", maxFileBytes)), 0o600))
	_, err = ParseFile(path)
	require.ErrorContains(t, err, document.CheckTooLarge)
}
