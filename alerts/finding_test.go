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
		"ineffective":         {with(row(scaling.ScaleOut, scaling.RowShortage, scaling.BlockerIneffective)), []string{"ZetaScaleOutRecommended/warning", "ZetaScalingIneffective/warning"}},
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
	ev.PausedSince = new(time.Date(1999, 12, 31, 20, 0, 0, 0, time.UTC))
	ev.Unpaused = &scaling.Outlook{Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: "jobs wait", RecommendedWorkers: new(5)}
	ev.Recommendation.Action, ev.Recommendation.RecommendedWorkers = scaling.ScaleInCandidate, new(3)
	ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerMaxWorkers}, {Name: scaling.BlockerCooldown}}
	add(ev)
	add(withAction(steady(), scaling.ActionFailed))
	ev = steady()
	ev.Recommendation.Action, ev.Recommendation.Row = scaling.ScaleInBlocked, scaling.RowUnsatisfiable
	add(ev)
	ev = scaleOut(2)
	ev.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerIneffective}}
	ev.FirstInQueue = firstInQueue()
	add(ev)
	add(withDrain(steady(), scaling.DrainFailed, true))
	var covered []string
	for key := range all {
		name, _, _ := strings.Cut(key, "/")
		covered = append(covered, name)
	}
	slices.Sort(covered)
	want := alerts.Names()
	want = slices.DeleteFunc(want, func(name string) bool { return name == alerts.ClusterDown }) // TestClusterDown
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

func firstInQueue() *scaling.QueueHead {
	return &scaling.QueueHead{JobID: "1179806978274033665", Reason: "RESOURCE_NOT_ENOUGH", RequiredSlots: new(4), LackingSlots: new(2), WaitedSeconds: new(180.0)}
}

// The job that waits first moves no alert, and is named for as long as the
// evaluation holds that it is from: it may run by then.
func TestFirstInQueueIsAnAnnotationOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		ev := scaleOut(2)
		ev.FirstInQueue = firstInQueue()
		w.ticks(2, ev)
		first := one(t, w.ams["a"].take())
		require.Equal(t, "job 1179806978274033665 needs 4 slots, lacks 2, waits 3m", first.Annotations["first_in_queue"])
		ev.FirstInQueue = nil
		w.ticks(2, ev)
		second := one(t, w.ams["a"].take())
		require.Equal(t, first.Labels, second.Labels)
		require.Equal(t, first.StartsAt, second.StartsAt)
		require.NotContains(t, second.Annotations, "first_in_queue")

		ev.FirstInQueue = firstInQueue()
		w.ticks(2, ev)
		w.ams["a"].take()
		time.Sleep(3 * interval)
		change, err := w.n.Prepare(w.options.Settings)
		require.NoError(t, err)
		change.Apply()
		synctest.Wait()
		require.NotContains(t, one(t, w.ams["a"].take()).Annotations, "first_in_queue", "the tick is out of date")

		w.tick(ev)
		w.ams["a"].take()
		w.n.Publish(t.Context(), nil, []scaling.Scope{ev.Scope})
		synctest.Wait()
		over := one(t, w.ams["a"].take())
		require.True(t, over.resolved())
		require.NotContains(t, over.Annotations, "first_in_queue", "of an alert that is over")
	})
}

// withDrain has a drain of that state as its latest; down says that a job of it does
// not run again.
func withDrain(ev scaling.Evaluation, state scaling.DrainState, down bool) scaling.Evaluation {
	at := time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)
	d := &scaling.Drain{
		ID: "7-1-prod", Scope: ev.Scope.Key, Worker: "zeta-worker-2", Actuator: "kubernetes", State: state, Endpoint: "http://m1:8080/submit-job",
		Transitions: []scaling.DrainTransition{{State: scaling.DrainDraining, At: at}, {State: state, At: at}},
		Jobs: []scaling.DrainJob{
			{ID: "4501", Name: "orders' night", Mode: "STREAMING", Step: scaling.JobRestored, StopAt: at, RunAt: at},
			{ID: "4502", Name: "clicks", Mode: "BATCH", Step: scaling.JobFinished},
		},
	}
	if down {
		d.Jobs[0].Step, d.Jobs[0].Attempts, d.Jobs[0].Error = scaling.JobRestoring, 3, "it ended soon as FAILED"
	}
	if state == scaling.DrainFailed {
		d.GivenUp, d.Error = "job 4503 (bills) was asked 2 times for a savepoint and has none", "job 4503 (bills) was asked 2 times for a savepoint and has none"
	}
	ev.Drain = d
	return ev
}

// One alert lasts over drains that fail again, and over new attempts; one about
// jobs that do not run is of its own.
func TestDrainAlerts(t *testing.T) {
	over := withDrain(steady(), scaling.DrainActive, false)
	over.Drain.Failed = true
	old := withDrain(steady(), scaling.DrainActive, false)
	old.Drain.Failed = true
	old.Drain.Transitions[1].At = old.Drain.Transitions[1].At.Add(-25 * time.Hour)
	slow := withDrain(steady(), scaling.DrainDrained, false)
	slow.Drain.Jobs[0].Step = scaling.JobStopped
	slow.Drain.Jobs[0].StopAt = time.Date(1999, 12, 31, 23, 58, 59, 0, time.UTC)
	quick := withDrain(steady(), scaling.DrainDrained, false)
	quick.Drain.Jobs[0].Step = scaling.JobStopped
	quick.Drain.Jobs[0].StopAt = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC) // later than any tick
	for name, tc := range map[string]struct {
		ev   scaling.Evaluation
		want []string
	}{
		"under way":                {withDrain(steady(), scaling.DrainDraining, false), nil},
		"removed":                  {withDrain(steady(), scaling.DrainDecommissioned, false), nil},
		"called off":               {withDrain(steady(), scaling.DrainActive, false), nil},
		"a job is down for long":   {slow, []string{"ZetaJobRestoreFailed/page"}},
		"a job is down":            {quick, nil},
		"submitted again":          {withDrain(steady(), scaling.DrainDecommissioning, true), []string{"ZetaJobRestoreFailed/page"}},
		"goes back":                {withDrain(steady(), scaling.DrainFailed, false), []string{"ZetaDrainFailed/warning"}},
		"goes back, a job is down": {withDrain(steady(), scaling.DrainFailed, true), []string{"ZetaDrainFailed/warning", "ZetaJobRestoreFailed/page"}},
		"went back":                {over, []string{"ZetaDrainFailed/warning"}},
		"went back a day ago":      {old, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range raised(t, tc.ev) {
				got = append(got, p.name()+"/"+p.Labels["severity"])
			}
			require.Equal(t, tc.want, got)
		})
	}
	p := raised(t, withDrain(steady(), scaling.DrainDecommissioning, true))
	require.Contains(t, one(t, p).Annotations["next_steps"],
		"curl -X POST 'http://m1:8080/submit-job?isStartWithSavePoint=true&jobId=4501&jobName=orders%27+night' --data-binary @CONFIG-OF-4501.json")
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

// An alert links to the runbook that is configured, to the service's own, or to
// the project's where nobody knows how the service is reached.
func TestRunbookOfAnAlert(t *testing.T) {
	for _, tt := range []struct{ external, runbook, want string }{
		{"", "", alerts.DefaultRunbookURL},
		{"https://scaler.example/base/", "", "https://scaler.example/base/runbook"},
		{"https://scaler.example", "https://wiki.example/zeta", "https://wiki.example/zeta"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := build(t, []string{"a"}, func(o *alerts.Options) { o.ExternalURL, o.RunbookURL = tt.external, tt.runbook })
			defer w.end()
			w.ticks(1, scaleOut(2))
			require.Equal(t, tt.want+"#zetascaleoutrecommended", one(t, w.ams["a"].take()).Annotations["runbook_url"])
		})
	}
}
