package peers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// view is a cluster of workers with four slots each, of 1 to 100 workers.
func view(now time.Duration, workers, used, waiting int) simulate.View {
	v := simulate.View{Now: now, Workers: workers, SlotsPerWorker: 4, SlotsUsed: used, SlotsWaiting: waiting, Min: 1, Max: 100}
	if waiting > 0 {
		v.JobsWaiting, v.HeadLacking = 1, min(waiting, 4)
	}
	return v
}

// play asks a model at every step of its own, with the cluster following at once.
func play(m simulate.Model, from, to time.Duration, v simulate.View) []int {
	var out []int
	for v.Now = from; v.Now <= to; v.Now += m.Every() {
		v.Workers = m.Want(v)
		out = append(out, v.Workers)
	}
	return out
}

func TestEveryModelHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		m := p.New()
		require.Equal(t, p.Name, m.Name())
		require.NotEmpty(t, p.Summary)
		require.Positive(t, m.Every())
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
	}
}

// Whatever a cluster looks like, a model answers within reason, and the same again.
func TestModelsAreTotalAndRepeatable(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := p.New(), p.New()
				now := time.Duration(0)
				for range rapid.IntRange(1, 60).Draw(t, "steps") {
					v := anyView(t, now)
					want := a.Want(v)
					require.Equal(t, want, b.Want(v))
					require.GreaterOrEqual(t, want, 0)
					require.LessOrEqual(t, want, max(v.Max, v.Workers+v.Booting))
					now += a.Every()
				}
			})
		})
	}
}

func anyView(t *rapid.T, now time.Duration) simulate.View {
	v := simulate.View{
		Now: now, Workers: rapid.IntRange(0, 20).Draw(t, "workers"), Booting: rapid.IntRange(0, 5).Draw(t, "booting"),
		SlotsPerWorker: rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "slots"), CPU: rapid.Float64Range(0, 1).Draw(t, "cpu"),
		SlotsWaiting: rapid.IntRange(0, 50).Draw(t, "waiting"), RejectedTotal: int(now / time.Hour), Max: 25,
	}
	v.Min = rapid.IntRange(0, 2).Draw(t, "min")
	v.SlotsUsed = rapid.IntRange(0, v.Workers*max(1, v.SlotsPerWorker)).Draw(t, "used")
	if v.SlotsWaiting > 0 {
		v.JobsWaiting = 1
	}
	for i := range rapid.IntRange(0, v.Workers).Draw(t, "idle") {
		v.Idle = append(v.Idle, time.Hour/time.Duration(i+1))
	}
	return v
}

// "If the current metric value is 200m, and the desired value is 100m, the number
// of replicas will be doubled … If the current value is instead 50m, you'll halve
// the number of replicas … skips any scaling action if the ratio is sufficiently
// close to 1.0" (Horizontal Pod Autoscaling, Algorithm details). A rise from 75 %
// to 90 % of 50 replicas makes 60 (Kubernetes blog, 2025-04-28).
func TestHPAFormula(t *testing.T) {
	require.Equal(t, 8, average(4, 0, 200, 100))
	require.Equal(t, 2, average(4, 0, 50, 100))
	require.Equal(t, 4, average(4, 0, 109, 100))
	require.Equal(t, 60, average(50, 0, 90, 75))
	// "the controller conservatively assumes that the not-yet-ready Pods are consuming
	// 0% of the desired metric, further dampening the magnitude of a scale up"
	require.Equal(t, 6, average(5, 1, 96, 80), "5.76 of 6 is within the tolerance")
	require.Equal(t, 8, average(5, 1, 120, 80))
	require.Equal(t, 3, average(5, 1, 40, 80), "going down they are not looked at")

	require.Equal(t, 10, external(4, 40, 4), "one worker for each four slots")
	require.Equal(t, 10, external(10, 43.9, 4), "less than a tenth more is within the tolerance")
	require.Equal(t, 10, external(10, 44, 4), "and so is a tenth more")
	require.Equal(t, 12, external(10, 45, 4))
}

// "80 replicas and the target has to be scaled down to 10 … during the first step 8
// replicas will be reduced. In the next iteration when the number of replicas is
// 72, 10% of the pods is 7.2 but the number is rounded up to 8 … When the number of
// replicas falls below 40 the first policy (Pods) is applied and 4 replicas will be
// reduced at a time" (Scaling policies).
func TestHPAPolicies(t *testing.T) {
	h := newHPA("", demanded)
	h.down = direction{policies: []policy{{pods: 4, period: time.Minute}, {percent: 10, period: time.Minute}}}
	var got []int
	for now, n := time.Duration(0), 80; n > 10; now += time.Minute {
		next := h.limit(now, n, 10)
		h.events = append(h.events, event{now, next - n})
		n = next
		got = append(got, n)
	}
	require.Equal(t, []int{72, 64, 57, 51, 45, 40, 36, 32, 28, 24, 20, 16, 12, 10}, got)
}

// The default behavior: up by 4 or double every 15 s, at once; down to the greatest
// of the last 300 s.
func TestHPADefaultBehavior(t *testing.T) {
	h := newHPA("hpa-queue", demanded)
	require.Equal(t, []int{5, 10, 20, 25, 25}, play(h, 0, time.Minute, view(0, 1, 0, 100)))

	quiet := play(h, 75*time.Second, 400*time.Second, view(0, 25, 8, 0))
	require.Equal(t, 25, quiet[18], "345 s: 285 s since the last wish for 25")
	require.Equal(t, 2, quiet[19], "360 s")
}

func TestHPAOnSlotsSeesTheHeadOfTheQueueOnly(t *testing.T) {
	h := newHPA("hpa-slots", proven)
	require.Equal(t, 5, h.desired(view(0, 4, 16, 40)), "16 slots and 4 lacking, whoever waits behind")
	require.Equal(t, 5, h.desired(view(0, 4, 9, 40)), "some are free, and too few")
	require.Equal(t, 3, h.desired(view(0, 4, 9, 0)))
	require.Equal(t, 2, h.desired(simulate.View{Workers: 4, CPU: 0.3, Max: 9}), "no slots to count: CPU")
}

// "pollingInterval … default: 30 seconds"; "cooldownPeriod … the period to wait
// after the last trigger reported active before scaling the resource back to 0 …
// default: 300 seconds"; from 1 on the HPA scales.
func TestKEDA(t *testing.T) {
	k := newKEDA()
	v := view(0, 0, 0, 0)
	v.Min = 0
	require.Zero(t, k.Want(v))
	v.Now, v.SlotsWaiting = 15*time.Second, 8
	require.Zero(t, k.Want(v), "not polled again yet")
	v.Now = 30 * time.Second
	require.Equal(t, 1, k.Want(v), "activated")
	v.Now, v.Workers = 60*time.Second, 1
	require.Equal(t, 2, k.Want(v), "the HPA beneath")

	v.SlotsWaiting, v.Workers = 0, 2
	for v.Now = 75 * time.Second; v.Now < 360*time.Second; v.Now += 15 * time.Second {
		require.Equal(t, 2, k.Want(v), "%s after the last activity", v.Now-60*time.Second)
	}
	require.Zero(t, k.Want(v), "300 s after the last activity")
}

// The cases of JobVertexScalerTest.testParallelismScaling in
// apache/flink-kubernetes-operator that do not depend on a maximum parallelism to
// divide: parallelism, target data rate, true processing rate, target utilization.
func TestFlinkFormula(t *testing.T) {
	for _, c := range []struct {
		parallelism      int
		rate, trueRate   float64
		utilization      float64
		down, up, expect float64
	}{
		{10, 50, 100, 1, 1, 1e9, 5},
		{10, 80, 100, 0.8, 1, 1e9, 10},
		{10, 60, 100, 0.8, 1, 1e9, 8},
		{10, 59, 100, 0.8, 1, 1e9, 8},
		{2, 100, 40, 0.5, 1, 1e9, 10},
		{2, 100, 100, 0.6, 1, 1e9, 4},
		{10, 10, 100, 1, 0.5, 1e9, 5},
		{10, 10, 100, 1, 0.6, 1e9, 4},
		{10, 200, 10, 1, 1, 0.5, 15},
		{10, 200, 10, 1, 1, 0.6, 16},
	} {
		require.Equal(t, int(c.expect), target(c.parallelism, c.rate/c.utilization, c.trueRate, c.down, c.up), "%+v", c)
	}
	require.InDelta(t, 70/0.7+70.0/6, capacity(70, 0), 1e-9, "what piles up in a restart of 5 min is caught up with in 30")
}

func TestFlinkScalesDownToTheGreatestOfAnHour(t *testing.T) {
	f := newFlink()
	sizes := play(f, 0, 2*time.Hour, view(0, 20, 8, 0))
	require.Equal(t, 20, sizes[0])
	// Measured from 5 min on, then wished for an hour: 8 slots of 80 are 0.1, by at
	// most 60 % at once.
	require.Equal(t, 20, sizes[64])
	require.Equal(t, 8, sizes[65])
	require.Equal(t, 8, sizes[len(sizes)-1], "25 % is below 40 %, but the hour is not over")
}

// "An application will add 1 executor in the first round, and then 2, 4, 8 and so
// on executors in the subsequent rounds" (Request Policy).
func TestSparkRamp(t *testing.T) {
	s := newSpark()
	require.Equal(t, []int{1, 2, 4, 8, 16, 25, 25}, play(s, 0, 6*time.Second, view(0, 1, 0, 100)))
}

// "Removes an executor when it has been idle for more than
// spark.dynamicAllocation.executorIdleTimeout seconds" (Remove Policy).
func TestSparkRemovesIdleExecutors(t *testing.T) {
	s := newSpark()
	v := view(0, 5, 8, 0)
	v.Idle = []time.Duration{90 * time.Second, 61 * time.Second, 59 * time.Second}
	require.Equal(t, 3, s.Want(v))
	v.Idle = []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}
	require.Equal(t, 2, s.Want(v), "the eight tasks need two")
}

// computeScaleUp of AIP-5: the first after scheduler-backlog-timeout, then 1, 2, 4
// every sustained-backlog-timeout.
func TestAmoroRamp(t *testing.T) {
	a := newAmoro()
	require.Equal(t, []int{1, 1, 2, 4, 8, 16, 25, 25}, play(a, 0, 210*time.Second, view(0, 1, 0, 100)))
}

// One optimizer a round, idle for executor-idle-timeout, scale-down-cooldown apart.
func TestAmoroRemovesOneIdleOptimizerAMinute(t *testing.T) {
	a := newAmoro()
	v := view(0, 5, 4, 0)
	v.Idle = []time.Duration{6 * time.Minute, 5 * time.Minute, 4 * time.Minute}
	require.Equal(t, []int{4, 4, 3, 3, 2}, play(a, 0, 2*time.Minute, v))
	v.Idle = []time.Duration{4 * time.Minute}
	require.Equal(t, 2, a.Want(view(5*time.Minute, 2, 4, 0)))
}

// PENDING for scaleOutStabilization (300 s), then FIRING: current + scaleStep, until
// it has registered and the state still says so; scaleInStabilization is 600 s.
func TestUpstream(t *testing.T) {
	u := newUpstream()
	sizes := play(u, 0, 330*time.Second, view(0, 2, 8, 4))
	require.Equal(t, []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4}, sizes)

	booting := view(360*time.Second, 4, 16, 4)
	booting.Booting = 1
	require.Equal(t, 5, u.Want(booting), "the one that boots is the one that was asked for")

	idle := play(u, 390*time.Second, 1050*time.Second, view(0, 5, 4, 0))
	require.Equal(t, 5, idle[20], "normal for an evaluation, then pending for 600 s")
	require.Equal(t, 4, idle[21])
}
