package yarn

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

// The same tests run against a real ResourceManager in e2e.
func TestConformance(t *testing.T) {
	actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture {
		c := newCluster(t, 0)
		answers := func(status int, text string) func(*testing.T) {
			return func(*testing.T) {
				c.change(func() {
					c.before = func(w http.ResponseWriter, r *http.Request) bool {
						if isPut(r) {
							says(status, text)(w, r)
						}
						return isPut(r)
					}
				})
			}
		}
		return actuatortest.Fixture{
			Actuator: c.actuator(t, nil), Target: target,
			Desired: func(*testing.T) int {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.live
			},
			Stall:     func(*testing.T) func() { return c.stall() },
			LoseReply: func(*testing.T) { c.loseReply() },
			Refuse:    answers(http.StatusForbidden, "User svc cannot perform this operation"),
			Fail:      answers(http.StatusTooManyRequests, "slow down"),
		}
	})
}

// stall answers nothing until resume is called, and does nothing that was asked
// meanwhile.
func (c *cluster) stall() (resume func()) {
	resumed := make(chan struct{})
	c.change(func() {
		c.before = func(_ http.ResponseWriter, r *http.Request) bool {
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
	})
	return func() { close(resumed) }
}

// loseReply carries the next request that changes something out and does not
// answer.
func (c *cluster) loseReply() {
	var lost atomic.Bool
	c.change(func() {
		c.before = func(_ http.ResponseWriter, r *http.Request) bool {
			c.mu.Lock()
			same := flexesTo(c.live)(r)
			c.mu.Unlock()
			if !isPut(r) || same || !lost.CompareAndSwap(false, true) {
				return false
			}
			c.change(func() { c.serve(r) })
			panic(http.ErrAbortHandler)
		}
	})
}
