package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var at = time.Date(2026, 3, 14, 9, 26, 30, 0, time.UTC)

// serveScope runs the real API with one scope, one action and one recorded
// decision.
func serveScope(t *testing.T) (url string, store state.Store) {
	t.Helper()
	return serveScopes(t, "prod")
}

// serveScopes is serveScope for a scope with any key.
func serveScopes(t *testing.T, key string) (url string, store state.Store) {
	t.Helper()
	ev := scaling.Evaluation{
		Scope: scaling.Scope{Key: key}, SlotMode: scaling.FixedSlots, Mode: scaling.Direct, Deployment: scaling.Session,
		MinWorkers: 1, MaxWorkers: new(8), Interval: 30, Tick: at,
		Facts: scaling.FactCurrentKnown | scaling.FactMetricsUsable | scaling.FactMetricsValid | scaling.FactShortage,
		Inputs: []scaling.Input{
			{
				Name: "oldest_blocked_job", Class: scaling.Blocking, Unit: "seconds", Value: scaling.Known(412), Applies: true,
				Windows: []scaling.Window{{
					Direction: scaling.Out, Comparison: ">", Threshold: new(60.0), Truth: "true", Sustained: true,
					HeldSeconds: 330, WindowSeconds: 300, AtLeast: true,
				}},
			},
			{Name: "slot_utilization", Class: scaling.Capacity, Reason: "not_applicable"},
			{Name: "head_job\x1b[2J", Class: scaling.Guard, Reason: "absent", Applies: true},
		},
	}
	ev.Recommendation = scaling.Recommendation{
		Scope: key, RecommendationID: "7-3-" + key, MasterEpoch: 7, Generation: 3, Action: scaling.ScaleOut, Row: scaling.RowShortage,
		Reason: "oldest blocked job 412 s > 60 s", CurrentWorkers: new(2), RecommendedWorkers: new(3),
		RuleSet: scaling.RuleSetRef{Name: "zeta-auto", Version: "1.0.0"}, ObservedAt: at, Since: at,
		MetricsSnapshot: map[string]scaling.Measurement{"oldest_blocked_job": {Value: scaling.Known(412), Unit: "seconds"}},
	}
	board := evaluator.NewBoard(7)
	board.Publish(t.Context(), []scaling.Evaluation{ev}, nil)
	store = memory.New()
	action, err := state.NewPut(state.Execution, key, 0, state.ExecutionRecord{Action: &scaling.Execution{
		ID: "7-3-" + key, RecommendationID: "7-3-" + key, Scope: key, From: new(2), Target: 3, Actuator: "kubernetes",
		State: scaling.ActionConverging, Transitions: []scaling.Transition{{State: scaling.ActionConverging, At: at, Reason: "2 of 3 workers are up"}},
	}})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{action}})
	require.NoError(t, err)
	h, err := api.New(api.Options{
		Board: board, History: store, Store: store, Table: evaluator.Table(), Ready: store.Check, Metrics: http.NotFoundHandler(),
		PrometheusURL: func() string { return "http://prom:9090" },
		Settings: func() []api.Setting {
			return []api.Setting{{Path: "log.level", Value: "info", Origin: api.FromDefault}}
		},
		Queries: func(scaling.RuleSetRef) map[string]evaluator.Query {
			return map[string]evaluator.Query{"oldest_blocked_job": {Expr: "max(oldest)"}}
		},
	})
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL, store
}

func TestActionsCommand(t *testing.T) {
	url, _ := serveScope(t)
	code, stdout, stderr := runArgs(t, "actions", "--server", url)
	require.Zero(t, code, stderr)
	require.Equal(t, `SINCE                 SCOPE  STATE       WORKERS  BY          ACTION    WHY
2026-03-14T09:26:30Z  prod   CONVERGING  2 → 3    kubernetes  7-3-prod  2 of 3 workers are up
`, stdout)
	_, stdout, _ = runArgs(t, "actions", "--server", url, "--state", "FAILED")
	require.Equal(t, "No action matches.\n", stdout)
	_, stdout, _ = runArgs(t, "actions", "--server", url, "--scope", "prod", "-o", "json")
	var page api.ActionsPage
	require.NoError(t, json.Unmarshal([]byte(stdout), &page))
	require.Len(t, page.Actions, 1)
}

func TestPauseAndResumeCommands(t *testing.T) {
	url, store := serveScope(t)
	code, stdout, stderr := runArgs(t, "pause", "prod", "--reason", "upgrade of m1", "--for", "2h", "--server", url)
	require.Zero(t, code, stderr)
	require.Regexp(t, `^Scope prod is paused until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: upgrade of m1\n$`, stdout)
	r, _, err := state.Load[state.ControlRecord](t.Context(), store, state.Control, "prod")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(2*time.Hour), r.PausedUntil, time.Minute)

	_, stdout, _ = runArgs(t, "pause", "--reason", "all of it", "--server", url)
	require.Equal(t, "The service is paused until it is resumed: all of it\n", stdout)
	_, stdout, _ = runArgs(t, "resume", "prod", "--server", url)
	require.Equal(t, "Scope prod is not paused.\nThe whole service still is: resume it without SCOPE.\n", stdout)
	runArgs(t, "pause", "prod", "--reason", "x", "--server", url)
	_, stdout, _ = runArgs(t, "resume", "--server", url)
	require.Equal(t, "The service is not paused.\nPaused by themselves: prod\n", stdout)
	_, stdout, _ = runArgs(t, "resume", "prod", "--server", url, "-o", "json")
	var reply api.ControlState
	require.NoError(t, json.Unmarshal([]byte(stdout), &reply))
	require.Empty(t, reply.PausedScopes)

	code, _, stderr = runArgs(t, "pause", "prdo", "--reason", "x", "--server", url)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, `there is no scope "prdo"`)
}

// The status says what is under way, what has failed and who has paused it; the
// history what people have set.
func TestStatusSaysWhatAPersonHasToKnow(t *testing.T) {
	url, store := serveScope(t)
	_, stdout, _ := runArgs(t, "status", "--server", url)
	require.Regexp(t, `(?m)^prod +2 → 3 +SCALE_OUT +shortage +2026-03-14T09:26:30Z +direct +CONVERGING → 3 +oldest`, stdout)
	_, err := state.Executions(store, state.NoFence).Change(t.Context(), "prod", func(old state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
		r := old.Value
		r.Action.State, r.Action.Error, r.BackoffUntil = scaling.ActionFailed, "forbidden \x1b[2J", time.Now().Add(time.Hour)
		r.Action.Transitions = []scaling.Transition{{State: scaling.ActionFailed, At: time.Now()}}
		return r, nil, true
	})
	require.NoError(t, err)
	_, stdout, _ = runArgs(t, "status", "--server", url)
	require.Contains(t, stdout, "FAILED → 3")
	require.Regexp(t, `(?m)^prod: an action to bring 3 workers by kubernetes has failed at \S+: forbidden \?\[2J$`, stdout)
	require.Regexp(t, `(?m)^prod: Mend what the error says\. .* Next attempt at \S+Z\.$`, stdout)

	runArgs(t, "pause", "prod", "--reason", "upgrade of m1", "--server", url)
	_, stdout, _ = runArgs(t, "status", "--server", url)
	require.Regexp(t, `(?m)^prod: paused since \S+Z, until resumed: upgrade of m1$`, stdout)
	_, stdout, _ = runArgs(t, "history", "--server", url)
	require.Regexp(t, `(?m)^\S+Z +prod +- +pause +- +upgrade of m1$`, stdout)
}

// Which job waits first is said below the table and in the explanation, whatever
// its id is.
func TestFirstInQueueInWords(t *testing.T) {
	head := &scaling.QueueHead{JobID: "117\x1b[2J", RequiredSlots: new(4), LackingSlots: new(2), WaitedSeconds: new(180.0)}
	require.Equal(t, "\nprod: first in the queue: job 117?[2J needs 4 slots, lacks 2, waits 3m\n",
		needsText([]api.ScopeStatus{{Scope: "prod", FirstInQueue: head}, {Scope: "other"}}))
	x := &api.Explanation{Scope: "prod", FirstInQueue: head}
	require.Contains(t, explainText(x, screen{}), "\nFirst in the queue: job 117?[2J needs 4 slots, lacks 2, waits 3m.\n")
	x.FirstInQueue = nil
	require.NotContains(t, explainText(x, screen{}), "queue")
}

// A slip in the name of a scope is an error everywhere, and shells know the names.
func TestScopesAreCheckedAndCompleted(t *testing.T) {
	url, _ := serveScope(t)
	for _, args := range [][]string{
		{"status", "--scope", "prdo"},
		{"history", "--scope", "prdo"},
		{"history", "--scope", "prdo", "-o", "json"},
		{"actions", "--scope", "prdo"},
		{"explain", "prdo"},
		{"pause", "prdo", "--reason", "x"},
		{"resume", "prdo"},
	} {
		code, stdout, stderr := runArgs(t, append(args, "--server", url)...)
		require.Equal(t, exitBad, code, "%s", args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, `there is no scope "prdo"`, "%s", args)
	}
	for _, args := range [][]string{
		{"status", "--scope", ""}, {"history", "--scope", ""}, {"actions", "--scope", ""}, {"explain", ""}, {"pause", ""}, {"resume", ""},
	} {
		args = append([]string{"__complete", args[0], "--server", url}, args[1:]...)
		_, stdout, _ := runArgs(t, args...)
		require.Equal(t, "prod\n:4\n", stdout, "%s", args)
	}
}

// Scopes are shown as people read them and may be named so; JSON has their keys.
func TestScopesAreShownDecoded(t *testing.T) {
	url, _ := serveScopes(t, "K%C3%B6ln%20&%20Bonn/etl")
	for _, args := range [][]string{
		{"status"},
		{"status", "--scope", "Köln & Bonn/etl"},
		{"status", "--scope", "etl/K%C3%B6ln%20&%20Bonn"},
		{"actions", "--scope", "Köln & Bonn/etl"},
		{"explain", "Köln & Bonn/etl"},
		{"pause", "Köln & Bonn/etl", "--reason", "x"},
		{"history", "--scope", "Köln & Bonn/etl"},
		{"config", "show", "--scope", "Köln & Bonn/etl"},
		{"config", "set", "--scope", "Köln & Bonn/etl", "--max-workers", "7"},
		{"resume", "Köln & Bonn/etl"},
	} {
		code, stdout, stderr := runArgs(t, append(args, "--server", url)...)
		require.Zero(t, code, "%s: %s", args, stderr)
		require.Contains(t, stdout, "Köln & Bonn/etl", "%s", args)
		require.NotContains(t, stdout, "SCOPE  K%C3", "%s", args)
		require.NotRegexp(t, `(?m)^[^#\n]*(scope|Scope) K%C3`, stdout, "%s", args)
	}
	_, stdout, _ := runArgs(t, "status", "-o", "json", "--server", url)
	require.Contains(t, stdout, `"scope": "K%C3%B6ln%20&%20Bonn/etl"`)
	_, stdout, _ = runArgs(t, "__complete", "status", "--server", url, "--scope", "Kö")
	require.Equal(t, "Köln & Bonn/etl\n:4\n", stdout)
	_, stdout, _ = runArgs(t, "__complete", "status", "--server", url, "--scope", "K%C3")
	require.Equal(t, "K%C3%B6ln%20&%20Bonn/etl\n:4\n", stdout, "who began with the key goes on with it")
	code, _, stderr := runArgs(t, "status", "--scope", "Köln & Bon/etl", "--server", url)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, `did you mean "Köln & Bonn/etl"?`)
}

// What holds a scope back is named once, with its end.
func TestStatusNamesBlockersOnce(t *testing.T) {
	until := at.Add(time.Minute)
	st := api.ScopeStatus{Recommendation: scaling.Recommendation{
		Reason: "oldest blocked job 412 s > 60 s; 3 → 4 workers, held by failure_backoff and cooldown",
		BlockingConditions: []scaling.Condition{
			{Name: scaling.BlockerFailureBackoff, Until: &until}, {Name: scaling.BlockerCooldown}, {Name: "later", Until: &until},
		},
	}}
	require.Equal(t, "oldest blocked job 412 s > 60 s; 3 → 4 workers, held by failure_backoff until 2026-03-14T09:27:30Z and cooldown, later until 2026-03-14T09:27:30Z",
		reasonOf(&st))
}

func TestPauseEnd(t *testing.T) {
	end, err := pauseEnd("", "1d", at)
	require.NoError(t, err)
	require.Equal(t, at.Add(24*time.Hour), *end.Value)
	end, err = pauseEnd("2026-03-14T18:00:00+01:00", "", at)
	require.NoError(t, err)
	require.True(t, end.Value.Equal(time.Date(2026, 3, 14, 17, 0, 0, 0, time.UTC)))
	end, err = pauseEnd("", "", at)
	require.NoError(t, err)
	require.False(t, end.Set)
}

func TestExplainCommand(t *testing.T) {
	url, _ := serveScope(t)
	code, stdout, stderr := runArgs(t, "explain", "prod", "--server", url)
	require.Zero(t, code, stderr)
	table := evaluator.Table()
	below := len(table) - 1 - slices.IndexFunc(table, func(r scaling.Row) bool { return r.ID == scaling.RowShortage })
	for _, want := range []string{
		"prod: SCALE_OUT, 2 → 3 workers, by row shortage\noldest blocked job 412 s > 60 s\n",
		"workers allowed: 1 to 8; booting: 0; mode direct.",
		"paused             no       neither the scope nor the service is paused\n",
		"shortage           decided  shortage\n",
		fmt.Sprintf("Rows below, not tried: %d.\n", below),
		"oldest_blocked_job  blocking  412 seconds               sustained  scale out if > 60, held at least 5m30s of 5m\n",
		"slot_utilization    capacity  unknown (not_applicable)  -          does not apply here\n",
		"head_job?[2J        guard     unknown (absent)          -          none\n",
		"# oldest_blocked_job is 412 seconds\ncurl -sG 'http://prom:9090/api/v1/query' --data-urlencode 'query=max(oldest)' --data-urlencode 'time=2026-03-14T09:26:30Z'\n",
	} {
		require.Contains(t, stdout, want)
	}
	_, stdout, _ = runArgs(t, "explain", "prod", "--server", url, "-o", "json")
	var x api.Explanation
	require.NoError(t, json.Unmarshal([]byte(stdout), &x))
	require.Equal(t, scaling.RowShortage, x.Recommendation.Row)
	code, _, stderr = runArgs(t, "explain", "prod", "--id", "4", "--server", url)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, `scope "prod" has no recorded decision 4`)
}

// What is watched is shown again when it has changed, and redrawn on a terminal.
func TestWatch(t *testing.T) {
	answers := []string{"a\n", "a\n", "", "", "b\n"}
	for terminal, want := range map[bool][2]string{
		false: {"a\n\nb\n", "zeta-scaler: gone\n"},
		true: {
			"\x1b[H\x1b[2Ja\n\x1b[H\x1b[2Ja\n\x1b[H\x1b[2Jzeta-scaler: gone\n\x1b[H\x1b[2Jzeta-scaler: gone\n\x1b[H\x1b[2Jb\n", "",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var out, errs bytes.Buffer
			n := 0
			w := watch{out: &out, errs: &errs, screen: screen{terminal: terminal}, ask: func(context.Context) (string, error) {
				n++
				switch {
				case n > len(answers):
					cancel()
					return "never shown", nil
				case answers[n-1] == "":
					return "", errors.New("gone")
				}
				return answers[n-1], nil
			}}
			began := time.Now()
			require.NoError(t, w.run(ctx))
			require.Equal(t, time.Duration(len(answers))*watchEvery, time.Since(began))
			require.Equal(t, want, [2]string{out.String(), errs.String()})
		})
	}
	w := watch{ask: func(context.Context) (string, error) { return "", errors.New("wrong address") }}
	require.EqualError(t, w.run(t.Context()), "wrong address", "at first it is an error")
}

func TestTablesFitTheScreen(t *testing.T) {
	table := textTable{header: []string{"A", "ACTION", "WHY"}}
	table.add("x", "SCALE_OUT", "one two three four five sixsevenwithoutanyendtobreakat and more")
	table.add("é\x1b[31m\u202e", "NO_ACTION", "")
	wide := table.text(screen{})
	require.Equal(t, "A        ACTION     WHY\n"+
		"x        SCALE_OUT  one two three four five sixsevenwithoutanyendtobreakat and more\n"+
		"é?[31m?  NO_ACTION  \n", wide)
	for _, width := range []int{26, 40, 45, 60, 70} {
		text := table.text(screen{width: width})
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width)
		}
		require.Equal(t, strings.Join(strings.Fields(wide), ""), strings.Join(strings.Fields(text), ""), "nothing is lost")
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	require.Equal(t, "SCALE_OUT", screen{}.paint("SCALE_OUT"))
	require.Equal(t, "\x1b[33mSCALE_OUT\x1b[0m", screen{colour: true}.paint("SCALE_OUT"))
	require.Equal(t, "prod", screen{colour: true}.paint("prod"))
	require.Equal(t, screen{}, screenOf(&bytes.Buffer{}))
	table := textTable{header: []string{"A", "B"}}
	table.add("FAILED", "x")
	require.Equal(t, "A       B\n\x1b[31mFAILED\x1b[0m  x\n", table.text(screen{colour: true}), "colours take no room")
}

func TestValuesBesideTheirUnits(t *testing.T) {
	require.Equal(t, "1 worker", valueText(scaling.Known(1), "workers", ""))
	require.Equal(t, "0.8", valueText(scaling.Known(0.8), "ratio", ""))
	require.Equal(t, "unknown (absent)", valueText(scaling.Value{}, "slots", "absent"))
}

func TestStatusSaysThatADrainHasFailed(t *testing.T) {
	url, store := serveScope(t)
	_, err := state.Executions(store, state.NoFence).Change(t.Context(), "prod", func(old state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
		return state.ExecutionRecord{}, nil, true
	})
	require.NoError(t, err)
	put, err := state.NewPut(state.Drain, "prod", 0, state.DrainRecord{Open: &scaling.Drain{
		ID: "7-4", Scope: "prod", Worker: "w1", State: scaling.DrainFailed, Error: "no slots \x1b[2J",
		Transitions: []scaling.DrainTransition{{State: scaling.DrainFailed, At: at}},
	}})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	_, stdout, _ := runArgs(t, "status", "--server", url)
	require.Regexp(t, `(?m)^prod .* drain failed: w1 +oldest`, stdout)
	require.Regexp(t, `(?m)^prod: the drain of w1 has failed at 2026-03-14T09:26:30Z: no slots \?\[2J$`, stdout)
	require.Contains(t, stdout, "zeta-scaler drain prod -o json has each job and step")
}
