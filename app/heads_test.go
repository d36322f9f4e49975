package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

var headTick = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// waiting is a scope in which a job has waited for longer than a threshold.
func waiting(tick time.Time, ls ...scaling.Label) scaling.Evaluation {
	return scaling.Evaluation{
		Scope: scaling.NewScope(ls), Tick: tick, AskedAt: tick, Interval: 30,
		Recommendation: scaling.Recommendation{RuleSet: scaling.RuleSetRef{Name: "zeta-auto"}, ObservedAt: tick},
		Inputs: []scaling.Input{{
			Name: "oldest_blocked_age", Class: scaling.Blocking, Applies: true,
			Windows: []scaling.Window{{Direction: scaling.Out, Truth: "true"}, {Direction: scaling.In, Truth: "false"}},
		}},
	}
}

func cluster(name string) scaling.Label { return scaling.Label{Name: "cluster", Value: name} }

// told are the evaluations that somebody behind heads was told.
type told struct {
	evaluations []scaling.Evaluation
	gone        []scaling.Scope
}

func (p *told) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	p.evaluations = append(p.evaluations, slices.Clone(evaluations)...)
	p.gone = append(p.gone, gone...)
}

// Which job is named, by what a real engine finds of the exporter's series.
func TestFirstInQueue(t *testing.T) {
	const info, required, lacking, waited = "seatunnel_zeta_pending_head_info", "seatunnel_zeta_pending_head_required_slots",
		"seatunnel_zeta_pending_head_lacking_slots", "seatunnel_zeta_pending_job_oldest_seconds"
	of := func(name, more string) string {
		return name + `{cluster="prod",instance="a:9881",job="zeta"` + more + `}`
	}
	whole := map[string]string{
		of(info, `,job_id="117",reason="RESOURCE_NOT_ENOUGH"`): "1x20",
		of(required, ""): "4x20", of(lacking, ""): "2x20", of(waited, ""): "0+15x20",
	}
	with := func(more map[string]string) map[string]string {
		out := maps.Clone(whole)
		maps.Copy(out, more)
		return out
	}
	byCluster := []scaling.Label{cluster("prod")}
	for name, tc := range map[string]struct {
		series map[string]string // every 15 s, the 21st at the tick
		scope  []scaling.Label
		want   string // empty for nobody
	}{
		"all figures":                            {whole, byCluster, "job 117 needs 4 slots, lacks 2, waits 5m"},
		"of another cluster":                     {whole, []scaling.Label{cluster("other")}, ""},
		"the only scope":                         {whole, nil, "job 117 needs 4 slots, lacks 2, waits 5m"},
		"a scope by labels that the series have": {whole, []scaling.Label{cluster("prod"), {Name: "job", Value: "zeta"}}, "job 117 needs 4 slots, lacks 2, waits 5m"},
		"a scope by a label that they lack":      {whole, []scaling.Label{cluster("prod"), {Name: "pool", Value: "x"}}, ""},
		"the job alone":                          {map[string]string{of(info, `,job_id="117",reason="unknown"`): "1x20"}, byCluster, "job 117"},
		"no job":                                 {map[string]string{of(lacking, ""): "2x20", of(waited, ""): "0+15x20", of(required, ""): "4x20"}, byCluster, ""},
		"another cluster that waits for nothing": {
			with(map[string]string{`seatunnel_zeta_pending_head_lacking_slots{cluster="idle",instance="a:9881",job="zeta"}`: "0x20"}), nil,
			"job 117 needs 4 slots, lacks 2, waits 5m",
		},
		"the younger of two that agree": {
			with(map[string]string{
				`seatunnel_zeta_pending_head_info{cluster="prod",instance="b:9881",job="zeta",job_id="117",reason="RESOURCE_NOT_ENOUGH"}`: "1x18",
				`seatunnel_zeta_pending_head_required_slots{cluster="prod",instance="b:9881",job="zeta"}`:                                 "9x18",
			}), byCluster, "job 117 needs 4 slots, lacks 2, waits 5m",
		},
		"two exporters that do not agree": {
			with(map[string]string{`seatunnel_zeta_pending_head_info{cluster="prod",instance="b:9881",job="zeta",job_id="118",reason="RESOURCE_NOT_ENOUGH"}`: "1x20"}), byCluster, "",
		},
		"two clusters of one name": {
			with(map[string]string{`seatunnel_zeta_pending_head_info{cluster="prod",exported_cluster="x",instance="a:9881",job="zeta",job_id="118",reason="RESOURCE_NOT_ENOUGH"}`: "1x20"}), byCluster, "",
		},
		"two jobs of one exporter": {with(map[string]string{of(info, `,job_id="118",reason="RESOURCE_NOT_ENOUGH"`): "1x20"}), byCluster, ""},
		"the job before it, whose series has ended": {
			with(map[string]string{of(info, `,job_id="118",reason="RESOURCE_NOT_ENOUGH"`): "1x18 stale"}), byCluster, "job 117 needs 4 slots, lacks 2, waits 5m",
		},
		"an exporter that has just missed a scrape":          {map[string]string{of(info, `,job_id="117",reason="x"`): "1x19 stale"}, byCluster, ""},
		"an exporter that is gone without a word for 90 s":   {map[string]string{of(info, `,job_id="117",reason="x"`): "1x14"}, byCluster, "job 117"},
		"an exporter that is gone without a word for longer": {map[string]string{of(info, `,job_id="117",reason="x"`): "1x13"}, byCluster, ""},
		"a job without an id":                                {map[string]string{of(info, `,job_id="unknown",reason="x"`): "1x20"}, byCluster, ""},
		"an id that is no id":                                {map[string]string{of(info, `,job_id="`+strings.Repeat("1", 65)+`",reason="x"`): "1x20"}, byCluster, ""},
		"a hostile id is text":                               {map[string]string{of(info, `,job_id="<script>alert(1)</script>",reason="x"`): "1x20"}, byCluster, "job <script>alert(1)</script>"},
		"numbers that are none":                              {map[string]string{of(info, `,job_id="117",reason="x"`): "1x20", of(required, ""): "2.5x20", of(lacking, ""): "-1x20", of(waited, ""): "1e300x20"}, byCluster, "job 117"},
	} {
		t.Run(name, func(t *testing.T) {
			ev := nameIn(t, tc.series, tc.scope)
			if tc.want == "" {
				require.Nil(t, ev.FirstInQueue)
				return
			}
			require.NotNil(t, ev.FirstInQueue)
			require.Equal(t, tc.want, ev.FirstInQueue.String())
			require.Contains(t, []time.Time{headTick, headTick.Add(-90 * time.Second)}, ev.FirstInQueue.ObservedAt)
		})
	}
	require.Equal(t, "RESOURCE_NOT_ENOUGH", nameIn(t, whole, byCluster).FirstInQueue.Reason)
}

// nameIn is a scope whose jobs wait, on its way past series in a real engine.
func nameIn(t *testing.T, series map[string]string, scope []scaling.Label) scaling.Evaluation {
	t.Helper()
	db, err := source.OpenTemporary("", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for s, values := range series {
		require.NoError(t, db.Load(headTick.Add(-5*time.Minute), 15*time.Second, source.Notation{Series: s, Values: values}))
	}
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	out := &told{}
	var log bytes.Buffer
	newHeads(engine, time.Minute, slog.New(slog.NewTextHandler(&log, nil)), []evaluator.Publisher{out}).
		Publish(t.Context(), []scaling.Evaluation{waiting(headTick, scope...)}, nil)
	require.Empty(t, log.String())
	require.Len(t, out.evaluations, 1)
	return out.evaluations[0]
}

// asked is a source that counts and answers as it is told.
type asked struct {
	at     []time.Time
	answer func(context.Context) (source.Vector, error)
}

func (a *asked) Instant(ctx context.Context, _ string, at time.Time) (source.Vector, error) {
	a.at = append(a.at, at)
	return a.answer(ctx)
}

func (a *asked) Range(context.Context, string, source.Window) (source.Matrix, error) {
	return source.Matrix{}, errors.New("no range is asked for")
}

// headOf is an answer about one job of prod.
func headOf(id string) source.Vector {
	return source.Vector{Samples: []source.Sample{{Labels: labels.FromStrings("cluster", "prod", "job_id", id, "reason", "x", figureLabel, "age")}}}
}

func TestFirstInQueueIsAskedForOnceATickAndOnlyWhileJobsWait(t *testing.T) {
	src := &asked{answer: func(context.Context) (source.Vector, error) { return headOf("117"), nil }}
	out := &told{}
	h := newHeads(src, time.Second, slog.New(slog.DiscardHandler), []evaluator.Publisher{out})
	publish := func(evaluations ...scaling.Evaluation) []scaling.Evaluation {
		out.evaluations = nil
		h.Publish(t.Context(), evaluations, nil)
		require.Len(t, out.evaluations, len(evaluations))
		return out.evaluations
	}
	calm := waiting(headTick, cluster("prod"))
	calm.Inputs[0].Windows[0].Truth = "false"
	off := waiting(headTick, cluster("prod"))
	off.Inputs[0].Applies = false
	hot := waiting(headTick, cluster("prod"))
	hot.Inputs[0].Class = scaling.Saturation
	unknown := waiting(headTick, cluster("prod"))
	unknown.Provisional = true
	for _, ev := range publish(calm, off, hot, unknown) {
		require.Nil(t, ev.FirstInQueue)
	}
	require.Empty(t, src.at, "nobody waits")

	got := publish(calm, waiting(headTick, cluster("prod")), waiting(headTick, cluster("other")))
	require.Nil(t, got[0].FirstInQueue)
	require.Equal(t, "117", got[1].FirstInQueue.JobID)
	require.Nil(t, got[2].FirstInQueue)
	require.Equal(t, "117", publish(waiting(headTick, cluster("prod")))[0].FirstInQueue.JobID, "a second piece of the tick")
	require.Equal(t, []time.Time{headTick}, src.at)

	late := waiting(headTick.Add(30*time.Second), cluster("prod"))
	late.AskedAt = headTick.Add(20 * time.Second)
	require.Equal(t, headTick.Add(20*time.Second), publish(late)[0].FirstInQueue.ObservedAt)
	require.Equal(t, []time.Time{headTick, headTick.Add(20 * time.Second)}, src.at, "as the rule set's own expressions are asked")

	h.Publish(t.Context(), nil, []scaling.Scope{{Key: "prod"}})
	require.Equal(t, []scaling.Scope{{Key: "prod"}}, out.gone)
}

// What fails is not asked again for a while, and never shown from before.
func TestFirstInQueueRestsAfterAFailure(t *testing.T) {
	for name, bad := range map[string]source.Vector{
		"an error":         {},
		"a partial answer": {Samples: headOf("117").Samples, Warnings: []string{"a store is away"}},
		"too many series":  {Samples: make([]source.Sample, maxHeadSamples+1)},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			src := &asked{answer: func(context.Context) (source.Vector, error) { return headOf("117"), nil }}
			out := &told{}
			var log bytes.Buffer
			h := newHeads(src, time.Second, slog.New(slog.NewTextHandler(&log, nil)), []evaluator.Publisher{out})
			tick := headTick
			next := func() *scaling.QueueHead {
				out.evaluations = nil
				h.Publish(t.Context(), []scaling.Evaluation{waiting(tick, cluster("prod"))}, nil)
				tick = tick.Add(30 * time.Second)
				return out.evaluations[0].FirstInQueue
			}
			require.NotNil(t, next())
			if name == "an error" {
				err = errors.New("boom")
			}
			src.answer = func(context.Context) (source.Vector, error) { return bad, err }
			src.at = nil
			for range 13 {
				require.Nil(t, next())
			}
			failed := headTick.Add(30 * time.Second)
			require.Equal(t, []time.Time{failed, failed.Add(time.Minute), failed.Add(3 * time.Minute)}, src.at)
			src.answer = func(context.Context) (source.Vector, error) { return headOf("118"), nil }
			for src.at = nil; len(src.at) == 0; {
				if got := next(); got != nil {
					require.Equal(t, "118", got.JobID)
				}
			}
			require.NotNil(t, next(), "all is well again")
			require.Equal(t, 1, strings.Count(log.String(), "cannot be read"), "%s", &log)
			require.Equal(t, 1, strings.Count(log.String(), "are read again"), "%s", &log)

			// A clock that was set back by days does not make it rest for days.
			src.answer = func(context.Context) (source.Vector, error) { return source.Vector{}, errors.New("boom") }
			require.Nil(t, next())
			tick, src.answer = tick.Add(-48*time.Hour), func(context.Context) (source.Vector, error) { return headOf("119"), nil }
			require.Equal(t, "119", next().JobID)
		})
	}
}

// A Prometheus that hangs delays nobody for long, is not told that it timed out,
// and changes nothing but the name.
func TestFirstInQueueIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		src := &asked{answer: func(ctx context.Context) (source.Vector, error) {
			<-ctx.Done()
			ended = ctx.Err()
			return source.Vector{}, source.NoAnswer(ctx.Err())
		}}
		out := &told{}
		var log bytes.Buffer
		h := newHeads(src, headPatience, slog.New(slog.NewTextHandler(&log, nil)), []evaluator.Publisher{out})
		began := time.Now()
		want := waiting(headTick, cluster("prod"))
		h.Publish(t.Context(), []scaling.Evaluation{want}, nil)
		require.Equal(t, headPatience, time.Since(began))
		require.Equal(t, []scaling.Evaluation{want}, out.evaluations)
		require.ErrorIs(t, ended, context.Canceled, "a time-out would make Prometheus look dead, and another replica be asked")
		require.Contains(t, log.String(), "no answer within 1s")

		quick := waiting(headTick.Add(time.Hour), cluster("prod"))
		quick.Interval = 1
		began = time.Now()
		h.Publish(t.Context(), []scaling.Evaluation{quick}, nil)
		require.Equal(t, time.Second/4, time.Since(began), "a rule set that ticks every second has less patience")

		// A term that ends has no failure.
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, end)
		again := newHeads(src, headPatience, slog.New(slog.NewTextHandler(&log, nil)), []evaluator.Publisher{out})
		log.Reset()
		again.Publish(ctx, []scaling.Evaluation{want}, nil)
		require.Empty(t, log.String())
		require.Len(t, out.evaluations, 3)
	})
}

// Rule sets with other labels are asked for by themselves, and answers of rule
// sets that are gone are not kept.
func TestFirstInQueueByRuleSet(t *testing.T) {
	src := &asked{answer: func(context.Context) (source.Vector, error) { return headOf("117"), nil }}
	h := newHeads(src, time.Second, slog.New(slog.DiscardHandler), nil)
	one, two := waiting(headTick, cluster("prod")), waiting(headTick)
	two.Recommendation.RuleSet.Name = "whole"
	h.Publish(t.Context(), []scaling.Evaluation{one}, nil)
	h.Publish(t.Context(), []scaling.Evaluation{two}, nil)
	require.Len(t, src.at, 2)
	require.Len(t, h.answers, 2)
	h.Publish(t.Context(), []scaling.Evaluation{waiting(headTick.Add(time.Hour), cluster("prod"))}, nil)
	require.Len(t, h.answers, 1)
}
