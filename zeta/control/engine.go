package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// Options are what an Engine is made of.
type Options struct {
	// Cluster says whom to ask and how. It must be valid.
	Cluster zeta.ClusterConfig
	// Attribute is the member attribute whose value is the worker's name on its
	// platform; empty if the workers bear none, which leaves much unsupported.
	Attribute string
	// Transport replaces network and credentials, for tests and simulations; nil:
	// that of Cluster.
	Transport http.RoundTripper
	// Long is shared with other clients, so that all their long replies together
	// take the memory of one; nil: there is no such bound.
	Long outgoing.LongReplies
}

// Engine is one Zeta cluster, asked by REST v1 or v2, whichever its nodes serve.
// All methods return within their context and a time-out of their own, and are
// safe for concurrent use.
type Engine struct {
	client    *zeta.Client
	attribute string
	// turn is held by who asks what a zeta.Client asks one at a time.
	turn chan struct{}
}

// New makes an engine. It asks nothing yet.
func New(o Options) (*Engine, error) {
	client, err := zeta.NewClient(zeta.ClientOptions{Cluster: o.Cluster, Transport: o.Transport, Long: o.Long})
	if err != nil {
		return nil, err
	}
	return &Engine{client: client, attribute: o.Attribute, turn: make(chan struct{}, 1)}, nil
}

// Close ends what is in flight and waits for it.
func (e *Engine) Close() { e.client.Close() }

// alone runs f while nobody else is in here.
func (e *Engine) alone(ctx context.Context, f func() error) error {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.turn }()
	return f()
}

// Cluster looks at the whole cluster. It fails if anything of it but Settled
// cannot be told.
func (e *Engine) Cluster(ctx context.Context) (Cluster, error) {
	var o zeta.Overview
	var members []Member
	var master zeta.Address
	told := false
	err := e.alone(ctx, func() (err error) {
		if o, err = e.client.Overview(ctx); err != nil {
			return err
		}
		members, master, told, err = e.members(ctx)
		return err
	})
	if err != nil {
		return Cluster{}, err
	}
	c := Cluster{
		Version: string(o.ProjectVersion), Members: members,
		Running: int(o.RunningJobs.Value), Failed: int(o.FailedJobs.Value), Pending: int(o.PendingJobs.Value),
	}
	if c.Slots, err = slotsOf(o); err != nil {
		return Cluster{}, err
	}
	if !o.RunningJobs.Known || !o.FailedJobs.Known {
		return Cluster{}, errors.New("asking for the overview: it does not say how many jobs run and failed")
	}
	if !o.PendingJobs.Known && o.Version().HasQueue() {
		if c.Pending, err = e.waiting(ctx); err != nil {
			return Cluster{}, err
		}
	}
	if told {
		c.Settled = e.settled(ctx, master)
	}
	return c, nil
}

// waiting counts the jobs that wait for slots, where the overview does not.
func (e *Engine) waiting(ctx context.Context) (int, error) {
	jobs, err := e.Jobs(ctx)
	n := 0
	for _, j := range jobs {
		if j.Status == Pending {
			n++
		}
	}
	return n, err
}

func slotsOf(o zeta.Overview) (Slots, error) {
	total, free := o.TotalSlots, o.UnassignedSlots
	if !o.Workers.Known || !total.Known || !free.Known || free.Value > total.Value {
		return Slots{}, errors.New("asking for the overview: its workers and slots do not add up")
	}
	return Slots{Workers: int(o.Workers.Value), Total: int(total.Value), Used: int(total.Value - free.Value)}, nil
}

// Worker reads the master's book on the worker of that name; Workers is 0 if
// there is none. Without an attribute it fails with ErrUnsupported.
func (e *Engine) Worker(ctx context.Context, name string) (Slots, error) {
	if e.attribute == "" {
		return Slots{}, fmt.Errorf("reading the slots of worker %q: no member attribute tells the workers apart: %w", name, ErrUnsupported)
	}
	o, err := zeta.Ask(ctx, e.client, zeta.Request{Path: "/overview", Query: url.Values{e.attribute: {name}}}, zeta.DecodeOverview)
	if err != nil {
		return Slots{}, fmt.Errorf("reading the slots of worker %q: %w", name, err)
	}
	s, err := slotsOf(o)
	if err != nil {
		return Slots{}, fmt.Errorf("reading the slots of worker %q: %w", name, err)
	}
	return s, nil
}

// Jobs are all that run or wait.
func (e *Engine) Jobs(ctx context.Context) ([]Job, error) {
	jobs, err := zeta.Ask(ctx, e.client, zeta.Request{Path: "/running-jobs", Long: true}, decodeJobs)
	if err != nil {
		return nil, fmt.Errorf("asking for the jobs: %w", err)
	}
	return jobs, nil
}

// Job is one job, of whatever status. It fails with ErrNoJob if Zeta does not
// know it.
func (e *Engine) Job(ctx context.Context, id string) (Job, error) {
	if _, err := parseID(id); err != nil {
		return Job{}, err
	}
	job, err := zeta.Ask(ctx, e.client, zeta.Request{Path: "/job-info/" + id}, func(r io.Reader) (Job, error) { return decodeJob(r, id) })
	if err != nil {
		return Job{}, fmt.Errorf("asking for job %s: %w", id, err)
	}
	job.Checkpoint = e.checkpoint(ctx, id)
	return job, nil
}

// checkpoint is the job's latest one, 0 where that cannot be told. REST v1 is
// not asked: what it has no path for it takes for a map, and makes it.
func (e *Engine) checkpoint(ctx context.Context, id string) int64 {
	node, err := e.client.Node(ctx)
	if err != nil || node.V1 || node.Version.Before(2, 3, firstCheckpoints) {
		return 0
	}
	n, err := zeta.Ask(ctx, e.client, zeta.Request{Path: "/jobs/checkpoints/" + id}, decodeCheckpoint)
	if err != nil {
		return 0
	}
	return n
}

// firstCheckpoints is the first 2.3.x that may tell of checkpoints by REST.
const firstCheckpoints = 10

// parseID reads the id of a job, the only text that becomes a part of a path.
func parseID(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return 0, fmt.Errorf("%q is no job id, which is a whole number", outgoing.OneLine(id, 40))
	}
	return n, nil
}
