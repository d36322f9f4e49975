package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Temporary is a TSDB for virtual time: samples may lie anywhere on the time
// line, nothing is compacted, or dropped without Forget, and nothing survives
// Close. Rule tests, the demo and simulations write to it and query it through an
// Engine.
type Temporary struct {
	db *tsdb.DB
	// remove is the folder to delete on Close, empty if the caller owns it.
	remove string
	mu     sync.Mutex // one writer at a time, so that order can be checked
}

// temporaryStripes keeps the series hash map small: a test has tens of series,
// a demo hundreds.
const temporaryStripes = 512

// OpenTemporary opens a temporary TSDB in dir, or in a folder of its own that
// Close removes if dir is empty. Logger may be nil.
func OpenTemporary(dir string, logger *slog.Logger) (*Temporary, error) {
	t := &Temporary{}
	if dir == "" {
		made, err := os.MkdirTemp("", "zeta-scaler-tsdb-*")
		if err != nil {
			return nil, fmt.Errorf("creating a folder for the temporary tsdb: %w", err)
		}
		dir, t.remove = made, made
	}
	db, err := tsdb.Open(dir, logger, nil, temporaryOptions(), nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the temporary tsdb in %s: %w", dir, err), t.removeDir())
	}
	db.DisableCompactions()
	t.db = db
	return t, nil
}

// temporaryOptions make the head the whole database.
func temporaryOptions() *tsdb.Options {
	o := tsdb.DefaultOptions()
	// The head refuses samples that lie more than half a block behind its newest
	// one, and is cut into blocks of this length: with a millennium it does
	// neither, whether time starts in 1970 or now. In milliseconds, for a
	// time.Duration ends at 292 years.
	const millennium int64 = 1000 * 365 * 24 * 3600 * 1000
	o.MinBlockDuration = millennium
	o.MaxBlockDuration = millennium
	o.RetentionDuration = 0
	o.WALSegmentSize = -1
	o.NoLockfile = true
	o.StripeSize = temporaryStripes
	o.HeadChunksWriteBufferSize = chunks.MinWriteBufferSize
	return o
}

// Querier makes a Temporary a storage.Queryable; times are Unix milliseconds.
func (t *Temporary) Querier(mint, maxt int64) (storage.Querier, error) {
	return t.db.Querier(mint, maxt)
}

// Forget drops samples that lie before a time, and series that have none but those:
// a simulation of days reads back only a little. Nothing may lie before that time
// that is appended later.
func (t *Temporary) Forget(before time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.db.Head().Truncate(before.UnixMilli()); err != nil {
		return fmt.Errorf("forgetting what lies before %s: %w", instant(before.UnixMilli()), err)
	}
	return nil
}

// Close closes the database and removes its folder if it made it.
func (t *Temporary) Close() error {
	return errors.Join(t.db.Close(), t.removeDir())
}

func (t *Temporary) removeDir() error {
	if t.remove == "" {
		return nil
	}
	return os.RemoveAll(t.remove)
}

// StaleMarker is the value that ends a series, as Prometheus writes it when a
// series vanishes from a target.
func StaleMarker() float64 { return math.Float64frombits(value.StaleNaN) }

// Append writes the points of several series, all or nothing. Points of one
// series must rise strictly in time and lie after what is already there.
func (t *Temporary) Append(series ...Series) error {
	rows, err := flatten(series)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(rows)
}

// row is one sample on its way into the database.
type row struct {
	labels labels.Labels
	point  Point
	// ref is where the database's own reference to the series is kept, so that it is
	// looked up once; nil keeps none.
	ref *storage.SeriesRef
}

// flatten refuses what the head would drop silently when a transaction is
// committed: it compares samples only with what was committed before.
func flatten(series []Series) ([]row, error) {
	var rows []row
	seen := newLabelsSet(len(series))
	for _, s := range series {
		if !seen.add(s.Labels) {
			return nil, fmt.Errorf("series %s is given twice", s.Labels)
		}
		for i, p := range s.Points {
			if i > 0 && p.T <= s.Points[i-1].T {
				return nil, fmt.Errorf("series %s: sample at %s does not come after the one at %s",
					s.Labels, instant(p.T), instant(s.Points[i-1].T))
			}
			rows = append(rows, row{labels: s.Labels, point: p})
		}
	}
	return rows, nil
}

// write appends rows in one transaction; the caller holds mu.
func (t *Temporary) write(rows []row) error {
	app := t.db.AppenderV2(context.Background())
	for _, r := range rows {
		if err := appendRow(app, r); err != nil {
			return errors.Join(err, app.Rollback())
		}
	}
	if err := app.Commit(); err != nil {
		return fmt.Errorf("writing %d samples: %w", len(rows), err)
	}
	return nil
}

func appendRow(app storage.AppenderV2, r row) error {
	if r.labels.Get(model.MetricNameLabel) == "" {
		return fmt.Errorf("series %s has no metric name", r.labels)
	}
	var ref storage.SeriesRef
	if r.ref != nil {
		ref = *r.ref
	}
	ref, err := app.Append(ref, r.labels, 0, r.point.T, r.point.V, nil, nil, storage.AOptions{RejectOutOfOrder: true})
	switch {
	case err == nil:
		if r.ref != nil {
			*r.ref = ref
		}
		return nil
	case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds):
		return fmt.Errorf("series %s: sample at %s lies before a sample that was written earlier: %w", r.labels, instant(r.point.T), err)
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
		return fmt.Errorf("series %s: another value was written for %s: %w", r.labels, instant(r.point.T), err)
	default:
		return fmt.Errorf("series %s: writing the sample at %s: %w", r.labels, instant(r.point.T), err)
	}
}

// instant prints Unix milliseconds for people.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z") }
