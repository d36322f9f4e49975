package kubernetes

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

func scalerOf(name string, ref map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"scaleTargetRef": ref}}
}

func requireOtherWriter(t *testing.T, err error, writer string) {
	t.Helper()
	var other *actuators.OtherWriterError
	require.ErrorAs(t, err, &other)
	require.Equal(t, writer, other.Writer)
	require.NotEmpty(t, other.Detail)
}

func TestWhoElseScalesTheWorkload(t *testing.T) {
	set := map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "worker"}
	for _, tc := range []struct {
		name  string
		path  string
		ref   map[string]any
		found string
	}{
		{"an autoscaler", hpaPath, set, "HorizontalPodAutoscaler st/x"},
		{"an autoscaler of an older version", hpaPath, map[string]any{"apiVersion": "apps/v1beta2", "kind": "StatefulSet", "name": "worker"}, "HorizontalPodAutoscaler st/x"},
		{"an autoscaler without version", hpaPath, map[string]any{"kind": "StatefulSet", "name": "worker"}, "HorizontalPodAutoscaler st/x"},
		{"an autoscaler of a Deployment", hpaPath, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "worker"}, ""},
		{"an autoscaler of another one", hpaPath, map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "other"}, ""},
		{"an autoscaler of another group", hpaPath, map[string]any{"apiVersion": "apps.kruise.io/v1", "kind": "StatefulSet", "name": "worker"}, ""},
		{"a ScaledObject", kedaPath, set, "ScaledObject st/x"},
		{"a ScaledObject of a Deployment by default", kedaPath, map[string]any{"name": "worker"}, ""},
		{"a ScaledObject with other fields", kedaPath, map[string]any{"kind": "StatefulSet", "name": "worker", "later": int64(1)}, "ScaledObject st/x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(t, 2)
			p.lists[tc.path] = []map[string]any{scalerOf("x", tc.ref)}
			a := p.actuator(t, quiet())
			s, err := a.Observe(t.Context(), target)
			require.NoError(t, err)
			require.Equal(t, tc.found, s.OtherWriter)
			f := fence(1, 1)
			f.AcceptPresent = true // makes no difference: it will write again
			err = a.Scale(t.Context(), target, 4, f)
			if tc.found == "" {
				require.NoError(t, err)
				return
			}
			requireOtherWriter(t, err, tc.found)
			require.Empty(t, p.patches)
		})
	}
}

func TestWithoutTheRightToLookItSaysSoOnce(t *testing.T) {
	p := newPlatform(t, 2)
	p.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != hpaPath {
			return false
		}
		status(w, http.StatusForbidden)
		return true
	}
	logger, lines := logLines()
	a := p.actuator(t, logger)
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(1, 1)))
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(1, 2)))
	require.Len(t, lines(), 1)
	require.Contains(t, lines()[0], `missing_right="list horizontalpodautoscalers.autoscaling"`)
}

func TestIfItCannotLookItDoesNotWrite(t *testing.T) {
	p := newPlatform(t, 2)
	p.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == hpaPath {
			status(w, http.StatusInternalServerError)
		}
		return r.URL.Path == hpaPath
	}
	requireMeaning(t, p.actuator(t, quiet()).Scale(t.Context(), target, 4, fence(1, 1)), nil)
	require.Empty(t, p.patches)
}

func manager(name, subresource, time string, fields any) map[string]any {
	return map[string]any{
		"manager": name, "operation": "Update", "apiVersion": "apps/v1", "time": time, "fieldsType": "FieldsV1",
		"subresource": subresource, "fieldsV1": fields,
	}
}

func TestANumberThatSomebodyElseWrote(t *testing.T) {
	replicas := map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}
	image := map[string]any{"f:spec": map[string]any{"f:template": map[string]any{}}}
	for _, tc := range []struct {
		name     string
		managers []map[string]any
		writer   string
	}{
		{"kubectl scale", []map[string]any{
			manager("helm", "", "2026-01-01T00:00:00Z", replicas),
			manager("kubectl", "scale", "2026-01-02T00:00:00Z", replicas),
			manager("argocd", "", "2026-01-03T00:00:00Z", image),
			manager(FieldManager, "", "2026-01-04T00:00:00Z", replicas),
		}, "field manager kubectl (scale)"},
		{"apply", []map[string]any{manager("kubectl-client-side-apply", "", "2026-01-01T00:00:00Z", replicas)}, "field manager kubectl-client-side-apply"},
		{"nobody kept a record", nil, "unknown field manager"},
		{"a record of something else", []map[string]any{manager("x", "", "2026-01-01T00:00:00Z", map[string]any{"f:spec": nil})}, "unknown field manager"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlatform(t, 2)
			a := p.actuator(t, quiet())
			require.NoError(t, a.Scale(t.Context(), target, 3, fence(1, 1)))
			p.change(func() { p.replicas, p.managers = 4, tc.managers })

			s, err := a.Observe(t.Context(), target)
			require.NoError(t, err)
			require.Equal(t, tc.writer, s.OtherWriter)
			requireOtherWriter(t, a.Scale(t.Context(), target, 6, fence(1, 2)), tc.writer)
			require.Equal(t, 4, p.replicas)

			accepted := fence(1, 2)
			accepted.AcceptPresent = true
			require.NoError(t, a.Scale(t.Context(), target, 6, accepted))
			require.NoError(t, a.Scale(t.Context(), target, 7, fence(1, 3)), "our own number is known again")
		})
	}
}

// A new leader that finds an accepted number records it: later writes need not
// be told again.
func TestAClaimRecordsAnAcceptedNumber(t *testing.T) {
	p := newPlatform(t, 2)
	a := p.actuator(t, quiet())
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(1, 1)))
	p.change(func() { p.replicas = 4 })
	require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2, AcceptPresent: true}))
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Empty(t, s.OtherWriter)
	require.Equal(t, 4, p.replicas)
}

// A workload that was replaced, or written without our annotations, is somebody
// else's until an operator says that it is as it should be. A new leader's claim
// does not hide that.
func TestALostFenceIsAnotherWriter(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(p *platform)
		// forgotten says that nothing of ours is left that Observe could see.
		forgotten bool
		say       string
	}{
		{"it was replaced", func(p *platform) { p.uid, p.annotations = "u-2", map[string]string{} }, true, "zeta-scaler.io/action-id is gone"},
		{"it came back out of a backup", func(p *platform) { p.uid = "u-2" }, false, "written on an object with UID u-1, and its own is u-2"},
		{"it came from a cluster with a later epoch", func(p *platform) { p.uid, p.annotations[EpochAnnotation] = "u-2", "99" }, false, "UID u-1"},
		{"all annotations were removed", func(p *platform) { p.annotations = map[string]string{} }, true, "zeta-scaler.io/action-id is gone"},
		{"one was", func(p *platform) { delete(p.annotations, ReplicasAnnotation) }, false, "zeta-scaler.io/replicas is gone"},
		{"the epoch was", func(p *platform) { delete(p.annotations, EpochAnnotation) }, false, "zeta-scaler.io/epoch is gone"},
		{"the action was", func(p *platform) { delete(p.annotations, ActionAnnotation) }, true, "zeta-scaler.io/action-id is gone"},
	} {
		for _, claim := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, ", claimed ", claim), func(t *testing.T) {
				p := newPlatform(t, 2)
				a := p.actuator(t, quiet())
				require.NoError(t, a.Scale(t.Context(), target, 3, fence(1, 1)))
				p.change(func() { tc.lose(p) })
				if claim {
					require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2}))
				}
				s, err := a.Observe(t.Context(), target)
				require.NoError(t, err)
				require.Equal(t, tc.forgotten, s.OtherWriter == "")
				require.LessOrEqual(t, s.Fence.Epoch, uint64(2))

				f := fence(2, 1)
				f.Fenced = true
				err = a.Scale(t.Context(), target, 5, f)
				requireOtherWriter(t, err, actuators.LostFence)
				require.ErrorContains(t, err, tc.say)
				require.Equal(t, 3, p.replicas)

				f.AcceptPresent = true
				require.NoError(t, a.Scale(t.Context(), target, 5, f))
				f = fence(2, 2)
				f.Fenced = true
				require.NoError(t, a.Scale(t.Context(), target, 6, f), "our own fence is there again")
			})
		}
	}
}

// A claim of a workload that we have asked for nothing yet loses nothing.
func TestAClaimAloneIsNoLostFence(t *testing.T) {
	p := newPlatform(t, 2)
	a := p.actuator(t, quiet())
	require.NoError(t, a.Claim(t.Context(), target, actuators.Fence{Epoch: 2, AcceptPresent: true}))
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(2, 1)))
}
