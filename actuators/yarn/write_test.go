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
