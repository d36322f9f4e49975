package evaluator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func drawSituation(t *rapid.T) situation {
	s := situation{
		booting: rapid.IntRange(0, 2).Draw(t, "booting"),
		min:     rapid.IntRange(0, 3).Draw(t, "min"),
		max:     rapid.SampledFrom([]int{1, 3, scaling.Unbounded}).Draw(t, "max"),
		facts:   scaling.Facts(rapid.Uint32Max(2*uint32(scaling.FactIneffective)-1).Draw(t, "facts")),
	}
	if s.has(scaling.FactCurrentKnown) {
		s.current = rapid.IntRange(0, 5).Draw(t, "current")
	}
	return s
}

// A decision that was published is explained as it was taken: every row above
// the one that decided has a reason, and none below was tried.
func TestExplainFollowsTheDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		d := Decided{Row: table[decide(&s)].id, Facts: &s.facts, Booting: s.booting, Min: s.min, Max: bounded(s.max)}
		if s.has(scaling.FactCurrentKnown) {
			d.Current = &s.current
		}
		require.Equal(t, s, d.situation())
		verdicts := Explain(d)
		require.Len(t, verdicts, len(table))
		want := scaling.RowNotMatched
		for _, v := range verdicts {
			switch {
			case v.ID == d.Row:
				require.Equal(t, scaling.RowMatched, v.Verdict)
				require.Empty(t, v.Because)
				want = scaling.RowNotTried
			case want == scaling.RowNotMatched:
				require.Equal(t, want, v.Verdict)
				require.NotEmpty(t, v.Because, v.ID)
				require.NotContains(t, v.Because, "", v.ID)
			default:
				require.Equal(t, want, v.Verdict)
				require.Empty(t, v.Because)
			}
		}
	})
}

func TestExplainNamesTheUpperBound(t *testing.T) {
	var facts scaling.Facts
	four, eight := 4, 8
	for want, most := range map[string]*int{"there is no upper bound": nil, "current 4 is not above max 8": &eight} {
		verdicts := Explain(Decided{Row: scaling.RowSteady, Facts: &facts, Current: &four, Max: most})
		require.Contains(t, verdicts[4].Because, want)
	}
}

func TestExplainWithoutFacts(t *testing.T) {
	verdicts := Explain(Decided{Row: scaling.RowBlind})
	require.Equal(t, scaling.RowUndetermined, verdicts[0].Verdict)
	require.Equal(t, scaling.RowMatched, verdicts[9].Verdict)
	require.Equal(t, scaling.RowNotTried, verdicts[10].Verdict)
}

func TestQueriesHaveTheNamesOfTheInputs(t *testing.T) {
	rs, _, err := rules.Pack("zeta-auto")
	require.NoError(t, err)
	queries := Queries(rs)
	for i := range rs.Signals {
		require.Equal(t, rs.Signals[i].Expr.Text, queries[rs.Signals[i].Name].Expr)
	}
	for _, name := range []string{"workers.current", "workers.reporting", "slot_mode"} {
		require.NotEmpty(t, queries[name].Expr, name)
	}
}

func TestBoardTellsChanges(t *testing.T) {
	b := NewBoard(1)
	named := func(keys ...string) []scaling.Evaluation {
		out := make([]scaling.Evaluation, len(keys))
		for i, k := range keys {
			out[i].Scope.Key = k
		}
		return out
	}
	keys, mark, more := b.Changes(0)
	require.Empty(t, keys)
	b.Publish(context.Background(), named("b", "a"), nil)
	<-more
	keys, mark, more = b.Changes(mark)
	require.Equal(t, []string{"a", "b"}, keys)
	keys, _, _ = b.Changes(mark)
	require.Empty(t, keys)
	b.Publish(context.Background(), named("b"), []scaling.Scope{{Key: "a"}})
	b.Publish(context.Background(), named("c"), nil)
	<-more
	keys, mark, _ = b.Changes(mark)
	require.Equal(t, []string{"a", "b", "c"}, keys)
	b.Publish(context.Background(), named("a"), nil)
	keys, _, _ = b.Changes(mark)
	require.Equal(t, []string{"a"}, keys, "a scope that came back is there once")
	for range 2 * maxGone {
		b.Publish(context.Background(), nil, []scaling.Scope{{Key: "x"}})
	}
	require.Len(t, b.gone, maxGone)
}
