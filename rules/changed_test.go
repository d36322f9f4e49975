package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// saidOf makes findings whose file is the path of the change.
func saidOf(path, check, message, hint string) document.Diagnostic {
	return document.Diagnostic{
		Pos: document.Position{File: "set." + path}, Severity: document.SeverityError, Check: check, Message: message, Hint: hint,
	}
}

// TestEveryConditionOfEveryPackCanBeChanged: each of them, alone, and nothing
// else changes; the text that goes with it is the same rule set.
func TestEveryConditionOfEveryPackCanBeChanged(t *testing.T) {
	for _, name := range Packs() {
		pack, _, err := Pack(name)
		require.NoError(t, err)
		for i, s := range pack.Signals {
			for dir, was := range map[scaling.Direction]*Condition{scaling.Out: s.Out, scaling.In: s.In} {
				if was == nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, s.Name, dir), func(t *testing.T) {
					window := was.For + time.Millisecond
					c := Change{In: &ConditionChange{For: &window}}
					if dir == scaling.Out {
						c = Change{Out: &ConditionChange{For: &window}}
					}
					rs, err := Changed(name, Changes{s.Name: c}, saidOf)
					if err != nil { // a lint of the whole: it is said about the change
						require.ErrorContains(t, err, "set."+s.Name)
						return
					}
					require.Equal(t, name+"+set", rs.Name)
					require.NotEqual(t, pack.Digest, rs.Digest)
					require.Len(t, rs.Set, 1)
					again, err := Parse("mine.yaml", rs.Source())
					require.NoError(t, err)
					require.Equal(t, rs.Digest, again.Digest)
					now := rs.Signals[i].Out
					if dir == scaling.In {
						now = rs.Signals[i].In
					}
					require.Equal(t, window, now.For)
					now.For = was.For
					rs.Name = name
					require.Equal(t, pack.Digest, digest(rs), "something else has changed")
				})
			}
		}
	}
}

func TestChangedPack(t *testing.T) {
	thirty, two := 30.0, 2*time.Minute
	rs, err := Changed("zeta-auto", Changes{
		"oldest_blocked_age": {Out: &ConditionChange{Above: &thirty, For: &two}},
		"unsatisfied_slots":  {KeepFiringFor: &two},
	}, saidOf)
	require.NoError(t, err)
	require.Equal(t, "zeta-auto+set", rs.Name)
	require.Equal(t, "pack:zeta-auto+set", rs.File)
	require.Equal(t, "pack with set oldest_blocked_age.scale_out: {above: 30, for: 2m} (in the pack {above: 60, for: 5m}), "+
		"unsatisfied_slots.keep_firing_for: 2m (in the pack none)", rs.Origin())
	require.Equal(t, Condition{Comparison: Above, Threshold: 30, For: two}, *rs.Signals[1].Out)
	require.Equal(t, two, rs.Signals[2].KeepFiringFor)
	require.Contains(t, string(rs.Source()), "    scale_out: {above: 30, for: 2m} # in the pack: {above: 60, for: 5m}\n")
	require.True(t, strings.HasPrefix(string(rs.Source()), "# The pack zeta-auto with what a configuration sets.\n"))
}

// TestAChangeIsCheckedWithAll: what a change leads to is said at the change.
func TestAChangeIsCheckedWithAll(t *testing.T) {
	low, short, long := 0.2, time.Minute, time.Hour
	for name, c := range map[string]struct {
		signal, path, check, message string
		change                       Change
	}{
		"no such signal":     {"oldest_blocked", "oldest_blocked", "", `no signal "oldest_blocked"`, Change{KeepFiringFor: &short}},
		"nothing":            {"avg_cpu", "avg_cpu", "", "nothing of the signal", Change{}},
		"empty condition":    {"avg_cpu", "avg_cpu.scale_out", "", "nothing of", Change{Out: &ConditionChange{}}},
		"no such condition":  {"blocked_jobs", "blocked_jobs.scale_out", "", "has no scale_out", Change{Out: &ConditionChange{Above: &low}}},
		"two comparisons":    {"avg_cpu", "avg_cpu.scale_out", "", "several comparisons", Change{Out: &ConditionChange{Above: &low, AtLeast: &low}}},
		"no hysteresis":      {"avg_cpu", "avg_cpu", CheckHysteresis, "", Change{Out: &ConditionChange{Above: &low}}},
		"in sooner than out": {"avg_cpu", "avg_cpu.scale_in", CheckScaleInShorter, "", Change{In: &ConditionChange{For: &short}}},
		"keeps on a guard":   {"head_job_too_big", "head_job_too_big.scale_out", "", "", Change{Out: &ConditionChange{}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Changed("zeta-auto", Changes{c.signal: c.change}, saidOf)
			var list *document.ErrorList
			require.ErrorAs(t, err, &list)
			require.NotEmpty(t, list.Diagnostics)
			d := list.Diagnostics[0]
			require.Equal(t, "set."+c.path, d.Pos.File, err)
			require.Equal(t, c.check, d.Check)
			require.Contains(t, d.Message, c.message)
			require.NotEmpty(t, d.Hint)
		})
	}
	_, err := Changed("zeta-auto", Changes{}, saidOf)
	require.ErrorContains(t, err, "set changes nothing")
	rs, err := Changed("zeta-auto", Changes{"unsatisfied_slots": {Out: &ConditionChange{For: &short}, KeepFiringFor: &long}}, saidOf)
	require.NoError(t, err)
	for _, w := range rs.Warnings {
		require.Contains(t, w.Pos.File, "set.unsatisfied_slots")
	}
}
