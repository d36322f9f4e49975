package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
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
	start := time.Date(2031, time.May, 5, 5, 0, 0, 0, time.UTC)
	for _, r := range recommendations(t, Options{Scenario: "idle-night", Start: start, Cluster: "night"}) {
		require.Equal(t, "night", r.Scope)
		require.Equal(t, r.ObservedAt, r.Timestamp)
		require.WithinRange(t, r.Timestamp, start, start.Add(45*time.Minute))
		require.True(t, r.RecommendationOnly)
	}
}

// stopper is a Publisher that ends a run at a virtual time.
type stopper struct {
	at   time.Time
	stop context.CancelFunc
}

func (s stopper) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	for i := range evaluations {
		if !evaluations[i].Tick.Before(s.at) {
			s.stop()
		}
	}
}

func TestTheStoryBeginsAgainUntilStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b bytes.Buffer
	board := evaluator.NewBoard(1)
	d, err := New(Options{
		Scenario: "unsatisfiable", Speed: MaxSpeed, Writer: &b,
		Publishers: []evaluator.Publisher{board, stopper{DefaultStart().Add(time.Hour), cancel}},
	})
	require.NoError(t, err)
	require.NoError(t, d.Run(ctx))
	require.Equal(t, 2, strings.Count(b.String(), "the story begins again"), b.String())
	require.Regexp(t, `^scenario unsatisfiable: the head of .*
25m of virtual time, 3600 times as fast as real time; .*
time      action             workers row                reason
00:00:25  NO_ACTION          2 → 2   settling           looks idle`, b.String(), "somebody who sees it first is told what it is, once")
	require.Len(t, board.Evaluations(), 1)
	require.False(t, d.Clock().Now().Before(DefaultStart().Add(time.Hour)))

	// What others see of it: PromQL, the exporter's page and the master's API.
	v, err := d.Source().Instant(t.Context(), `up{job="zeta"} + on () up{job="zeta-exporter"}`, d.Clock().Now())
	require.NoError(t, err)
	require.Len(t, v.Samples, 1)
	require.InDelta(t, 2, v.Samples[0].Value, 0)
	families, err := d.Exporter().Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	rec := httptest.NewRecorder()
	d.Zeta().ServeHTTP(rec, httptest.NewRequest("GET", "/overview", nil))
	require.Contains(t, rec.Body.String(), `"workers":"2"`)
	require.Equal(t, d.o.RuleSet.Name, d.Config().DefaultRuleSet)
	require.NoError(t, d.Close())
}

func TestVirtualTimePassesAtItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{speed: 20, began: time.Now(), start: DefaultStart()}
		began := time.Now()
		require.NoError(t, c.pace(t.Context(), DefaultStart().Add(time.Minute)))
		require.Equal(t, 3*time.Second, time.Since(began))
		require.NoError(t, c.pace(t.Context(), DefaultStart()), "the past is due")
		require.Equal(t, 3*time.Second, time.Since(began))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, c.pace(ctx, DefaultStart().Add(time.Hour)), context.Canceled)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	pack, _, err := rules.Pack(DefaultPack)
	require.NoError(t, err)
	other := *pack
	other.ScopeBy = []string{"region"}
	for want, o := range map[string]Options{
		`unknown scenario "boom", expected one of burst, reject-storm, idle-night, stale-worker, unsatisfiable, flap`: {Scenario: "boom", Once: true},
		"speed is -1":         {Speed: -1},
		"speed is 1e+09":      {Speed: 1e9},
		`output is "xml"`:     {Output: "xml"},
		"has scope_by region": {RuleSet: &other},
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
