package evaluator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func drawFacts(t *rapid.T) facts {
	f := facts{
		booting: rapid.IntRange(0, 2).Draw(t, "booting"),
		min:     rapid.IntRange(0, 3).Draw(t, "min"),
		max:     rapid.SampledFrom([]int{1, 3, scaling.Unbounded}).Draw(t, "max"),
	}
	for _, x := range f.list() {
		*x.held = rapid.Bool().Draw(t, x.bit.Names()[0])
	}
	if f.currentKnown {
		f.current = rapid.IntRange(0, 5).Draw(t, "current")
	}
	return f
}

// What the explanation says of a row is what the row's predicate does.
func TestConditionsAreThePredicates(t *testing.T) {
	for i := range table {
		require.Contains(t, conditions, table[i].ID)
	}
	require.Len(t, conditions, len(table))
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		for i := range table {
			all := true
			for _, c := range conditions[table[i].ID] {
				if all = all && c.holds(&f); !c.holds(&f) {
					require.NotEmpty(t, c.otherwise(&f), table[i].ID)
				}
			}
			require.Equal(t, table[i].match(&f), all, table[i].ID)
		}
	})
}

// A decision that was published is explained as it was taken: every row above
// the one that decided has a reason, and none below was tried.
func TestExplainFollowsTheDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		set := f.set()
		d := Decided{Row: table[decide(&f)].ID, Facts: &set, Booting: f.booting, Min: f.min, Max: bounded(f.max)}
		if f.currentKnown {
			d.Current = &f.current
		}
		require.Equal(t, &f, factsOf(&d))
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
			default:
				require.Equal(t, want, v.Verdict)
				require.Empty(t, v.Because)
			}
		}
	})
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
