// Package drain empties a worker before it is removed: jobs in batch mode are
// waited for, jobs in streaming mode are stopped with a savepoint and restored
// elsewhere, and only a worker without a job is released (spec 4.6).
package drain

import (
	"context"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// Engine is one Zeta cluster. An error says that something is unknown, never
// that there is nothing; control's errors say what may be done about it. All
// methods return within their context and are safe for concurrent use.
type Engine interface {
	Cluster(ctx context.Context) (control.Cluster, error)
	// Worker reads the master's book on the worker of that name: Workers is 0 if
	// none bears it. It fails with control.ErrUnsupported if no attribute tells
	// them apart.
	Worker(ctx context.Context, name string) (control.Slots, error)
	// Tagged reads the book on the workers that have all of the attributes, without
	// the one of the name but.
	Tagged(ctx context.Context, tags map[string]string, but string) (control.Slots, error)
	// Placed names the task groups that run on the member of that address
	// (host:port). It names and proves nothing: fewer than the worker's used slots
	// are jobs without a name. A worker that cannot tell, and an address that is
	// empty, is control.ErrUnsupported; one that is no member is an error.
	Placed(ctx context.Context, address string) ([]control.TaskGroup, error)
	// Jobs are all that run or wait.
	Jobs(ctx context.Context) ([]control.Job, error)
	Job(ctx context.Context, id string) (control.Job, error)
	// StopWithSavepoint asks for it; Job says when it is done. Zeta says yes to any
	// id, also to one that it does not know.
	StopWithSavepoint(ctx context.Context, id string) error
	// Restore submits the job again under its own id, from its savepoint. Zeta
	// ignores it silently while the job has not ended.
	Restore(ctx context.Context, id, name string, c control.Config) error
	// Hold submits a job that takes all slots of a worker and does nothing. id is
	// the caller's choice, so that a lost reply leaves no job without a name.
	Hold(ctx context.Context, id, worker string, slots int) error
	// Cancel ends a job, savepoints included: it is only for Hold's.
	Cancel(ctx context.Context, id string) error
}

// Configs keep what jobs were submitted with.
type Configs interface {
	// Config finds the one config of a job. Its error says why there is none: not
	// registered, two for one job, of another job.
	Config(ctx context.Context, j control.Job) (control.Config, error)
}
