package api

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// failedAt is a scope whose action has failed.
func failedAt(t *testing.T, at time.Time, change func(*state.ExecutionRecord)) Options {
	t.Helper()
	r := state.ExecutionRecord{BackoffUntil: tick.Add(3 * time.Minute), Action: &scaling.Execution{
		ID: "7-3-prod", RecommendationID: "7-3-prod", Scope: "prod", MasterEpoch: 7, Target: 3, Actuator: "kubernetes",
		State: scaling.ActionFailed, Error: "forbidden " + hostile,
		Transitions: []scaling.Transition{{State: scaling.ActionFailed, At: at}},
	}}
	if change != nil {
		change(&r)
	}
	o := options(t)
	put, err := state.NewPut(state.Execution, "prod", 0, r)
	require.NoError(t, err)
	_, err = o.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	return o
}

// What failed stands in the first card, red, with the error, when it is tried
// again, and what to do; in the status and first in the list, too.
func TestAFailureComesFirst(t *testing.T) {
	o := failedAt(t, tick.Add(-time.Minute), nil)
	nodes := pageOf(t, o, "/?scope=prod")
	var card []string
	for _, n := range nodes {
		if attribute(n, "class") == "failure" {
			card = append(card, text(n))
		}
	}
	require.Equal(t, []string{"An action has failed: to bring 3 workers by kubernetes , 2026-03-14T09:25:30Z (1m12s ago). " +
		"forbidden " + hostile + " What now: Mend what the error says. It is tried again by itself while it is still called for. " +
		"Next attempt at 2026-03-14T09:29:30Z , in 2m48s. Its steps · Runbook"}, card)
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "Last action FAILED unknown → 3 workers By kubernetes", "as the store has it")
	first := rowsOf(pageOf(t, o, "/"))[1] // after the scope whose drain has failed, by its key
	require.Contains(t, first[0], "prod action failed: 3 workers")
	require.Contains(t, first[4], "Failed: forbidden "+hostile)

	f := decoded[Status](t, call(newHandler(t, o), "GET", "/autoscaler/status?scope=prod")).Scopes[0].Failure
	require.Equal(t, "7-3-prod", f.ActionID)
	require.Equal(t, tick.Add(3*time.Minute), *f.RetryAt)
}

func TestWhatNowAfterAFailure(t *testing.T) {
	fresh := tick.Add(-time.Minute)
	for name, tc := range map[string]struct {
		at     time.Time
		change func(*state.ExecutionRecord)
		want   string // empty: nothing is said
	}{
		"it rests":     {fresh, nil, "tried again by itself"},
		"a day ago":    {tick.Add(-25 * time.Hour), nil, ""},
		"it succeeded": {fresh, func(r *state.ExecutionRecord) { r.Action.State, r.Action.Error = scaling.ActionSucceeded, "" }, ""},
		"calls fail": {fresh, func(r *state.ExecutionRecord) {
			r.Action.State, r.NextAttempt = scaling.ActionExecuting, tick.Add(time.Minute)
		}, "The platform is asked again by itself"},
		"a newer leader":     {fresh, func(r *state.ExecutionRecord) { r.Action.State = scaling.ActionRejectedStale }, "no other zeta-scaler"},
		"under way, no news": {fresh, func(r *state.ExecutionRecord) { r.Action.State, r.Action.Error = scaling.ActionConverging, "" }, ""},
	} {
		words := mainOf(t, failedAt(t, tc.at, tc.change), "/?scope=prod")
		if tc.want == "" {
			require.NotContains(t, words, "What now:", name)
			continue
		}
		require.Contains(t, words, "What now: ", name)
		require.Contains(t, words, tc.want, name)
	}
	ev := scaleOut("prod")
	ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerOtherWriter}}
	o := failedAt(t, fresh, func(r *state.ExecutionRecord) { r.OtherWriter = "hpa/x" })
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "Somebody else also changes the number of workers (hpa/x). Stop that, then resume the scope")
	ev.Recommendation.Action = scaling.NoAction
	ev.Recommendation.BlockingConditions = nil
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "It is not called for any more")
}

// A pause is shown at once, with who, why and until when, in page, list and
// status, and beside it what would be recommended; it stands in the history.
func TestAPauseIsShownAtOnce(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"upgrade","until":"2026-03-14T10:26:42Z"}`)
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "paused This scope since 2026-03-14T09:26:42Z by ann, until 2026-03-14T10:26:42Z (1h left): upgrade")
	require.Contains(t, words, "Paused: that counts from the next tick on.")
	require.Contains(t, words, "2026-03-14T09:26:42Z – pause by ann: until 2026-03-14T10:26:42Z: upgrade")
	require.Contains(t, rowsOf(pageOf(t, o, "/?need=paused"))[0][0], "prod paused")
	st := decoded[Status](t, call(h, "GET", "/autoscaler/status?scope=prod")).Scopes[0]
	require.True(t, st.Paused)
	require.Equal(t, "ann", st.Pauses[0].By)

	ev := scaleOut("prod")
	ev.Paused, ev.Unpaused = true, &scaling.Outlook{Action: scaling.ScaleOut, Reason: "jobs wait " + hostile, RecommendedWorkers: new(3)}
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "Without the pause: SCALE_OUT 2 → 3 workers, jobs wait "+hostile)

	send(t, h, "POST", "/autoscaler/resume", `{"scope":"prod","reason":"done"}`)
	send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":2}]}`, "If-Match", "*")
	page := decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=prod"))
	var what []string
	for _, c := range page.Changes {
		what = append(what, c.What+" "+c.Reason)
	}
	require.Equal(t, []string{"config min_workers: as configured → 2", "resume done", "pause upgrade"}, what)
	require.Empty(t, decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=prod&action=SCALE_OUT")).Changes)
	require.Empty(t, decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=other")).Changes)
	require.False(t, decoded[Status](t, call(h, "GET", "/autoscaler/status?scope=prod")).Scopes[0].Paused)
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "Resumed: it counts from the next tick on.")
}

// Every blocker says when it ends, or until what.
func TestEveryBlockerSaysItsEnd(t *testing.T) {
	ev := scaleOut("prod")
	ev.Recommendation.BlockingConditions = nil
	for name := range blockerEnds {
		ev.Recommendation.BlockingConditions = append(ev.Recommendation.BlockingConditions, scaling.Condition{Name: name})
	}
	ev.Recommendation.BlockingConditions = append(ev.Recommendation.BlockingConditions,
		scaling.Condition{Name: scaling.BlockerCooldown, Until: new(tick.Add(72 * time.Second))},
		scaling.Condition{Name: "blocked_jobs", Signal: "blocked_jobs", Value: new(scaling.Known(4)), Comparison: "≤", Threshold: new(0.0)})
	for _, v := range blockerViews(&ev, tick) {
		require.NotEmpty(t, v.Words, v.Name)
	}
	o := options(t)
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "cooldown a rest after an action, until 2026-03-14T09:27:42Z (in 1m)")
	require.Contains(t, words, "blocked_jobs blocked jobs: it is 4, the threshold is ≤ 0")
}

// 41 scopes, one of them in trouble: it is the first of the list, and the only
// one that its filter leaves.
func TestOneInTroubleAmongForty(t *testing.T) {
	o := options(t)
	var all []scaling.Evaluation
	for i := range 41 {
		ev := scaleOut("scope-" + string(rune('a'+i/10)) + string(rune('0'+i%10)))
		if i == 37 {
			ev.Recommendation.Row = scaling.RowUnsatisfiable
		}
		all = append(all, ev)
	}
	o.Board = &fakeBoard{evaluations: all}
	require.True(t, strings.HasPrefix(rowsOf(pageOf(t, o, "/"))[0][0], "scope-d7"))
	nodes := pageOf(t, o, "/")
	var needs []string
	for _, n := range named(nodes, "a") {
		if u, err := url.Parse(attribute(n, "href")); err == nil && u.Query().Has("need") {
			needs = append(needs, text(n))
		}
	}
	require.Equal(t, []string{"blocked for good 1"}, needs)
	require.Len(t, rowsOf(pageOf(t, o, "/?need=stuck")), 1)
	require.Contains(t, mainOf(t, o, "/?need=failed"), "None of the 41 scopes is like that")
	require.True(t, strings.HasPrefix(rowsOf(pageOf(t, o, "/?sort=scope"))[0][0], "scope-a0"))
}

// The page is an answer: the decision, the last action, the workers, the signals
// that say something, the history; the rest is folded or below.
func TestTheOrderOfAScopesPage(t *testing.T) {
	var headings []string
	for _, n := range named(pageOf(t, options(t), "/?scope=prod"), "h2") {
		headings = append(headings, text(n))
	}
	require.Equal(t, []string{"prod", "Last action", "Drains", "Workers", "Signals", "History", "Decision table", "Pause", "Limits", "Shadow rule sets", "Backtest"}, headings)
	ev := scaleOut("prod")
	ev.Inputs[1].Windows[0].SustainedAt = tick.Add(42 * time.Second)
	ev.Inputs[0].Windows = ev.Inputs[0].Windows[1:]
	o := options(t)
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	words := mainOf(t, o, "/?scope=prod")
	require.Contains(t, words, "2m30s of 10m, counts at 2026-03-14T09:27:12Z (in 30s) if nothing changes")
	require.Contains(t, words, "Quiet signals, of which no condition holds: 2", "the one that is false, and the one that does not apply")
}
