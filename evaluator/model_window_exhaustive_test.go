package evaluator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// everySeries calls f with every series of t, f and u of 1…longest ticks.
func everySeries(longest int, f func([]mark)) {
	var grow func(series []mark)
	grow = func(series []mark) {
		if len(series) > 0 {
			f(series)
		}
		if len(series) == longest {
			return
		}
		for _, m := range []mark{markTrue, markFalse, markUnknown} {
			grow(append(slices.Clip(series), m))
		}
	}
	grow(nil)
}

var truthOfMark = map[mark]scaling.Truth{markTrue: scaling.True, markFalse: scaling.False, markUnknown: scaling.Unknown}

// TestEveryWindowSeries holds the folded windows to the definition over the
// whole series: every series of up to 8 ticks, tolerant and strict.
func TestEveryWindowSeries(t *testing.T) {
	for need := range 5 {
		for gap := range 3 {
			for keep := range 4 {
				t.Run(fmt.Sprintf("for %d gap %d keep %d", need, gap, keep), func(t *testing.T) {
					folded := window{need: int64(need), gap: int64(gap), keep: int64(keep)}
					everySeries(8, func(series []mark) {
						model := modelWindow{marks: series, interval: 1, gap: gap, need: time.Duration(need), keep: time.Duration(keep)}
						var r run
						for i, m := range series {
							r = r.next(truthOfMark[m], int64(i), folded)
						}
						last := len(series) - 1
						if r.sustained() != model.sustained(last) || int(r.heldFor(int64(last))) != model.held(last) ||
							r.lasted(int64(need)) != model.lasted(last, time.Duration(need)) {
							t.Fatalf("%s: folded sustained %t held %d, defined sustained %t held %d",
								series, r.sustained(), r.heldFor(int64(last)), model.sustained(last), model.held(last))
						}
					})
				})
			}
		}
	}
}

// TestModelWindowExamples pins the definition itself to the examples of
// spec 1.4.
func TestModelWindowExamples(t *testing.T) {
	for _, tc := range []struct{ series, want string }{
		{"tttut", "0 1 2 3 4*"},
		{"tutut", "0 1 2 3 4*"},
		{"ttuut", "0 1 2 0 0"},
		{"ttttuf", "0 1 2 3* 4* 0"},
	} {
		w := modelWindow{marks: []mark(tc.series), interval: 1, gap: 1, need: 3}
		got := ""
		for i := range tc.series {
			got += fmt.Sprintf(" %d", w.held(i))
			if w.sustained(i) {
				got += "*"
			}
		}
		if got[1:] != tc.want {
			t.Errorf("%s: %s, want %s", tc.series, got[1:], tc.want)
		}
	}
}
