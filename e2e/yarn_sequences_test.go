//go:build e2e && unix

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	yarnactuator "github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
)

const (
	// sequencesEnv says how many random sequences there are, sequencesByDefault if
	// it does not.
	sequencesEnv       = "ZETA_E2E_SEQUENCES"
	sequencesByDefault = "50"
	// seedByDefault is fixed: what a real YARN does at the wrong moment once in some
	// hundred sequences is no news about a change.
	seedByDefault = 1
	// sequencesAtOnce is how many services play them, each one after the other.
	sequencesAtOnce = 5
	// most is how many instances are asked for at most, but for the one more that ends
	// a sequence; fewest how many are left after that.
	most, fewest = 7, 2
)

// play is what the sequences on one service have in common.
type play struct {
	*yarnSite
	// manager is held by who restarts the ResourceManager, which all services have.
	manager *sync.Mutex
	// killed are the containers whose processes were.
	killed map[string]bool
	// restarted says that the ApplicationMaster was killed. The next one replaces
	// instances under their names: at once those that it does not find in its
	// registry, and at a restart of the ResourceManager those that it has taken over
	// (docs/yarn.md, limits).
	restarted bool
}

// sequence is what is known in one.
type sequence struct {
	*play
	a   *yarnactuator.Actuator
	rng *rand.Rand
	// gone are the instances that were named.
	gone map[string]bool
	said []string
}

// moves are what can happen, by how often. Killing an ApplicationMaster takes ten
// seconds, what follows included.
func moves() []func(*sequence, *testing.T) string {
	var bag []func(*sequence, *testing.T) string
	for _, move := range []struct {
		weight int
		run    func(*sequence, *testing.T) string
	}{
		{8, (*sequence).scales},
		{6, (*sequence).releases},
		{4, (*sequence).observes},
		{4, (*sequence).killsInstance},
		{3, (*sequence).isFlexedByAnother},
		{3, (*sequence).losesOneInTheDefinition},
		{2, (*sequence).freezesMaster},
		{1, (*sequence).killsMaster},
		{1, (*sequence).restartsManager},
	} {
		bag = append(bag, slices.Repeat([]func(*sequence, *testing.T) string{move.run}, move.weight)...)
	}
	return bag
}

// Random sequences of what can happen, on several services of one ResourceManager.
// Whatever comes: no service fails, no worker is removed that was not named, and
// after our next change the definition has the number that is kept up.
func TestYARNSequences(t *testing.T) {
	t.Parallel()
	total, err := strconv.Atoi(cmp.Or(os.Getenv(sequencesEnv), sequencesByDefault))
	require.NoError(t, err, sequencesEnv)
	seed := uint64(seedByDefault)
	if text := os.Getenv("ZETA_E2E_SEED"); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("ZETA_E2E_SEED=%d", seed)
	c := yarn.Start(t, lab, yarn.Options{Memory: 6144, Conf: map[string]string{"yarn.resourcemanager.am.max-attempts": "1000"}})
	began, manager := time.Now(), new(sync.Mutex)
	var all sync.WaitGroup
	for i := range sequencesAtOnce {
		name := fmt.Sprintf("zeta-%d", i)
		all.Go(func() { // not parallel tests: those wait for each other on a machine with two processors
			t.Run(name, func(t *testing.T) {
				p := &play{yarnSite: newYARNSite(t, c.Named(name)), manager: manager, killed: map[string]bool{}}
				p.Create(t, yarn.Definition{Instances: fewest})
				for n := i; n < total; n += sequencesAtOnce {
					p.plays(t, rand.New(rand.NewPCG(seed, uint64(n)))) //nolint:gosec // not for secrets
				}
			})
		})
	}
	all.Wait()
	t.Logf("%d sequences in %s", total, time.Since(began).Round(time.Second))
}

func (p *play) plays(t *testing.T, rng *rand.Rand) {
	t.Helper()
	q := &sequence{play: p, a: p.actuator(t), rng: rng, gone: map[string]bool{}}
	before := q.looks(t)
	bag := moves()
	for range 1 + rng.IntN(3) {
		q.said = append(q.said, bag[rng.IntN(len(bag))](q, t))
	}
	q.ends(t, before)
}

// looks reads the service, however long the ResourceManager or the ApplicationMaster
// is away.
func (q *sequence) looks(t *testing.T) (now yarn.Service) {
	t.Helper()
	harness.Wait(t, time.Minute, "the service can be read", func(ctx context.Context) (err error) {
		now, err = q.Service(ctx)
		if err == nil && now.Wanted == 0 {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	require.NotEqual(t, "FAILED", now.State, "%v", q.said)
	return now
}

// ends brings the sequence to its end, as an operator who resumes the scope would,
// and holds it to what was promised.
func (q *sequence) ends(t *testing.T, before yarn.Service) {
	t.Helper()
	want := q.reconciled(t)
	// After a restart of the ApplicationMaster nobody looks READY for a second or two.
	harness.Wait(t, 2*time.Minute, fmt.Sprintf("%v: whom nobody named is there", q.said), func(ctx context.Context) error {
		after, err := q.Service(ctx)
		for name, id := range before.Ready {
			if err == nil && !q.gone[name] && !q.killed[id] && (after.Ready[name] == "" || after.Ready[name] != id && !q.restarted) {
				err = fmt.Errorf("nobody named %s in %s: %+v", name, id, after)
			}
		}
		return err
	})
	if want <= most && q.rng.IntN(6) > 0 {
		return // the next one begins while the component is FLEXING
	}
	after := q.Stable(t, want)
	harness.Wait(t, time.Minute, "the service is STABLE, too", func(ctx context.Context) error {
		now, err := q.Service(ctx)
		if err == nil && now.State != "STABLE" {
			err = fmt.Errorf("%v: %+v", q.said, now)
		}
		return err
	})
	for full := want > most; full && want > fewest; {
		name := after.Names()[q.rng.IntN(len(after.Ready))]
		q.settled(t, "release of "+name, func(ctx context.Context) error {
			return q.a.Release(ctx, yarnTarget, []actuators.Worker{{Name: name}}, q.drain(name))
		})
		want--
		after = q.Stable(t, want)
		q.agrees(t, want)
	}
}

// reconciled asks for one more, until that is kept up and in the definition, and
// returns the number: a request of earlier may have come late and be for more.
func (q *sequence) reconciled(t *testing.T) (want int) {
	t.Helper()
	f := yarnFence(0)
	f.AcceptPresent = true
	asked := false
	q.settled(t, fmt.Sprintf("%v: one more was asked for", q.said), func(ctx context.Context) error {
		st, err := q.a.Observe(ctx, yarnTarget)
		if err != nil {
			return err
		}
		if !asked || st.Desired != want {
			want = max(want, st.Desired+1)
			if err := q.a.Scale(ctx, yarnTarget, want, f); err != nil {
				return err
			}
			asked = true
		}
		return q.agree(ctx, want)
	})
	return want
}

func (q *sequence) drain(name string) actuators.Fence {
	f := yarnFence(0)
	f.ActionID = "drain-" + name
	return f
}

func (q *sequence) call(t *testing.T, within time.Duration, do func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return do(ctx)
}

// outcome is what came of a call, in a word.
func outcome(what string, err error) string {
	var other *actuators.OtherWriterError
	switch {
	case err == nil:
		return what
	case errors.As(err, &other):
		return what + " (another writer)"
	case errors.Is(err, actuators.ErrUnknownOutcome):
		return what + " (unknown)"
	}
	return what + " (not)"
}

func (q *sequence) scales(t *testing.T) string {
	return outcome("scale", q.call(t, 20*time.Second, func(ctx context.Context) error {
		st, err := q.a.Observe(ctx, yarnTarget)
		if err != nil {
			return err
		}
		return q.a.Scale(ctx, yarnTarget, min(most, st.Desired+1+q.rng.IntN(2)), yarnFence(0))
	}))
}

func (q *sequence) observes(t *testing.T) string {
	return outcome("observe", q.call(t, 15*time.Second, func(ctx context.Context) error {
		_, err := q.a.Observe(ctx, yarnTarget)
		return err
	}))
}

func (q *sequence) releases(t *testing.T) string {
	now, err := q.Service(t.Context())
	if err != nil || len(now.Ready) < 2 {
		return "nobody to release"
	}
	name := now.Names()[q.rng.IntN(len(now.Ready))]
	err = q.call(t, 20*time.Second, func(ctx context.Context) error {
		return q.a.Release(ctx, yarnTarget, []actuators.Worker{{Name: name}}, q.drain(name))
	})
	q.gone[name] = true
	return outcome("release "+name, err)
}

// killsInstance ends an instance and waits until YARN has noticed: in the second
// before, asking for the number that is there would make YARN lose the one that
// takes its place (docs/yarn.md, limits).
func (q *sequence) killsInstance(t *testing.T) string {
	now, err := q.Service(t.Context())
	if err != nil || len(now.Ready) == 0 {
		return "nobody to kill"
	}
	name := now.Names()[q.rng.IntN(len(now.Ready))]
	id := now.Ready[name]
	q.killed[id] = true
	if !q.KillInstance(id) {
		return name + " runs no more"
	}
	harness.Wait(t, time.Minute, "YARN has noticed that "+name+" ended", func(ctx context.Context) error {
		now, err := q.Service(ctx)
		if err == nil && now.Ready[name] == id {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	return "kill " + name
}

// isFlexedByAnother asks for more at the same time as we do, and for another number:
// of two who ask for the same one, the second makes YARN lose instances
// (docs/yarn.md, limits). Whose number counts, and which is in the definition, is
// for our next change to set right.
func (q *sequence) isFlexedByAnother(t *testing.T) string {
	now, err := q.Service(t.Context())
	if err != nil || now.Wanted == 0 || now.Wanted+3 > most {
		return "nothing to flex"
	}
	done := make(chan error, 1)
	go func() {
		done <- q.Try(t.Context(), http.MethodPut, q.Path()+"/components/"+yarn.Component, map[string]any{"number_of_containers": now.Wanted + 3})
	}()
	said := q.scales(t)
	said = fmt.Sprintf("flex by another (%v), %s", <-done, said)
	q.reconciled(t)
	return said
}

// losesOneInTheDefinition is a decommission of an instance that is not there, what
// we say to it, and our next change.
func (q *sequence) losesOneInTheDefinition(t *testing.T) string {
	nobody := fmt.Sprintf("worker-%d", 1000+q.rng.IntN(1_000_000)) // a second time would change nothing
	absent := map[string]any{"components": []any{map[string]any{"name": yarn.Component, "decommissioned_instances": []string{nobody}}}}
	err := q.Try(t.Context(), http.MethodPut, q.Path(), absent)
	said := fmt.Sprintf("decommission of nobody (%v), %s", err, q.scales(t))
	q.reconciled(t)
	return said
}

func (q *sequence) freezesMaster(t *testing.T) string {
	if q.Master() == 0 {
		return "no ApplicationMaster to freeze"
	}
	q.SignalMaster(t, syscall.SIGSTOP)
	defer q.SignalMaster(t, syscall.SIGCONT)
	return outcome("frozen scale", q.call(t, time.Second, func(ctx context.Context) error {
		return q.a.Scale(ctx, yarnTarget, most, yarnFence(0))
	}))
}

// killsMaster ends the ApplicationMaster, and waits until the next one has found
// the instances.
func (q *sequence) killsMaster(t *testing.T) string {
	if q.Master() == 0 {
		return "no ApplicationMaster to kill"
	}
	q.restarted = true
	q.SignalMaster(t, syscall.SIGKILL)
	said := "kill the ApplicationMaster, " + q.scales(t)
	harness.Wait(t, 2*time.Minute, said+": it is back", func(ctx context.Context) error {
		now, err := q.Service(ctx)
		if err == nil && now.Component != "STABLE" {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	return said
}

func (q *sequence) restartsManager(t *testing.T) string {
	q.manager.Lock()
	defer q.manager.Unlock()
	q.StopManager(t)
	said := q.scales(t)
	q.StartManager(t)
	q.looks(t)
	return "restart the ResourceManager, " + said
}
