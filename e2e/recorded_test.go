package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// phase is a state of a recorded cluster and for how long it lasts.
type phase struct {
	state string
	lasts time.Duration
}

// What a real Zeta 2.3.13 replied, from the exporter's collector over the
// text format and PromQL to the decision of the pack that serve uses without
// rule sets.
func TestRecordedStatesOfZeta2313(t *testing.T) {
	const long = 12 * time.Minute // fills every window of the pack
	for name, tc := range map[string]struct {
		phases []phase
		max    int
		want   decision
		// blockers and reason are what the recommendation has to say.
		blockers []string
		reason   string
	}{
		"idle": {
			phases: []phase{{"idle", long}},
			want:   decision{Row: scaling.RowIdle, Action: scaling.ScaleInCandidate, Current: "2", Target: "1"},
		},
		"all slots busy": {
			phases: []phase{{"full", long}},
			want:   decision{Row: scaling.RowTightAlone, Action: scaling.NoAction, Current: "2", Target: "2", Triggers: "slot_utilization"},
		},
		"a job waits": {
			phases: []phase{{"idle", long}, {"pending", long}},
			want:   decision{Row: scaling.RowShortage, Action: scaling.ScaleOut, Current: "2", Target: "3", Triggers: "unsatisfied_slots slot_utilization"},
			reason: "2 → 3 workers",
		},
		"a job waits, not for long enough": {
			phases: []phase{{"idle", long}, {"pending", 4 * time.Minute}},
			want:   decision{Row: scaling.RowSteady, Action: scaling.NoAction, Current: "2", Target: "2"},
		},
		"a job too big for the most that may be": {
			phases: []phase{{"hol-head-unsatisfiable", long}}, max: 4,
			want:     decision{Row: scaling.RowUnsatisfiable, Action: scaling.NoAction, Current: "3", Target: "3", Triggers: "unsatisfied_slots slot_utilization"},
			blockers: []string{"head_job_too_big"},
		},
		"a job too big for now": {
			phases: []phase{{"hol-head-unsatisfiable", long}}, max: 5,
			want: decision{Row: scaling.RowShortage, Action: scaling.ScaleOut, Current: "3", Target: "4", Triggers: "unsatisfied_slots slot_utilization"},
		},
		"a history that answers 500 once a job was rejected": {
			phases: []phase{{"idle", long}, {"reject", long}},
			want:   decision{Row: scaling.RowTightAlone, Action: scaling.NoAction, Current: "1", Target: "1", Triggers: "slot_utilization"},
		},
		"full slots of a dynamic worker mean nothing": {
			phases:   []phase{{"dynamic-busy", long}},
			want:     decision{Row: scaling.RowIdleAtMin, Action: scaling.NoAction, Current: "1", Target: "1"},
			blockers: []string{"min_workers"},
		},
		"a master that starts": {
			phases:   []phase{{"idle", long}, {"master-starting", time.Minute}},
			want:     decision{Row: scaling.RowWorkersUnknown, Action: scaling.NoAction, Current: "unknown", Target: "unknown"},
			blockers: []string{"workers_unknown"},
		},
		"a master that is gone": {
			phases:   []phase{{"idle", long}, {"master-down", time.Minute}},
			want:     decision{Row: scaling.RowWorkersUnknown, Action: scaling.NoAction, Current: "unknown", Target: "unknown"},
			blockers: []string{"workers_unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.max == 0 {
				tc.max = 10
			}
			got := decideOver(t, "2.3.13", tc.phases, tc.max)
			require.Equal(t, tc.want, decisionOf(got), got.Reason)
			require.ElementsMatch(t, tc.blockers, names(got.BlockingConditions), got.Reason)
			require.Contains(t, got.Reason, tc.reason)
			t.Log(got.Reason)
		})
	}
}

// A version in which jobs can wait unseen is idle for nobody, however little it
// does.
func TestRecordedStatesOfZeta239(t *testing.T) {
	const long = 12 * time.Minute
	idle := decideOver(t, "2.3.9-dev", []phase{{"idle", long}}, 10)
	require.Equal(t, decision{Row: scaling.RowIdleStale, Action: scaling.ScaleInBlocked, Current: "2", Target: "2"}, decisionOf(idle), idle.Reason)
	require.Equal(t, []string{"metrics_missing"}, names(idle.BlockingConditions))
	require.Contains(t, idle.Reason, "blocked jobs is UNKNOWN")
	busy := decideOver(t, "2.3.9-dev", []phase{{"busy", long}}, 10)
	require.Equal(t, decision{Row: scaling.RowSteady, Action: scaling.NoAction, Current: "2", Target: "2"}, decisionOf(busy), busy.Reason)
	require.False(t, busy.MetricsValid)
}

// decideOver scrapes a recorded cluster through its phases on a virtual clock
// and returns the last decision.
func decideOver(t *testing.T, version string, phases []phase, maxWorkers int) scaling.Recommendation {
	t.Helper()
	rs, _, err := rules.Pack("zeta-auto")
	require.NoError(t, err)
	db, err := source.OpenTemporary(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	engine, err := source.NewEngine(source.EngineOptions{Timeout: time.Minute, MaxSamples: 1e6, LookbackDelta: 5 * time.Minute}, db)
	require.NoError(t, err)

	start := time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC)
	now, recorded := start, &recording{}
	collector, err := zeta.NewCollector(zeta.CollectorOptions{
		Cluster:   zeta.ClusterConfig{Name: clusterName, URLs: []string{"http://master:8080"}},
		Transport: recorded, Clock: func() time.Time { return now },
	})
	require.NoError(t, err)
	t.Cleanup(collector.Close)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	target := db.Target(labels.FromStrings("job", "zeta", "instance", "exporter:9881"))
	for _, p := range phases {
		recorded.dir = filepath.Join("..", "zeta", "testdata", "replies", version, p.state)
		require.DirExists(t, recorded.dir)
		for end := now.Add(p.lasts); now.Before(end); now = now.Add(rs.Interval) {
			_, err := target.AppendText("", gather(t, registry), now, 0)
			require.NoError(t, err)
		}
	}

	var last scaling.Recommendation
	err = evaluator.Replay(t.Context(), engine, evaluator.ReplayOptions{
		RuleSet: rs, Start: start, End: now.Add(-rs.Interval),
		Limits: func(scaling.Scope, time.Time) scaling.Limits {
			return scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: maxWorkers}, Mode: scaling.Advisory}
		},
	}, func(_ time.Time, evaluations []scaling.Evaluation) error {
		if len(evaluations) != 1 {
			return fmt.Errorf("%d scopes, want 1", len(evaluations))
		}
		last = evaluations[0].Recommendation
		return nil
	})
	require.NoError(t, err)
	return last
}

// gather is one page of metrics, as Prometheus would get it.
func gather(t *testing.T, g prometheus.Gatherer) []byte {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	var page bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&page, f)
		require.NoError(t, err)
	}
	return page.Bytes()
}

// recording answers from the recorded replies of a state; an endpoint without
// a file refuses connections.
type recording struct{ dir string }

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, context.Cause(req.Context())
	}
	file := filepath.Join(r.dir, "v2-"+req.URL.Port()+strings.ReplaceAll(req.URL.Path, "/", "-"))
	for _, whole := range []string{file + ".txt", file + "-1.txt"} {
		if b, err := os.ReadFile(whole); err == nil {
			return http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), req)
		}
	}
	body, err := os.ReadFile(file + ".json")
	if err != nil {
		return nil, syscall.ECONNREFUSED
	}
	if head, err := os.ReadFile(file + ".headers"); err == nil {
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(append(head, body...))), req)
	}
	status := http.StatusOK
	if bytes.Contains(body, []byte("HTTP ERROR 404")) {
		status = http.StatusNotFound
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}
