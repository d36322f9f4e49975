package kubernetes

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

var _ interface {
	actuators.Actuator
	actuators.Claimer
} = (*Actuator)(nil)

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Namespace: "st", Kind: Deployment, Name: "worker"}
	require.NoError(t, good.Validate())
	require.Equal(t, "kubernetes/st/deployment/worker", good.Target())

	err := Options{Kind: "DaemonSet", Namespace: "a/b", Name: "..", Timeout: -1}.Validate()
	for _, part := range []string{`namespace "a/b"`, `kind "DaemonSet"`, `name ".."`, "timeout -1ns"} {
		require.ErrorContains(t, err, part)
	}
	_, err = New(Options{Namespace: "st", Kind: Deployment, Name: "worker", Kubeconfig: "testdata/none", Logger: quiet()})
	require.ErrorContains(t, err, "reading kubeconfig testdata/none")
}

func TestScaleWritesNumberAndFenceTogether(t *testing.T) {
	p := newPlatform(t, 2)
	a := p.actuator(t, quiet())
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(7, 3)))
	require.Equal(t, []patch{{
		Metadata: patchMeta{ResourceVersion: "1", Annotations: map[string]string{
			EpochAnnotation: "7", GenerationAnnotation: "3", RecommendationAnnotation: "7-3-prod",
			ActionAnnotation: "7-3-prod", ReplicasAnnotation: "4", UIDAnnotation: "u-1",
		}},
		Spec: &patchSpec{Replicas: 4},
	}}, p.patches)

	require.NoError(t, a.Scale(t.Context(), target, 4, fence(7, 3)))
	require.Len(t, p.patches, 1, "asking twice for the same writes once")

	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, actuators.State{Desired: 4, Ready: 0, Fence: fence(7, 3)}, s, "the status speaks of the older spec")
	p.change(func() { p.observed, p.ready = p.generation, 3 })
	s, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 3, s.Ready)
}

func TestClaimRecordsTheEpochOnly(t *testing.T) {
	p := newPlatform(t, 2)
	a := p.actuator(t, quiet())
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(1, 1)))
	require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2}))
	require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2}))
	require.Len(t, p.patches, 2)
	require.Nil(t, p.patches[1].Spec)
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, uint64(2), s.Fence.Epoch)
	require.Equal(t, "1-1-prod", s.Fence.ActionID, "what was carried out stays known")

	require.ErrorIs(t, a.Scale(t.Context(), target, 5, fence(1, 2)), actuators.ErrStale)
	require.ErrorIs(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 1}), actuators.ErrStale)
	require.Equal(t, 3, p.replicas)
}

// TestWorkloadThatHoldsAPart: a number for 11 workers is none for a workload
// that has 2 of them.
func TestWorkloadThatHoldsAPart(t *testing.T) {
	p := newPlatform(t, 2)
	f := fence(1, 1)
	f.From = new(11)
	err := p.actuator(t, quiet()).Scale(t.Context(), target, 12, f)
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "it has 2 replicas, and Zeta had 11 workers when 12 were asked for")
	require.Empty(t, p.patches)
}

func TestWhatIsRefused(t *testing.T) {
	const app = "seatunnel.apache.org/application-id"
	for _, tc := range []struct {
		name string
		set  func(p *platform)
		want int
		say  string
	}{
		{"fewer than there are", func(*platform) {}, 1, "has 2 replicas and would be lowered to 1"},
		{"a negative number", func(*platform) {}, -1, "-1 is no number of replicas"},
		{"more than the API can say", func(*platform) {}, math.MaxInt32 + 1, "is no number of replicas"},
		{"Application Mode workload", func(p *platform) { p.labels = map[string]string{app: "job-1"} }, 4, `Application Mode cluster "job-1"`},
		{"Application Mode pods", func(p *platform) { p.podLabels = map[string]string{app: ""} }, 4, "Application Mode"},
		{"a workload that goes away", func(p *platform) { p.deleted = true }, 4, "is being deleted"},
		{"an epoch that is no number", func(p *platform) { p.annotations[EpochAnnotation] = "x" }, 4, `annotation zeta-scaler.io/epoch is "x"`},
		{"a generation that is no number", func(p *platform) { p.annotations[GenerationAnnotation] = "" }, 4, "zeta-scaler.io/generation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(t, 2)
			tc.set(p)
			err := p.actuator(t, quiet()).Scale(t.Context(), target, tc.want, fence(1, 1))
			require.ErrorIs(t, err, actuators.ErrRefused)
			require.ErrorContains(t, err, tc.say)
			require.Empty(t, p.patches)
		})
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	for _, tc := range []struct {
		method string
		code   int
		is     error
	}{
		{http.MethodGet, 401, nil},
		{http.MethodGet, 403, actuators.ErrRefused},
		{http.MethodGet, 404, actuators.ErrRefused},
		{http.MethodGet, 500, nil},
		{http.MethodGet, 504, nil},
		{http.MethodPatch, 400, actuators.ErrRefused},
		{http.MethodPatch, 401, nil},
		{http.MethodPatch, 403, actuators.ErrRefused},
		{http.MethodPatch, 404, actuators.ErrRefused},
		{http.MethodPatch, 405, actuators.ErrRefused},
		{http.MethodPatch, 408, nil},
		{http.MethodPatch, 422, actuators.ErrRefused},
		{http.MethodPatch, 429, nil},
		{http.MethodPatch, 500, actuators.ErrUnknownOutcome},
		{http.MethodPatch, 503, actuators.ErrUnknownOutcome},
		{http.MethodPatch, 504, actuators.ErrUnknownOutcome},
	} {
		t.Run(fmt.Sprintf("%s %d", tc.method, tc.code), func(t *testing.T) {
			p := newPlatform(t, 2)
			p.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != tc.method || r.URL.Path != workloadPath {
					return false
				}
				status(w, tc.code)
				return true
			}
			requireMeaning(t, p.actuator(t, quiet()).Scale(t.Context(), target, 4, fence(1, 1)), tc.is)
			require.Equal(t, 2, p.replicas)
		})
	}
}

// requireMeaning wants an error that wraps is and none of the others.
func requireMeaning(t *testing.T, err, is error) {
	t.Helper()
	require.Error(t, err)
	for _, known := range []error{actuators.ErrRefused, actuators.ErrUnknownOutcome, actuators.ErrStale, actuators.ErrUnsupported} {
		if known == is { //nolint:errorlint // one of the four, not what wraps it
			require.ErrorIs(t, err, known)
		} else {
			require.NotErrorIs(t, err, known)
		}
	}
}

func TestALostReplyIsAnUnknownOutcome(t *testing.T) {
	p := newPlatform(t, 2)
	p.loseReply()
	a := p.actuator(t, quiet())
	requireMeaning(t, a.Scale(t.Context(), target, 4, fence(1, 1)), actuators.ErrUnknownOutcome)

	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 4, s.Desired)
	require.Equal(t, fence(1, 1), s.Fence, "the platform tells that the action was carried out")
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(1, 1)))
	require.Len(t, p.patches, 1)
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestAServerThatIsAwayWasNotAsked(t *testing.T) {
	p := newPlatform(t, 2)
	a := p.actuator(t, quiet())
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.URL.Path == hpaPath {
			// The last read before the write; then nobody listens any more, and
			// the connection is not used again.
			_ = p.Listener.Close()
		}
		return false
	}
	p.Config.SetKeepAlivesEnabled(false)
	requireMeaning(t, a.Scale(t.Context(), target, 4, fence(1, 1)), nil)
	require.Equal(t, 2, p.replicas)
}

func TestAfterAConflictItDecidesAgain(t *testing.T) {
	// race changes the workload between the first read and the first write.
	race := func(p *platform, change func()) *atomic.Int32 {
		var patches atomic.Int32
		p.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch && patches.Add(1) == 1 {
				p.change(change)
			}
			return false
		}
		return &patches
	}
	for _, tc := range []struct {
		name   string
		change func(p *platform)
		is     error
		want   int
	}{
		{"only the status changed", func(p *platform) { p.ready = 1 }, nil, 4},
		{"a newer leader came", func(p *platform) { p.annotations[EpochAnnotation] = "9" }, actuators.ErrStale, 2},
		{"more than wanted are there", func(p *platform) { p.replicas = 6 }, actuators.ErrRefused, 6},
		{"it became Application Mode", func(p *platform) { p.labels = map[string]string{applicationLabel: "x"} }, actuators.ErrRefused, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(t, 2)
			patches := race(p, func() { tc.change(p) })
			err := p.actuator(t, quiet()).Scale(t.Context(), target, 4, fence(1, 1))
			if tc.is == nil {
				require.NoError(t, err)
				require.Equal(t, int32(2), patches.Load())
			} else {
				requireMeaning(t, err, tc.is)
				require.Equal(t, int32(1), patches.Load())
			}
			require.Equal(t, tc.want, p.replicas)
		})
	}
	t.Run("it changes all the time", func(t *testing.T) {
		p := newPlatform(t, 2)
		var patches atomic.Int32
		p.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				patches.Add(1)
				p.change(func() {})
			}
			return false
		}
		err := p.actuator(t, quiet()).Scale(t.Context(), target, 4, fence(1, 1))
		requireMeaning(t, err, nil)
		require.ErrorContains(t, err, "6 times in a row")
		require.Equal(t, int32(maxAttempts), patches.Load())
	})
}

// Whatever two leaders ask for in whatever order, the recorded epoch and the
// number never fall, and the number is always one that its leader asked for.
func TestTwoLeadersNeverUndoEachOther(t *testing.T) {
	p := newPlatform(t, 1)
	a := p.actuator(t, quiet())
	b := p.actuator(t, quiet())
	rapid.Check(t, func(rt *rapid.T) {
		p.change(func() { p.replicas, p.annotations, p.patches = 1, map[string]string{}, nil })
		var epoch uint64
		replicas := 1
		for range rapid.IntRange(1, 4).Draw(rt, "writes") {
			w := rapid.SampledFrom([]*Actuator{a, b}).Draw(rt, "writer")
			f := fence(rapid.Uint64Range(1, 4).Draw(rt, "epoch"), 1)
			want := rapid.IntRange(0, 6).Draw(rt, "want")
			err := w.Scale(t.Context(), target, want, f)
			if f.Epoch < epoch {
				require.ErrorIs(rt, err, actuators.ErrStale)
				continue
			}
			if want < replicas {
				require.ErrorIs(rt, err, actuators.ErrRefused)
				continue
			}
			require.NoError(rt, err)
			epoch, replicas = f.Epoch, want
			require.Equal(rt, want, p.replicas)
			require.Equal(rt, fmt.Sprint(epoch), p.annotations[EpochAnnotation])
		}
	})
}

// logLines collects what a logger writes.
func logLines() (*slog.Logger, func() []string) {
	var buf bytes.Buffer
	return slog.New(slog.NewTextHandler(&buf, nil)), func() []string {
		return strings.Split(strings.TrimSpace(buf.String()), "\n")
	}
}
