package alerts_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files again")

// raised returns what fires of one evaluation that lasts six minutes.
func raised(t *testing.T, ev scaling.Evaluation) (out []posted) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.ResendDelay = 1 << 60 })
		defer w.end()
		w.ticks(12, ev)
		out = w.ams["a"].take()
	})
	return out
}

func TestWhatRaisesAnAlert(t *testing.T) {
	with := func(change func(ev *scaling.Evaluation)) scaling.Evaluation {
		ev := steady()
		change(&ev)
		return ev
	}
	row := func(a scaling.Action, row scaling.RowID, blockers ...string) func(ev *scaling.Evaluation) {
		return func(ev *scaling.Evaluation) {
			ev.Recommendation.Action, ev.Recommendation.Row = a, row
			for _, b := range blockers {
				ev.Recommendation.BlockingConditions = append(ev.Recommendation.BlockingConditions, scaling.Condition{Name: b})
			}
		}
	}
	held := invalid(false)
	held.Recommendation.TriggerConditions = []scaling.Condition{blocking()}
	paused := invalid(true)
	paused.Recommendation.Row = scaling.RowPaused
	unknown := invalid(true)
	unknown.Recommendation.Row = scaling.RowWorkersUnknown
	saturated := invalid(true)
	saturated.Recommendation.TriggerConditions[0].Class = scaling.Saturation
	saturated.Facts = scaling.FactSaturated
	// CPU decides, and what waits is held by a guard: a trigger, but no shortage.
	busy := held
	busy.Recommendation.Row, busy.Recommendation.Action = scaling.RowSaturated, scaling.ScaleOut
	busy.Facts = scaling.FactSaturated | scaling.FactGuardHolds | scaling.FactHeldBack | scaling.FactShortagePresent
	for name, tc := range map[string]struct {
		ev   scaling.Evaluation
		want []string
	}{
		"steady":              {steady(), nil},
		"scale out":           {scaleOut(2), []string{"ZetaScaleOutRecommended/warning"}},
		"scale in":            {with(row(scaling.ScaleInCandidate, scaling.RowIdle)), []string{"ZetaScaleInCandidate/warning"}},
		"scale in blocked":    {with(row(scaling.ScaleInBlocked, scaling.RowIdleStale, scaling.BlockerMetricsStale)), []string{"ZetaScaleInBlocked/info"}},
		"at max":              {with(row(scaling.NoAction, scaling.RowShortage, scaling.BlockerMaxWorkers)), []string{"ZetaAtMaxWorkers/warning"}},
		"at min":              {with(row(scaling.NoAction, scaling.RowIdleAtMin, scaling.BlockerMinWorkers)), nil},
		"unsatisfiable":       {with(row(scaling.NoAction, scaling.RowUnsatisfiable)), []string{"ZetaUnsatisfiableDemand/warning"}},
		"invalid":             {invalid(false), []string{"ZetaMetricsInvalid/warning"}},
		"invalid, shortage":   {invalid(true), []string{"ZetaMetricsInvalid/page"}},
		"workers unknown":     {unknown, []string{"ZetaMetricsInvalid/page"}},
		"invalid, held back":  {held, []string{"ZetaMetricsInvalid/warning"}},
		"invalid, paused":     {paused, []string{"ZetaMetricsInvalid/warning"}},
		"invalid, saturation": {saturated, []string{"ZetaMetricsInvalid/warning"}},
		"invalid, held, busy": {busy, []string{"ZetaScaleOutRecommended/warning", "ZetaMetricsInvalid/warning"}},
		"failed, held, busy":  {withAction(busy, scaling.ActionFailed), []string{"ZetaScaleOutRecommended/warning", "ZetaActionFailed/warning", "ZetaMetricsInvalid/warning"}},
		"failed":              {withAction(steady(), scaling.ActionFailed), []string{"ZetaActionFailed/warning"}},
		"failed, shortage":    {withAction(scaleOut(2), scaling.ActionFailed), []string{"ZetaScaleOutRecommended/warning", "ZetaActionFailed/page"}},
		"under way":           {withAction(steady(), scaling.ActionConverging), nil},
		"succeeded":           {withAction(steady(), scaling.ActionSucceeded), nil},
		"superseded":          {withAction(steady(), scaling.ActionSuperseded), nil},
		"provisional":         {with(func(ev *scaling.Evaluation) { ev.Provisional = true }), []string{"ZetaRestoreFailed/warning"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range raised(t, tc.ev) {
				require.Contains(t, alerts.Names(), p.name())
				got = append(got, p.name()+"/"+p.Labels["severity"])
				_, action := p.Labels["action"]
				_, id := p.Labels["recommendation"]
				intent := p.name() == alerts.ScaleOutRecommended || p.name() == alerts.ScaleInCandidate
				require.Equal(t, []bool{intent, intent}, []bool{action, id}, "on these two alone")
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Labels are identity only: whatever else moves, they stay.
func TestLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		labels []scaling.Label
		want   map[string]string
	}{
		"one scope":     {[]scaling.Label{}, map[string]string{"scope": "default"}},
		"several":       {[]scaling.Label{{Name: "cluster", Value: "a/b"}, {Name: "env", Value: "é"}}, map[string]string{"scope": "a%2Fb/%C3%A9", "cluster": "a/b", "env": "é"}},
		"reserved":      {[]scaling.Label{{Name: "recommendation", Value: "1-1-x"}, {Name: "action", Value: "NO"}, {Name: "scope", Value: "s"}}, map[string]string{"scope": "1-1-x/NO/s"}},
		"empty value":   {[]scaling.Label{{Name: "cluster", Value: "a"}, {Name: "env", Value: ""}}, map[string]string{"scope": "a/", "cluster": "a"}},
		"bad name":      {[]scaling.Label{{Name: "\xff", Value: "a"}, {Name: "", Value: "b"}}, map[string]string{"scope": "a/b"}},
		"bad value":     {[]scaling.Label{{Name: "cluster", Value: "a\xffb"}}, map[string]string{"scope": "a%FFb", "cluster": "a\uFFFDb"}},
		"like template": {[]scaling.Label{{Name: "cluster", Value: "{{.}}\n\"<"}}, map[string]string{"scope": "%7B%7B.%7D%7D%0A%22%3C", "cluster": "{{.}}\n\"<"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, raised(t, scaleOut(2, tc.labels...))).Labels
			tc.want["alertname"], tc.want["severity"], tc.want["action"] = alerts.ScaleOutRecommended, "warning", "SCALE_OUT"
			tc.want["recommendation"] = "7-2-" + tc.want["scope"]
			require.Equal(t, tc.want, got)
			for _, v := range got {
				require.True(t, utf8.ValidString(v))
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	all := map[string]map[string]string{}
	add := func(ev scaling.Evaluation) {
		for _, p := range raised(t, ev) {
			all[p.name()+"/"+p.Labels["severity"]] = p.Annotations
			for name := range p.Annotations {
				require.Contains(t, alerts.Annotations(), name)
			}
		}
	}
	add(scaleOut(2))
	strong := scaleOut(2)
	strong.Recommendation.Strength = "strong"
	ev := invalid(true)
	ev.Provisional, ev.Paused, ev.Recommendation.CurrentWorkers = true, true, nil
	ev.Recommendation.Action, ev.Recommendation.RecommendedWorkers = scaling.ScaleInCandidate, new(3)
	ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerMaxWorkers}, {Name: scaling.BlockerCooldown}}
	add(ev)
	add(withAction(steady(), scaling.ActionFailed))
	ev = steady()
	ev.Recommendation.Action, ev.Recommendation.Row = scaling.ScaleInBlocked, scaling.RowUnsatisfiable
	add(ev)
	var covered []string
	for key := range all {
		name, _, _ := strings.Cut(key, "/")
		covered = append(covered, name)
	}
	slices.Sort(covered)
	want := alerts.Names()
	slices.Sort(want)
	require.Equal(t, want, covered, "every alert")
	got, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	const file = "testdata/annotations.json"
	if *update {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o600))
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(b), string(got))
	require.Contains(t, one(t, raised(t, strong)).Annotations["summary"], "(strong)")
	ev = steady()
	ev.Recommendation.Action, ev.Recommendation.Row = scaling.ScaleInBlocked, scaling.RowAboveMaxBlocked
	require.Equal(t, "prod: 4 workers are more than max_workers, but it must not shrink now",
		one(t, raised(t, ev)).Annotations["summary"], "it may be as busy as can be")
}

// withAction has an action of that state as its latest.
func withAction(ev scaling.Evaluation, state scaling.ActionState) scaling.Evaluation {
	ev.Execution = &scaling.Execution{
		ID: "7-1-prod", RecommendationID: "7-1-prod", Scope: ev.Scope.Key, MasterEpoch: 7, Generation: 1,
		From: new(4), Target: 5, Actuator: "kubernetes", State: state,
		// A second before time begins in a synctest bubble.
		Transitions: []scaling.Transition{{State: state, At: time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)}},
	}
	if state == scaling.ActionFailed {
		ev.Execution.Error = `statefulsets.apps "seatunnel-worker" is forbidden`
	}
	return ev
}

// One alert lasts over attempts that fail again, and ends when one succeeds.
func TestFailuresOfAnEpisodeAreOneAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.ResendDelay = interval })
		defer w.end()
		step := func(state scaling.ActionState) posted {
			w.tick(withAction(steady(), state))
			time.Sleep(interval)
			return one(t, w.ams["a"].take())
		}
		first := step(scaling.ActionFailed)
		require.Contains(t, first.Annotations["summary"], "the action to bring 5 workers has failed (kubernetes)")
		require.Contains(t, first.Annotations["error"], "forbidden")
		for _, state := range []scaling.ActionState{scaling.ActionPending, scaling.ActionExecuting, scaling.ActionUnknown, scaling.ActionConverging, scaling.ActionFailed} {
			again := step(state)
			require.False(t, again.resolved(), state)
			require.Equal(t, first.StartsAt, again.StartsAt, state)
			require.Equal(t, first.Labels, again.Labels, "identity does not move")
			require.Equal(t, string(state), again.Annotations["action_state"])
			require.Equal(t, state == scaling.ActionFailed, again.Annotations["error"] != "")
		}
		require.True(t, step(scaling.ActionSucceeded).resolved())
	})
}

// Whoever leads and is refused as older has lost its state; whoever has taken
// over says nothing about an older one that was refused.
func TestStaleActionsAreFailuresOfWhoLeads(t *testing.T) {
	ev := withAction(steady(), scaling.ActionRejectedStale)
	ev.Recommendation.MasterEpoch = ev.Execution.MasterEpoch
	require.Equal(t, alerts.ActionFailed, one(t, raised(t, ev)).Labels["alertname"])
	ev.Recommendation.MasterEpoch++
	require.Empty(t, raised(t, ev))
}

func TestLongErrorsAreCut(t *testing.T) {
	ev := withAction(steady(), scaling.ActionFailed)
	ev.Execution.Error = strings.Repeat("x", 1023) + "é and more"
	require.Equal(t, strings.Repeat("x", 1023)+"\uFFFD…", one(t, raised(t, ev)).Annotations["error"])
}

// What nobody has tried again for a day is no news any more.
func TestFailuresEndAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.ResendDelay = interval })
		defer w.end()
		ev := withAction(steady(), scaling.ActionFailed)
		w.tick(ev)
		time.Sleep(24*time.Hour - 2*time.Second)
		w.tick(ev)
		require.Len(t, w.ams["a"].take(), 2)
		time.Sleep(time.Second)
		w.tick(ev)
		require.True(t, one(t, w.ams["a"].take()).resolved(), "a day after the transition")
	})
}
