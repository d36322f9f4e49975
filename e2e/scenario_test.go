//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// patience is how long the story waits for one thing; most take seconds.
	patience = 3 * time.Minute
	// interval and idleWindow are those of testdata/rules.yaml, lookback that of
	// the services.
	interval   = 2 * time.Second
	idleWindow = 12 * time.Second
	lookback   = 7 * time.Second
	// submitEvery spaces the stream of jobs that find no slot.
	submitEvery = 3 * time.Second
	// scrapeLimit is within which the exporter must answer, whatever Zeta does:
	// Prometheus would wait for 2 s.
	scrapeLimit = 2 * time.Second
)

// story is a real cluster and everything that watches it.
type story struct {
	t        *testing.T
	zeta     *zeta.Cluster
	exporter *scaler
	prom     *harness.PrometheusServer
	proxy    *harness.Proxy
	// cut reaches Prometheus through the proxy and is killed; twin does not and
	// is not.
	cut, twin         *scaler
	cutSeen, twinSeen *watch
	jobs              []string
	rejected          []string
}

// The main job on real input: what a real cluster says reaches a decision,
// and no failure on the way changes what is decided afterwards.
func TestRealClusterIsWatchedAndDecided(t *testing.T) {
	t.Parallel()
	s := &story{t: t}
	s.begin()
	for _, stage := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"an idle cluster is a candidate for scale-in", s.idle},
		{"full slots alone never scale", s.fill},
		{"jobs rejected for want of slots scale out", s.reject},
		{"the pages pass promtool", s.pages},
		{"a third worker ends it and the next job runs", s.grow},
		{"stopped jobs leave an idle cluster", s.stopJobs},
		{"gap equivalence: the path to Prometheus is cut", s.gap},
		{"restart equivalence: the service is killed", s.restart},
		{"Prometheus itself is stopped and started", s.restartPrometheus},
		{"the history tells the story", s.history},
		{"a worker is killed", s.killWorker},
		{"a worker hangs", s.freezeWorker},
	} {
		if !t.Run(stage.name, stage.run) {
			t.FailNow()
		}
	}
}

// begin starts everything: two workers of two slots each, exporter,
// Prometheus, and two services that judge the same ticks.
func (s *story) begin() {
	t := s.t
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	lab.Build(t, harness.Prometheus)
	s.zeta = zeta.Start(t, lab, 2)
	s.zeta.StartWorkers(t, 1, 2)
	s.exporter = newScaler(t, "exporter", "exporter", fmt.Sprintf(`
web: {listen_address: "%%s"}
clusters: [{name: %s, urls: ["%s"], endpoint_timeout: 1s}]
`, clusterName, s.zeta.URL))
	s.exporter.start(t)
	s.prom = lab.StartPrometheus(t, harness.PrometheusOptions{Name: "prometheus", Config: fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs: [{job_name: zeta, static_configs: [{targets: ["%s"]}]}]
`, s.exporter.address)})
	s.proxy = harness.NewProxy(t, s.prom.Address)
	s.cut, s.twin = s.serve("cut", s.proxy.Address), s.serve("twin", s.prom.Address)
	s.cut.start(t)
	s.twin.start(t)
	s.cutSeen, s.twinSeen = watchDecisions(t, s.cut), watchDecisions(t, s.twin)
}

func (s *story) serve(name, prometheus string) *scaler {
	rules := filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml")
	return newScaler(s.t, "serve", name, fmt.Sprintf(`
web: {listen_address: "%%s"}
prometheus: {urls: ["http://%s"], timeout: 1s, lookback_delta: %s}
rule_sets: [{file: %q}]
scopes: [{match: {cluster: %s}, rule_set: e2e, bounds: {min_workers: 1, max_workers: 5}}]
state: {path: %q}
leadership: {lock_file: %q}
`, prometheus, lookback, rules, clusterName, filepath.Join(lab.Dir, name+".db"), filepath.Join(lab.Dir, name+".lock")))
}

func (s *story) idle(t *testing.T) {
	r := s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 2, 1)
	require.True(t, r.MetricsValid)
	require.True(t, r.RecommendationOnly)
	require.NotNil(t, r.StaleWorkerCount)
	require.Zero(t, *r.StaleWorkerCount)
	require.InDelta(t, 0, r.MetricsSnapshot["slot_utilization"].Value.Number, 0)
	s.twin.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 2, 1)
}

func (s *story) fill(t *testing.T) {
	s.submit(t, 2)
	s.zeta.WaitForFreeSlots(t, patience, 0)
	r := s.cut.waitForRow(t, patience, scaling.RowTightAlone, scaling.NoAction, 2, 2)
	require.Equal(t, []string{"slot_utilization"}, names(r.TriggerConditions))
	require.InDelta(t, 1, r.MetricsSnapshot["slot_utilization"].Value.Number, 0)
}

// submit starts jobs that take two slots each and run until they are stopped.
func (s *story) submit(t *testing.T, jobs int) {
	t.Helper()
	for range jobs {
		id, err := s.zeta.Submit(t.Context(), fmt.Sprintf("job-%d", len(s.jobs)), 1)
		require.NoError(t, err)
		s.jobs = append(s.jobs, id)
		waitForStatus(t, s.zeta, id, "RUNNING")
	}
}

func (s *story) reject(t *testing.T) {
	// A job without slots shows RUNNING for a while before it FAILS, so one is
	// not enough: a stream of them keeps rejections coming.
	stop := s.stream(t)
	r := s.cut.waitForRow(t, patience, scaling.RowShortage, scaling.ScaleOut, 2, 3)
	stop()
	require.Contains(t, names(r.TriggerConditions), "resource_rejections")
	require.Contains(t, names(r.TriggerConditions), "slot_utilization")
	require.Empty(t, r.BlockingConditions)
	rejections := r.MetricsSnapshot["resource_rejections"].Value
	require.True(t, rejections.Known)
	require.Positive(t, rejections.Number)
	require.Contains(t, r.Reason, "2 → 3 workers")
	requireEqualSince(t, patience, time.Now(), 2, s.cutSeen, s.twinSeen)
}

// stream submits one job after another until stop is called.
func (s *story) stream(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(submitEvery)
		defer ticker.Stop()
		for {
			id, err := s.zeta.Submit(ctx, fmt.Sprintf("without-slots-%d", len(s.rejected)), 1)
			if ctx.Err() != nil {
				done <- nil
				return
			}
			if err != nil {
				done <- err
				return
			}
			s.rejected = append(s.rejected, id)
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		t.Helper()
		cancel()
		require.NoError(t, <-done)
		require.NotEmpty(t, s.rejected)
	}
}

func (s *story) pages(t *testing.T) {
	checkMetricsPage(t, waitForPage(t, s.exporter.url("/metrics"), `(?m)^seatunnel_zeta_workers\{cluster="real"\} 2$`))
	checkMetricsPage(t, waitForPage(t, s.cut.url("/metrics"), `(?m)^seatunnel_autoscaler_current_workers\{.*cluster="real".*\} 2$`))
}

func (s *story) grow(t *testing.T) {
	// Which of the stream still finds a slot is up to chance: first let all of
	// it end.
	for _, id := range s.rejected {
		waitForStatus(t, s.zeta, id, "FAILED")
	}
	s.zeta.StartWorkers(s.t, 3)
	s.zeta.WaitForFreeSlots(t, patience, 2)
	// The rejections leave their window of 30 s.
	r := s.cut.waitFor(t, patience, "no more workers for 3", func(d decision) bool {
		return d.Action == scaling.NoAction && d.Current == "3"
	})
	require.NotContains(t, names(r.TriggerConditions), "resource_rejections")
	s.submit(t, 1)
	s.zeta.WaitForFreeSlots(t, patience, 0)
	s.cut.waitForRow(t, patience, scaling.RowTightAlone, scaling.NoAction, 3, 3)
}

func (s *story) stopJobs(t *testing.T) {
	for _, id := range s.jobs {
		require.NoError(t, s.zeta.StopJob(t.Context(), id))
	}
	s.zeta.WaitForFreeSlots(t, patience, 6)
	s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
	s.twin.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
}

// gap cuts the path for longer than the idle window, and a job runs meanwhile.
// A service that had only lived on would be wrong afterwards: with the windows
// from before the cut it would take the cluster for idle at once, with new ones
// too late. Catching up, it agrees with its twin from the first tick on, and
// so about the tick at which the windows are full again.
func (s *story) gap(t *testing.T) {
	s.proxy.Stall()
	s.cut.waitFor(t, patience, "workers unknown", func(d decision) bool { return d.Row == scaling.RowWorkersUnknown })
	began, _ := s.cutSeen.last()
	harness.Wait(t, patience, "the path was cut for longer than a window", func(context.Context) error {
		newest, last := s.cutSeen.last()
		if newest.Sub(began) < idleWindow+3*interval {
			return fmt.Errorf("for %s", newest.Sub(began))
		}
		if last.Row != scaling.RowWorkersUnknown || !last.Provisional {
			return fmt.Errorf("decides %+v in the gap", last)
		}
		return nil
	})
	require.Contains(t, rowsOf(final(s.twinSeen.since(began))), string(scaling.RowIdle), "the twin saw no gap")
	s.submit(t, 1)
	s.twin.waitForRow(t, patience, scaling.RowSteady, scaling.NoAction, 3, 3)
	s.proxy.Refuse() // the second half of a cut that people mend
	refused, _ := s.cutSeen.last()
	harness.Wait(t, patience, "the path refuses connections for two ticks", func(context.Context) error {
		if newest, _ := s.cutSeen.last(); newest.Sub(refused) < 2*interval {
			return fmt.Errorf("newest tick %s", newest)
		}
		return nil
	})
	require.NoError(t, s.zeta.StopJob(t.Context(), s.jobs[len(s.jobs)-1]))
	s.twin.waitForRow(t, patience, scaling.RowSettling, scaling.NoAction, 3, 3)
	require.Equal(t, []string{string(scaling.RowWorkersUnknown)}, rowsOf(s.cutSeen.since(began)))

	s.proxy.Restore()
	lastUnknown := s.untilKnown(t)
	s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
	s.twin.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
	first := requireEqualSince(t, patience, lastUnknown, 4, s.cutSeen, s.twinSeen)
	t.Logf("after the gap the first decision is %s", s.cutSeen.since(lastUnknown)[first].Row)
}

// untilKnown waits until the service that was cut knows its workers again, and
// returns its last tick without an answer.
func (s *story) untilKnown(t *testing.T) time.Time {
	t.Helper()
	s.cut.waitFor(t, patience, "workers known", func(d decision) bool { return d.Row != scaling.RowWorkersUnknown })
	var last time.Time
	for at, d := range s.cutSeen.since(time.Time{}) {
		if d.Provisional && at.After(last) {
			last = at
		}
	}
	return last
}

// restart kills the service. It has kept no window: all of them come from
// Prometheus, and agree with the twin's from the first tick on. That this tick
// is an idle one proves that windows were restored; on a busy machine the
// cluster may just have been silent for a moment, and it is killed again.
func (s *story) restart(t *testing.T) {
	const tries = 3
	for i := 1; ; i++ {
		s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
		_, before := s.cutSeen.last()
		s.cut.Kill()
		killed := time.Now()
		s.cut.start(s.t)
		first := requireEqualSince(t, patience, killed, 4, s.cutSeen, s.twinSeen)
		after := s.cutSeen.since(killed)[first]
		require.Greater(t, after.Epoch, before.Epoch, "a restart is a new epoch")
		require.GreaterOrEqual(t, after.Generation, before.Generation, "generations go on")
		if after.Row == scaling.RowIdle {
			return
		}
		require.Less(t, i, tries, "the windows were not restored: %+v", after)
		t.Logf("the cluster was not idle to either of them, again: %+v", after)
	}
}

// restartPrometheus stops it for longer than a window. The services do not
// lose the scope meanwhile; but no samples were taken, so what must hold
// without a break has to begin again, for both alike.
func (s *story) restartPrometheus(t *testing.T) {
	s.prom.Stop(t)
	s.twin.waitFor(t, patience, "workers unknown", func(d decision) bool { return d.Row == scaling.RowWorkersUnknown })
	began, _ := s.twinSeen.last()
	harness.Wait(t, patience, "Prometheus is down for longer than a window", func(context.Context) error {
		newest, last := s.twinSeen.last()
		if newest.Sub(began) < idleWindow+lookback {
			return fmt.Errorf("for %s", newest.Sub(began))
		}
		if last.Row != scaling.RowWorkersUnknown || !last.Provisional {
			return fmt.Errorf("decides %+v without Prometheus", last)
		}
		return nil
	})
	s.prom.Start(s.t)
	lastUnknown := s.untilKnown(t)
	first := requireEqualSince(t, patience, lastUnknown, 4, s.cutSeen, s.twinSeen)
	require.NotEqual(t, scaling.ScaleInCandidate, s.twinSeen.since(lastUnknown)[first].Action, "the idle windows were broken")
	s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
	s.twin.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 3, 2)
}

// history requires the decisions so far, in order, from the record.
func (s *story) history(t *testing.T) {
	client := api.Client{BaseURL: s.cut.url("")}
	page, err := client.History(t.Context(), api.GetHistoryParams{Limit: 1000})
	require.NoError(t, err)
	var steps []string
	slices.Reverse(page.Entries)
	for _, e := range page.Entries {
		if e.Recommendation.Action != scaling.ScaleInCandidate && e.Recommendation.Action != scaling.ScaleOut {
			continue
		}
		step := fmt.Sprintf("%s %s → %s", e.Recommendation.Action, number(e.Recommendation.CurrentWorkers), number(e.Recommendation.RecommendedWorkers))
		if len(steps) == 0 || steps[len(steps)-1] != step {
			steps = append(steps, step)
		}
	}
	t.Logf("history: %s", strings.Join(steps, ", "))
	// The third worker may register while rejections are still in their window
	// of 30 s; then they ask for a fourth until they leave it.
	steps = slices.DeleteFunc(steps, func(step string) bool { return step == "SCALE_OUT 3 → 4" })
	require.Equal(t, []string{"SCALE_IN_CANDIDATE 2 → 1", "SCALE_OUT 2 → 3", "SCALE_IN_CANDIDATE 3 → 2"}, steps)
}

func (s *story) killWorker(t *testing.T) {
	s.zeta.KillWorker(3)
	s.cut.waitForRow(t, patience, scaling.RowIdle, scaling.ScaleInCandidate, 2, 1)
	requireEqualSince(t, patience, time.Now(), 3, s.cutSeen, s.twinSeen)
}

// freezeWorker is the last stage: a hung worker stays a member for minutes and
// hangs endpoints of the master with it. The exporter must answer all the
// time, and nobody may read silence as idleness.
func (s *story) freezeWorker(t *testing.T) {
	require.NoError(t, s.zeta.Workers[2].Freeze())
	frozen := time.Now()
	var slowest time.Duration
	const watched = 12
	answers, slow := 0, 0
	blind := 0
	last := frozen
	harness.Wait(t, patience, fmt.Sprintf("%d ticks without valid metrics", watched), func(ctx context.Context) error {
		_, took, err := harness.GetTimed(ctx, s.exporter.url("/metrics"))
		require.NoError(t, err, "the exporter answers")
		if slowest = max(slowest, took); took > scrapeLimit {
			slow++
		}
		answers++
		st, err := s.cut.status(ctx)
		require.NoError(t, err)
		r := st.Recommendation
		if r.MetricsValid || !r.ObservedAt.After(last) {
			return fmt.Errorf("%d so far, %s", blind, r.Reason)
		}
		last = r.ObservedAt
		require.NotEqual(t, scaling.ScaleInCandidate, r.Action, "nobody may shrink a cluster that does not answer")
		if blind++; blind < watched {
			return fmt.Errorf("%d so far, %s", blind, r.Reason)
		}
		t.Logf("%s: %s", r.Row, r.Reason)
		return nil
	})
	t.Logf("the slowest of %d answers of the exporter took %s", answers, slowest.Round(time.Millisecond))
	// A busy machine may delay a few; what waits for the master delays all of them.
	require.LessOrEqual(t, slow, 2+answers/10, "the exporter answers in time, not after %s", slowest)
	page, err := harness.Get(t.Context(), s.exporter.url("/metrics"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^seatunnel_zeta_scrape_errors_total\{cluster="real",endpoint="system-monitoring-information"\} [1-9]`, page)
}
