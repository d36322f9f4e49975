package yarn

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
)

const (
	flexes       = "PUT /app/v1/services/zeta/components/worker"
	decommission = "PUT /app/v1/services/zeta"
)

func TestScaleAsksForWhatIsThereFirst(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)))
	require.Equal(t, []string{flexes, flexes}, c.puts())
	c.agrees(t, 4)
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)))
	require.Empty(t, c.puts(), "there is nothing to ask for")
}

// While instances start, the present number is not asked for: the cluster, as a
// real one, would lose them, and newCluster would say so.
func TestInstancesThatStartAreNotLost(t *testing.T) {
	c := newCluster(t, 2)
	c.change(func() { c.room = 2 })
	a := c.actuator(t, nil)
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)))
	c.puts()
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)), "asking twice")
	require.Empty(t, c.puts())
	c.change(func() { c.definition = 3 })
	require.NoError(t, a.Scale(t.Context(), target, 6, fence(2)), "a later round")
	require.Equal(t, []string{flexes}, c.puts())
	c.agrees(t, 6)

	// A flex that is refused meanwhile, whose definition waits for all to be there.
	now := time.Now()
	a.now = func() time.Time { now = now.Add(6 * time.Second); return now }
	c.change(func() {
		c.before = once(flexesTo(8), func(w http.ResponseWriter, _ *http.Request) {
			c.change(func() { c.definition = 8 })
			says(500, "No content to map due to end-of-input")(w, nil)
		})
	})
	err := a.Scale(t.Context(), target, 8, fence(2))
	require.Equal(t, "plain", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "the definition could not be set right yet: component worker of service zeta is FLEXING")
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 6, s.Desired)
	require.Empty(t, s.OtherWriter)
	c.change(func() { require.Equal(t, 8, c.definition); c.room = 1000; c.fill() })
	_, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	c.agrees(t, 6)
}

// Asking for what is there can be carried out late, too, after more was asked for:
// that is nobody else.
func TestALateAskForWhatWasThere(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	c.change(func() {
		c.before = once(flexesTo(2), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	require.Error(t, a.Scale(t.Context(), target, 4, fence(2)))
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)))
	c.change(func() { c.live = 2; c.fill() })
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 2, s.Desired)
	require.Empty(t, s.OtherWriter)
	c.agrees(t, 2)
}

// What must not be written to is not: the services API would store it.
func TestScaleRefuses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(c *cluster)
		options func(o *Options)
		want    int
		from    int
		kind    string
		say     string
	}{
		{"fewer", func(*cluster) {}, nil, 1, 1, "refused", "it has 2 instances and would be lowered to 1"},
		{"a part of the workers", func(*cluster) {}, nil, 5, 4, "refused", "holds only a part of them"},
		{"no number", func(*cluster) {}, nil, -1, 2, "refused", "is no number"},
		{"stopped", func(c *cluster) { c.state = "STOPPED" }, nil, 3, 2, "refused", "service zeta is STOPPED and has no workers; start it"},
		{"starting", func(c *cluster) { c.state = accepted }, nil, 3, 2, "plain", "service zeta is ACCEPTED: its ApplicationMaster does not answer yet"},
		{"failed", func(c *cluster) { c.state = "FAILED" }, nil, 3, 2, "plain", "service zeta is FAILED"},
		{"upgrading", func(c *cluster) { c.component = "UPGRADING" }, nil, 3, 2, "plain", "it is UPGRADING; finish the upgrade"},
		{"no such service", func(*cluster) {}, func(o *Options) { o.Service = "nope" }, 3, 2, "refused", "Service nope not found; start the service, or correct service"},
		{"no such component", func(*cluster) {}, func(o *Options) { o.Component = "nope" }, 3, 2, "refused", "has no component nope, only worker"},
		{"another owner", func(c *cluster) { c.user = "bob" }, nil, 3, 2, "refused", "belongs to user bob, and we are svc"},
		{"an application of Zeta's own", func(c *cluster) { c.kind = "SeaTunnel" }, nil, 3, 2, "refused", `of type "SeaTunnel", not yarn-service: an application of Zeta's own has a fixed size`},
		{"no ResourceManager", func(*cluster) {}, func(o *Options) { o.URLs = []string{"http://127.0.0.1:1"} }, 3, 2, "plain", "GET /app/v1/services/zeta at 127.0.0.1:1: "},
		{"no services API", func(*cluster) {}, func(o *Options) { o.ServicesPath = "/v1" }, 3, 2, "refused", "404"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 2)
			c.change(func() { tc.change(c) })
			a := c.actuator(t, tc.options)
			err := a.Scale(t.Context(), target, tc.want, fence(tc.from))
			require.ErrorContains(t, err, tc.say)
			require.Equal(t, tc.kind, actuatortest.Kind(err), "%v", err)
			require.Empty(t, c.puts())
			if tc.want >= 2 && tc.from == 2 && tc.name != "upgrading" {
				_, err = a.Observe(t.Context(), target)
				require.ErrorContains(t, err, tc.say)
				require.Equal(t, tc.kind, actuatortest.Kind(err))
			}
		})
	}
}

// The definition is read by a request that changes nothing; a number there that
// is not ours ends the action, and would have counted at the next start.
func TestAnotherNumberInTheDefinition(t *testing.T) {
	c := newCluster(t, 3)
	c.change(func() { c.definition = 2 })
	a := c.actuator(t, nil)
	err := a.Scale(t.Context(), target, 5, fence(3))
	var other *actuators.OtherWriterError
	require.ErrorAs(t, err, &other)
	require.Equal(t, "whoever wrote the definition of service zeta", other.Writer)
	require.Contains(t, other.Detail, "it said 2 instances of component worker, and 3 are kept up")
	require.Contains(t, other.Detail, "resume the scope")
	c.agrees(t, 3)

	c.change(func() { c.definition = 2 })
	f := fence(3)
	f.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), target, 5, f))
	c.agrees(t, 5)

	c.change(func() { c.definition = 8 })
	require.NoError(t, c.actuator(t, nil).Scale(t.Context(), target, 8, fence(5)), "the number that is asked for: what an older leader was refused")
	c.agrees(t, 8)
}

func TestANumberThatSomebodyElseFlexedTo(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(2)))
	c.change(func() { c.live, c.definition = 4, 4; c.fill() })
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, "whoever flexed component worker of service zeta", s.OtherWriter)
	c.puts()
	var other *actuators.OtherWriterError
	require.ErrorAs(t, a.Scale(t.Context(), target, 6, fence(3)), &other)
	require.Contains(t, other.Detail, "it keeps up 4 instances, and we asked for 3")
	require.Empty(t, c.puts())
	f := fence(3)
	f.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), target, 6, f))
	require.NoError(t, a.Scale(t.Context(), target, 7, fence(3)), "our own number is known again")

	c.change(func() { c.id, c.live, c.definition = "application_1_0002", 2, 2; c.fill() })
	s, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Empty(t, s.OtherWriter, "a service that was started anew goes by its definition")
}

// What became of a flex that was not answered plainly.
func TestAFlexThatIsNotAnsweredPlainly(t *testing.T) {
	for _, tc := range []struct {
		name string
		// answers takes the place of the real reply; done says that it was carried
		// out all the same, kept that it went to the definition.
		status     int
		text       string
		done, kept bool
		kind       string
		// number is what is there afterwards.
		number int
	}{
		{"refused while the ApplicationMaster restarts", 500, "zeta is at ACCEPTED state, flex can only be invoked when service is running", false, true, "plain", 2},
		{"another writer at the same time", 500, "No content to map due to end-of-input", false, true, "plain", 2},
		{"a connection that broke", 500, "Call From vm to localhost failed on connection exception", true, true, "done", 4},
		{"a gateway that lost it", 504, "Gateway Timeout", true, true, "unknown", 4},
		{"not allowed", 403, "no", false, false, "refused", 2},
		{"no component of that name", 500, "Components [worker] do not exist in app definition.", false, false, "refused", 2},
		{"nothing done", 204, "", false, false, "refused", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 2)
			c.change(func() {
				c.before = once(flexesTo(4), func(w http.ResponseWriter, r *http.Request) {
					c.change(func() {
						if tc.done {
							c.serve(r)
						} else if tc.kept {
							c.definition = 4
						}
					})
					says(tc.status, tc.text)(w, r)
				})
			})
			a := c.actuator(t, nil)
			err := a.Scale(t.Context(), target, 4, fence(2))
			require.Equal(t, tc.kind, actuatortest.Kind(err), "%v", err)
			if err != nil {
				require.ErrorContains(t, err, flexes)
				require.ErrorContains(t, err, http.StatusText(tc.status))
			}
			s, err := a.Observe(t.Context(), target)
			require.NoError(t, err)
			require.Equal(t, tc.number, s.Desired)
			require.Empty(t, s.OtherWriter)
			c.agrees(t, tc.number)
			require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)), "the next attempt")
			c.agrees(t, 4)
		})
	}
}

// A flex whose reply was lost is found by reading, also when it takes effect late.
func TestALostReplyIsFoundOutByReading(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	var late *http.Request
	c.change(func() {
		c.before = once(flexesTo(4), func(_ http.ResponseWriter, r *http.Request) {
			late = r.Clone(context.WithoutCancel(r.Context()))
			c.change(func() { c.definition = 4 })
			panic(http.ErrAbortHandler)
		})
	})
	err := a.Scale(t.Context(), target, 4, fence(2))
	require.Equal(t, "unknown", actuatortest.Kind(err), "%v", err)
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 2, s.Desired)
	c.agrees(t, 2)
	require.NotNil(t, late)

	// It was on its way to the ApplicationMaster, and the definition had been
	// written long before.
	c.change(func() { c.live = 4; c.fill() })
	s, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 4, s.Desired)
	require.Empty(t, s.OtherWriter)
	c.agrees(t, 4)
}

// While the ApplicationMaster restarts there are no numbers, and a flex that it
// refused is followed until there are.
func TestTheApplicationMasterRestarts(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	c.change(func() {
		c.before = once(flexesTo(4), func(w http.ResponseWriter, r *http.Request) {
			c.change(func() { c.state = accepted; c.definition = 4 })
			says(500, "zeta is at ACCEPTED state, flex can only be invoked when service is running")(w, r)
			time.AfterFunc(100*time.Millisecond, func() { c.change(func() { c.live = c.definition; c.fill() }) })
		})
	})
	require.NoError(t, a.Scale(t.Context(), target, 4, fence(2)), "the next attempt goes by the definition")
	c.agrees(t, 4)
}

func TestScaleEndsWithItsContext(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	c.change(func() {
		c.before = once(flexesTo(4), func(w http.ResponseWriter, r *http.Request) {
			c.change(func() { c.state = accepted; c.definition = 4 })
			says(500, "zeta is at ACCEPTED state, flex can only be invoked when service is running")(w, r)
		})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := a.Scale(ctx, target, 4, fence(2))
	require.Equal(t, "unknown", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "could not be read")
	_, err = a.Observe(t.Context(), target)
	require.ErrorContains(t, err, "does not answer yet")
	c.change(func() { c.live = 2; c.fill() }) // it had read the definition before
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 2, s.Desired)
	c.agrees(t, 2)
}

func names(workers []actuators.Worker) []string {
	var out []string
	for _, w := range workers {
		out = append(out, w.Name)
	}
	return out
}

func TestWorkers(t *testing.T) {
	c := newCluster(t, 3)
	got, err := c.actuator(t, func(o *Options) { o.WorkerPort = 5801 }).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{{Name: "worker-2", Address: "10.0.0.1:5803"}, {Name: "worker-1", Address: "10.0.0.1:5802"}, {Name: "worker-0", Address: "10.0.0.1:5801"}}, got)
	got, err = c.actuator(t, nil).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.1", got[0].Address)
	c.change(func() { c.live = 0; c.fill() })
	got, err = c.actuator(t, nil).Workers(t.Context(), target)
	require.NoError(t, err)
	require.Empty(t, got)
}

func release(name string) []actuators.Worker { return []actuators.Worker{{Name: name}} }

func TestReleaseRemovesWhomItNames(t *testing.T) {
	c := newCluster(t, 5)
	a := c.actuator(t, nil)
	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(5)))
	require.Equal(t, []string{flexes, decommission}, c.puts())
	c.agrees(t, 4)
	got, err := a.Workers(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []string{"worker-4", "worker-3", "worker-2", "worker-0"}, names(got))

	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(5)), "it is gone")
	require.NoError(t, c.actuator(t, nil).Release(t.Context(), target, release("worker-1"), fence(5)), "as another process sees, too")
	require.Empty(t, c.puts())
	require.NoError(t, a.Release(t.Context(), target, release("worker-4"), fence(5)))
	c.agrees(t, 3)
}

func TestReleaseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *cluster)
		who    string
		kind   string
		say    string
	}{
		{"nobody of that name", func(*cluster) {}, "worker-7", "refused", "has no instance of that name"},
		{"flexing", func(c *cluster) { c.component, c.state = "FLEXING", started }, "worker-1", "plain", "service zeta is STARTED and component worker FLEXING"},
		{"another component is not ready", func(c *cluster) { c.state = started }, "worker-1", "plain", "service zeta is STARTED and component worker STABLE"},
		{"another number in the definition", func(c *cluster) { c.definition = 1 }, "worker-1", "plain", "another writer"},
		{"stopped", func(c *cluster) { c.state = "STOPPED" }, "worker-1", "refused", "start it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 3)
			c.change(func() { tc.change(c) })
			err := c.actuator(t, nil).Release(t.Context(), target, release(tc.who), fence(3))
			require.ErrorContains(t, err, tc.say)
			require.Equal(t, tc.kind, actuatortest.Kind(err))
			require.NotContains(t, c.puts(), decommission)
			require.Len(t, c.instances, 3)
		})
	}
}

// An instance that ended by itself between reading and asking is taken from the
// definition's number alone, which is set right.
func TestReleaseOfOneThatHasJustEnded(t *testing.T) {
	c := newCluster(t, 3)
	a := c.actuator(t, nil)
	skip := time.Now()
	a.now = func() time.Time { skip = skip.Add(2 * time.Second); return skip }
	c.change(func() {
		c.before = once(func(r *http.Request) bool { return isPut(r) && r.URL.Path == "/app/v1/services/zeta" }, func(w http.ResponseWriter, _ *http.Request) {
			c.change(func() { c.definition-- })
			says(http.StatusAccepted, "Service zeta has successfully decommissioned instances.")(w, nil)
		})
	})
	err := a.Release(t.Context(), target, release("worker-1"), fence(3))
	require.Equal(t, "unknown", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "the service shows no sign of it")
	c.agrees(t, 3)
}

// A decommission that was refused has lowered the definition's number: the next
// start would drop a worker that nobody named.
func TestReleaseThatIsRefusedIsSetRight(t *testing.T) {
	c := newCluster(t, 3)
	a := c.actuator(t, nil)
	c.change(func() {
		c.before = once(func(r *http.Request) bool { return isPut(r) && r.URL.Path == "/app/v1/services/zeta" }, func(w http.ResponseWriter, _ *http.Request) {
			c.change(func() { c.definition-- })
			says(http.StatusBadRequest, "zeta is at ACCEPTED state, decommission can only be invoked when service is running")(w, nil)
		})
	})
	err := a.Release(t.Context(), target, release("worker-1"), fence(3))
	require.Equal(t, "plain", actuatortest.Kind(err), "%v", err)
	c.agrees(t, 3)
	require.NoError(t, a.Release(t.Context(), target, release("worker-1"), fence(3)))
	c.agrees(t, 2)
}

// Two components of one service, and two actuators of one component, have one
// file: they take turns.
func TestOneWriterAtATime(t *testing.T) {
	c := newCluster(t, 1)
	locks := new(Locks)
	unlock, err := locks.lock(t.Context(), "zeta")
	require.NoError(t, err)
	a := c.actuator(t, func(o *Options) { o.Locks = locks })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.Scale(ctx, target, 2, fence(1)), context.DeadlineExceeded)
	require.Empty(t, c.puts())
	unlock()
	require.NoError(t, a.Scale(t.Context(), target, 2, fence(1)))
	other, err := locks.lock(t.Context(), "other")
	require.NoError(t, err, "another service")
	other()
}

func TestWithdraw(t *testing.T) {
	c := newCluster(t, 2)
	c.change(func() { c.room = 4 })
	a := c.actuator(t, nil)
	now := time.Now()
	a.now = func() time.Time { return now }
	require.NoError(t, a.Scale(t.Context(), target, 9, fence(2)))
	s, err := a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, 9, s.Desired)
	require.Equal(t, 4, s.Ready)
	require.Equal(t, "component worker is FLEXING: 9 requested, 4 have a process, 4 READY", s.Detail, "they may come")
	now = now.Add(capacityAfter)
	_, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	s, err = a.Observe(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, "component worker is FLEXING: 9 requested, 4 have a process, 4 READY; "+
		"queue root.default uses 2048 of at most 2048 MB (100% of at most 100% of the cluster), 5 containers wait there; 1 nodes have 64 MB free, at most 64 MB on one", s.Detail)
	before := len(c.puts())
	left, err := a.Withdraw(t.Context(), target, fence(2))
	require.NoError(t, err)
	require.Equal(t, 4, left)
	require.NotZero(t, before)
	c.agrees(t, 4)
	require.Len(t, c.instances, 4)
	left, err = a.Withdraw(t.Context(), target, fence(2))
	require.NoError(t, err)
	require.Equal(t, 4, left)
	require.NoError(t, a.Scale(t.Context(), target, 5, fence(4)), "it is our own number")
}

// The lowest number that ends no process, where those that wait have low ids.
func TestLeast(t *testing.T) {
	of := func(wanted int, gone []string, states ...string) *component {
		c := &component{Wanted: wanted, Decommissioned: gone}
		for i, s := range states {
			if s != "" {
				c.Containers = append(c.Containers, container{Instance: "worker-" + string(rune('0'+i)), State: s})
			}
		}
		return c
	}
	for _, tc := range []struct {
		name string
		c    *component
		want int
	}{
		{"all run", of(3, nil, ready, ready, ready), 3},
		{"the last wait", of(6, nil, ready, ready, "RUNNING_BUT_UNREADY"), 3},
		{"the first waits to be replaced", of(6, nil, "FAILED", ready, ready), 3},
		{"one with a low number waits", of(6, nil, "", ready, ready), 3},
		{"one with a low number was removed", of(5, []string{"worker-0"}, "", ready, ready), 2},
		{"nobody runs", of(5, nil), 0},
		{"more than wanted run", of(1, nil, ready, ready), 1},
	} {
		require.Equal(t, tc.want, tc.c.least(), tc.name)
	}
}

// Polling costs one request, and one more while something is missing.
func TestPollingIsCheap(t *testing.T) {
	c := newCluster(t, 2)
	c.change(func() { c.room = 2 })
	a := c.actuator(t, nil)
	require.NoError(t, a.Scale(t.Context(), target, 3, fence(2)))
	require.LessOrEqual(t, a.Capabilities().Poll, time.Second)
	for range 5 {
		c.change(func() { c.asked = nil })
		_, err := a.Observe(t.Context(), target)
		require.NoError(t, err)
		c.change(func() { require.LessOrEqual(t, len(c.asked), 2, c.asked) })
	}
}

func TestErrorsOfOurOwnContext(t *testing.T) {
	c := newCluster(t, 2)
	a := c.actuator(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Observe(ctx, target)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, actuators.ErrUnknownOutcome)
}
