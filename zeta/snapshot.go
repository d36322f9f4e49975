package zeta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Snapshot is what one scrape learned of a cluster. A nil part was not told:
// its endpoint failed (see Errors), is not there in this version, or had not
// answered when the snapshot was taken.
type Snapshot struct {
	Taken     time.Time // when the scrape began
	Took      time.Duration
	Overview  *Overview
	Members   []Member // nil: not told
	Pending   *PendingJobs
	Resources *ResourceWorkers
	// PendingSent is when the reply of /pending-jobs was sent, in Unix
	// milliseconds of the node that answered; 0: not told.
	PendingSent int64
	// ResourcesSent is the same of /resource/workers.
	ResourcesSent int64
	// Unsupported are the endpoints that this version does not have.
	Unsupported map[Endpoint]bool
	// Errors are the failures of this scrape.
	Errors map[Endpoint]error
	// Rejections is the counter of rejected jobs, nil while it cannot be told.
	Rejections *float64
	// Failures counts the failed requests per endpoint since the start.
	Failures map[Endpoint]float64
}

// missing reports whether the endpoint exists, as far as known, and did not
// answer.
func (s Snapshot) missing(e Endpoint) bool {
	told := map[Endpoint]bool{
		EndpointOverview:        s.Overview != nil,
		EndpointMonitoring:      s.Members != nil,
		EndpointPendingJobs:     s.Pending != nil,
		EndpointResourceWorkers: s.Resources != nil,
	}
	return !told[e] && !s.Unsupported[e]
}

// scrape is a snapshot in the making. Several collections may wait for one;
// each takes what is there when its own time ends.
type scrape struct {
	done chan struct{}

	mu   sync.Mutex
	snap Snapshot
}

func (s *scrape) set(change func(*Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.snap)
}

// copy returns the snapshot as it is now.
func (s *scrape) copy() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.snap
	snap.Unsupported = maps.Clone(snap.Unsupported)
	snap.Errors = maps.Clone(snap.Errors)
	return snap
}

// Snapshot asks the cluster and returns what came back before ctx ended. A
// call while another one is running shares its requests.
func (c *Collector) Snapshot(ctx context.Context) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s := c.join(ctx)
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	snap := s.copy()
	if snap.Took == 0 {
		snap.Took = max(0, c.clock().Sub(snap.Taken))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	snap.Failures = maps.Clone(c.failures)
	return snap
}

// join returns the running scrape or starts one. It outlives an asker who goes
// away, for the others that may have joined, but not that asker's deadline.
func (c *Collector) join(ctx context.Context) *scrape {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return c.running
	}
	now := c.clock()
	s := &scrape{done: make(chan struct{})}
	s.snap = Snapshot{Taken: now, Unsupported: map[Endpoint]bool{}, Errors: map[Endpoint]error{}}
	c.rejections.begin(now)
	deadline, _ := ctx.Deadline()
	// A little before the asker's, so that the asker finds it finished.
	deadline = deadline.Add(-time.Until(deadline) / 50)
	started := c.work.start(func() {
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		c.run(ctx, s)
		took := max(0, c.clock().Sub(now))
		s.set(func(snap *Snapshot) { snap.Took = took })
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
		close(s.done)
	})
	if started {
		c.running = s
	} else {
		close(s.done)
	}
	return s
}

// run asks /overview first, because it finds a node that answers and tells the
// version, then the others at once.
func (c *Collector) run(ctx context.Context, s *scrape) {
	overview := c.askOverview(ctx, s)
	var group sync.WaitGroup
	if _, _, _, known := c.client.pin(); known {
		group.Go(func() { c.askMembers(ctx, s) })
		group.Go(func() { c.askPending(ctx, s) })
		group.Go(func() { c.askResources(ctx, s) })
	}
	if overview != nil {
		c.askFailedJobs(ctx, s, overview.FailedJobs)
	}
	group.Wait()
}

func (c *Collector) askOverview(ctx context.Context, s *scrape) *Overview {
	// Half of the time at most: nodes that do not answer must not eat up the
	// time of the other endpoints.
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	o, err := c.client.Overview(ctx)
	c.contact.Note(err)
	c.contact.Tell(c.client.address(), string(o.ProjectVersion))
	if !c.note(s, EndpointOverview, err) {
		return nil
	}
	s.set(func(snap *Snapshot) { snap.Overview = &o })
	return &o
}

func (c *Collector) askMembers(ctx context.Context, s *scrape) {
	members, err := c.client.Members(ctx)
	if c.note(s, EndpointMonitoring, err) {
		s.set(func(snap *Snapshot) { snap.Members = members })
	}
}

func (c *Collector) askPending(ctx context.Context, s *scrape) {
	p, sent, err := c.client.PendingJobs(ctx)
	if err == nil {
		err = cut(p.Cut)
		s.set(func(snap *Snapshot) { snap.Pending, snap.PendingSent = &p, sent })
	}
	c.note(s, EndpointPendingJobs, err)
}

func (c *Collector) askResources(ctx context.Context, s *scrape) {
	r, sent, err := c.client.ResourceWorkers(ctx)
	if c.note(s, EndpointResourceWorkers, err) {
		s.set(func(snap *Snapshot) { snap.Resources, snap.ResourcesSent = &r, sent })
	}
}

// askFailedJobs is never run twice at once, as scrapes are not.
func (c *Collector) askFailedJobs(ctx context.Context, s *scrape, failed Count) {
	c.mu.Lock()
	due := c.rejections.due(failed)
	c.mu.Unlock()
	grew := false
	if due {
		failedJobs, err := c.client.FailedJobs(ctx)
		if err == nil {
			err = cut(failedJobs.Cut)
		}
		ok := c.note(s, EndpointFinishedJobs, err)
		c.mu.Lock()
		if ok {
			c.rejections.read(failed, failedJobs.Jobs)
		} else {
			grew = c.rejections.readPart(failedJobs.Jobs)
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	total, known := c.rejections.value(failed)
	c.mu.Unlock()
	if known || grew {
		s.set(func(snap *Snapshot) { snap.Rejections = &total })
	}
}

// cut says of a reply that was not read to its end that what was read counts.
func cut(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("only a part of the reply was read, and counts: %w", err)
}

// note records how an endpoint did and reports whether it answered. The log has
// a line when an endpoint begins to fail and one when it answers again.
func (c *Collector) note(s *scrape, e Endpoint, err error) bool {
	unsupported := errors.Is(err, ErrUnsupported)
	if unsupported {
		s.set(func(snap *Snapshot) { snap.Unsupported[e] = true })
		err = nil // that there is no such endpoint is an answer
	}
	c.silent[e].Note(err, "cluster", c.cluster, "endpoint", string(e))
	if err == nil {
		return !unsupported
	}
	c.mu.Lock()
	c.failures[e]++
	c.mu.Unlock()
	s.set(func(snap *Snapshot) { snap.Errors[e] = err })
	return false
}
