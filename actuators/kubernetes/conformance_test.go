package kubernetes

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

// The same tests run against a real API server in e2e.
func TestConformance(t *testing.T) {
	for _, kind := range []string{StatefulSet, Deployment} {
		t.Run(kind, func(t *testing.T) {
			actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture { return conforming(t, kind) })
		})
	}
}

func conforming(t *testing.T, kind string) actuatortest.Fixture {
	t.Helper()
	p := newPods(t, kind, 0)
	answer := func(code int) func(*testing.T) {
		return func(*testing.T) {
			p.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPatch {
					status(w, code)
				}
				return r.Method == http.MethodPatch
			}
		}
	}
	return actuatortest.Fixture{
		Actuator: p.actuator(t, quiet()), Target: target,
		Desired: func(*testing.T) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.replicas
		},
		Stall:     func(*testing.T) func() { return p.stall() },
		LoseReply: func(*testing.T) { p.loseReply() },
		Forget:    func(*testing.T) { p.change(func() { p.annotations = map[string]string{} }) },
		Refuse:    answer(http.StatusForbidden),
		Fail:      answer(http.StatusTooManyRequests),
	}
}

// stall answers nothing until resume is called, and does nothing that was asked
// meanwhile.
func (p *platform) stall() (resume func()) {
	resumed := make(chan struct{})
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-resumed:
			return false
		default:
		}
		select {
		case <-resumed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	return func() { close(resumed) }
}

// loseReply carries the next patch out and does not answer.
func (p *platform) loseReply() {
	var lost atomic.Bool
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || r.URL.Path != p.workloadPath() || !lost.CompareAndSwap(false, true) {
			return false
		}
		p.mu.Lock()
		p.patch(discard{}, r)
		p.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
}
