package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func play(t *testing.T, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	o.Once, o.Writer = true, &b
	require.NoError(t, Run(t.Context(), o))
	return b.Bytes()
}

func TestOnceIsTheSameEveryTime(t *testing.T) {
	for _, name := range ScenarioNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The golden files were written by another process.
			golden(t, name+".txt", play(t, Options{Scenario: name}))
			golden(t, name+"-follow.txt", play(t, Options{Scenario: name, Follow: true}))
			o := Options{Scenario: name, Follow: true, Output: JSON, Seed: 7}
			first, second := play(t, o), play(t, o)
			require.Equal(t, string(first), string(second))
		})
	}
}

// recommendations plays a scenario and reads its JSON back.
func recommendations(t *testing.T, o Options) []scaling.Recommendation {
	t.Helper()
	o.Output = JSON
	var list []scaling.Recommendation
	lines := bufio.NewScanner(bytes.NewReader(play(t, o)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r scaling.Recommendation
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&r), lines.Text())
		list = append(list, r)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, list)
	return list
}

// decision is what a scenario promises to show, in this order.
type decision struct {
	row    scaling.RowID
	action scaling.Action
	target int
}

func TestEveryScenarioShowsWhatItIsFor(t *testing.T) {
	for _, test := range []struct {
		name   string
		follow bool
		want   []decision
	}{
		{"burst", false, []decision{
			{scaling.RowTightAlone, scaling.NoAction, 2},
			{scaling.RowShortage, scaling.ScaleOut, 3},
			{scaling.RowIdle, scaling.ScaleInCandidate, 1},
		}},
		{"burst", true, []decision{
			{scaling.RowShortage, scaling.ScaleOut, 3},
			{scaling.RowShortage, scaling.ScaleOut, 4},
			{scaling.RowTightAlone, scaling.NoAction, 4},
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
			{scaling.RowIdleAtMin, scaling.NoAction, 1},
		}},
		{"reject-storm", false, []decision{{scaling.RowShortage, scaling.ScaleOut, 3}}},
		{"reject-storm", true, []decision{
			{scaling.RowShortage, scaling.ScaleOut, 3},
			{scaling.RowShortage, scaling.NoAction, 4}, // at max_workers
		}},
		{"idle-night", false, []decision{
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
			{scaling.RowSteady, scaling.NoAction, 4},
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
		}},
		{"stale-worker", false, []decision{
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
			{scaling.RowIdleStale, scaling.ScaleInBlocked, 4},
			{scaling.RowBlindIdle, scaling.ScaleInBlocked, 4},
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
		}},
		{"drain", false, []decision{
			{scaling.RowIdle, scaling.ScaleInCandidate, 3},
			{scaling.RowIdle, scaling.ScaleInCandidate, 2},
			{scaling.RowSteady, scaling.NoAction, 2},
		}},
		{"unsatisfiable", false, []decision{{scaling.RowUnsatisfiable, scaling.NoAction, 2}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := recommendations(t, Options{Scenario: test.name, Follow: test.follow})
			want := test.want
			for _, r := range got {
				if len(want) > 0 && r.RecommendedWorkers != nil && want[0] == (decision{r.Row, r.Action, *r.RecommendedWorkers}) {
					want = want[1:]
				}
			}
			require.Empty(t, want, "these were not decided in this order")
		})
	}
}

func TestFlapNeverActs(t *testing.T) {
	rows := map[scaling.RowID]bool{}
	for _, r := range recommendations(t, Options{Scenario: "flap", Follow: true}) {
		require.Equal(t, scaling.NoAction, r.Action, r.Reason)
		rows[r.Row] = true
	}
	require.True(t, rows[scaling.RowSettling] && rows[scaling.RowSteady], "%v", rows)
}

func TestUnsatisfiableGivesAdvice(t *testing.T) {
	for _, r := range recommendations(t, Options{Scenario: "unsatisfiable"}) {
		if r.Row == scaling.RowUnsatisfiable {
			require.Contains(t, r.Reason, "max_workers")
			return
		}
	}
	require.Fail(t, "the row did not decide")
}

func TestTimesAreVirtual(t *testing.T) {
	for _, r := range recommendations(t, Options{Scenario: "idle-night"}) {
		require.Equal(t, r.ObservedAt, r.Timestamp)
		require.WithinRange(t, r.Timestamp, start(), start().Add(45*time.Minute))
		require.True(t, r.RecommendationOnly)
	}
}

// watcher keeps what it reads, and stops when it has read a text twice.
type watcher struct {
	read strings.Builder
	text string
	stop context.CancelFunc
}

func (w *watcher) Write(p []byte) (int, error) {
	w.read.Write(p)
	if strings.Count(w.read.String(), w.text) == 2 {
		w.stop()
	}
	return len(p), nil
}

func TestTheStoryBeginsAgainUntilStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watcher{text: "the story begins again", stop: cancel}
	d, err := newSimulation(ctx, Options{Scenario: "unsatisfiable", Speed: MaxSpeed, Writer: w}, prometheus.NewRegistry())
	require.NoError(t, err)
	require.NoError(t, d.run(ctx))
	require.Equal(t, 2, strings.Count(w.read.String(), w.text), w.read.String())
	require.Regexp(t, `^scenario unsatisfiable: the head of .*
25m of virtual time, 3600 times as fast as real time; .*
time      action             workers row                reason
00:00:25  NO_ACTION          2 → 2   settling           looks idle`, w.read.String(), "somebody who sees it first is told what it is, once")
	require.Len(t, d.board.Evaluations(), 1)
	require.False(t, d.clock.Now().Before(start().Add(49*time.Minute)))

	// What others see of it: PromQL, metrics, the exporter's page and the API.
	v, err := d.engine.Instant(t.Context(), `up{job="zeta"} + on () up{job="zeta-exporter"}`, d.clock.Now())
	require.NoError(t, err)
	require.Len(t, v.Samples, 1)
	require.InDelta(t, 2, v.Samples[0].Value, 0)
	families, err := d.world.monitoring.Exporter().Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	rec := httptest.NewRecorder()
	d.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Contains(t, rec.Body.String(), "\nseatunnel_autoscaler_recommended_workers{")
	rec = httptest.NewRecorder()
	d.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/webhook/alertmanager", nil))
	require.Equal(t, http.StatusNotImplemented, rec.Code, "what is not carried out is not asked for")
	require.NoError(t, d.close())
}

// The job that no number of workers could run is named, from what the exporter says
// of the simulated queue.
func TestTheJobThatWaitsIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d, err := newSimulation(ctx, Options{Scenario: "unsatisfiable", Once: true, Writer: &untilRead{text: "more workers would not help", stop: cancel}}, prometheus.NewRegistry())
	require.NoError(t, err)
	require.NoError(t, d.run(ctx))
	evaluations := d.board.Evaluations()
	require.Len(t, evaluations, 1)
	require.Equal(t, scaling.RowUnsatisfiable, evaluations[0].Recommendation.Row)
	require.NotNil(t, evaluations[0].FirstInQueue)
	require.Regexp(t, `^job \d+ needs 10 slots, lacks 10, waits 5m15s$`, evaluations[0].FirstInQueue.String())
	require.NoError(t, d.close())
}

// untilRead stops when it has read a text.
type untilRead struct {
	text string
	stop context.CancelFunc
}

func (w *untilRead) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.stop()
	}
	return len(p), nil
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		`unknown scenario "boom", expected one of burst, reject-storm, idle-night, stale-worker, unsatisfiable, flap`: {Scenario: "boom", Once: true},
		"speed is -1":     {Speed: -1},
		"speed is 1e+09":  {Speed: 1e9},
		`output is "xml"`: {Output: "xml"},
	} {
		require.ErrorContains(t, Run(t.Context(), o), want)
	}
}

type brokenPipe struct{ lines int }

var errPipe = errors.New("broken pipe")

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.lines--; p.lines < 0 {
		return 0, errPipe
	}
	return len(b), nil
}

func TestARunEndsWhenNobodyReads(t *testing.T) {
	require.ErrorIs(t, Run(t.Context(), Options{Once: true, Writer: &brokenPipe{2}}), errPipe)
	require.ErrorIs(t, Run(t.Context(), Options{Once: true, Writer: &brokenPipe{4}, Output: JSON}), errPipe)
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, Run(ctx, Options{}))
}
