package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// measureAccept sends recommendations that nobody has asked for before, each of
// a scope of its own, and between them inserts bare rows. Both come at fixed
// times whether or not the one before is done, and count from when they were
// due, so that a queue shows.
func measureAccept(ctx context.Context, o options, dir string) error {
	slices := int(o.time / o.slice)
	perSlice := max(1, int(float64(o.rate)*o.slice.Seconds()))
	s, err := open(ctx, dir)
	if err != nil {
		return err
	}
	bodies, err := decide(ctx, s, (slices+1)*perSlice) // one slice to warm up
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	bare, err := openBare(ctx, filepath.Join(dir, "bare.db"))
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	to := s.sender(64)
	return errors.Join(s.run(ctx, s.parts(len(bodies), scaling.Webhook), func(ctx context.Context) error {
		// The executor takes every scope over with a write of its own first.
		if err := s.settled(ctx, len(bodies)); err != nil {
			return err
		}
		var webhook, insert latencies
		var allocations uint64
		for i := range slices + 1 {
			part := bodies[i*perSlice : (i+1)*perSlice]
			before := mallocs()
			got, err := openLoop(perSlice, o.rate, func(j int) error { return to.post(ctx, part[j], scaling.VerdictAccepted) })
			if err != nil {
				return err
			}
			after := mallocs()
			own, err := openLoop(perSlice, o.rate, func(int) error { return bare.insert(ctx) })
			if err != nil {
				return err
			}
			if i > 0 {
				webhook, insert, allocations = append(webhook, got...), append(insert, own...), allocations+after-before
			}
		}
		report("Accept", len(webhook),
			figure{webhook.at(0.5), "ms-median"}, figure{webhook.at(0.99), "ms-p99"}, figure{webhook.at(1), "ms-max"},
			figure{insert.at(0.5), "ms-bare-median"}, figure{insert.at(0.99), "ms-bare-p99"},
			figure{webhook.at(0.5) / insert.at(0.5), "×bare-median"}, figure{webhook.at(0.99) / insert.at(0.99), "×bare-p99"},
			figure{float64(allocations) / float64(len(webhook)), "allocs/op"})
		return nil
	}), bare.db.Close())
}

// decide stores a decision for more workers in n scopes and renders the
// notification about each.
func decide(ctx context.Context, s *service, n int) ([][]byte, error) {
	rs, _, err := rules.Pack(fleet.PackName)
	if err != nil {
		return nil, err
	}
	now, have, want := time.Now().UTC(), 4, 5
	bodies := make([][]byte, n)
	var batch state.Batch
	for i := range n {
		scope := scopeOf(i)
		r := scaling.Recommendation{
			Scope: scope.Key, RecommendationID: scaling.RecommendationID(epoch, 1, scope.Key), MasterEpoch: epoch, Generation: 1,
			Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: "blocked jobs 3 > 0 for 5m30s (window 5m); 4 → 5 workers",
			CurrentWorkers: &have, RecommendedWorkers: &want, MetricsValid: true, ObservedAt: now, Since: now, ValidUntil: now.Add(time.Hour),
			RuleSet: scaling.RuleSetRef{Name: rs.Name}, MetricsSnapshot: map[string]scaling.Measurement{},
		}
		for j := range rs.Signals {
			r.MetricsSnapshot[rs.Signals[j].Name] = scaling.Measurement{Value: scaling.Known(float64(j))}
		}
		put, err := state.NewPut(state.Decision, scope.Key, 0, state.DecisionRecord{
			Scope: scope, Epoch: epoch, Generation: 1, Intent: scaling.IntentOf(r.Action, want), Row: r.Row, Since: now, LastTick: now,
			RecommendationID: r.RecommendationID, Recommendation: r, LastSeen: now, FirstTick: now,
		})
		if err != nil {
			return nil, err
		}
		batch.Puts = append(batch.Puts, put)
		if bodies[i], err = notification([]*scaling.Recommendation{&r}); err != nil {
			return nil, err
		}
	}
	tick, err := state.NewPut(state.Tick, rs.Name, 0, state.TickRecord{RuleSet: rs.Name, Last: now})
	if err != nil {
		return nil, err
	}
	batch.Puts = append(batch.Puts, tick)
	_, err = s.store.Apply(ctx, state.NoFence, batch)
	return bodies, err
}

// settled waits until every scope has its record.
func (s *service) settled(ctx context.Context, scopes int) error {
	for {
		records, err := s.store.List(ctx, state.Execution)
		if err != nil || len(records) >= scopes {
			return err
		}
		if err := (evaluator.WallClock{}).WaitUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
			return err
		}
	}
}

// bare is a SQLite file with the settings of state/file and nothing around it.
type bare struct {
	db   *sql.DB
	stmt *sql.Stmt
	row  string
}

func openBare(ctx context.Context, path string) (*bare, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(1000)",
	}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	// state/file has brought the driver.
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE record (key INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	stmt, err := db.PrepareContext(ctx, "INSERT INTO record (value) VALUES (?)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// As long as the record of an action.
	return &bare{db: db, stmt: stmt, row: strings.Repeat("x", 500)}, nil
}

func (b *bare) insert(ctx context.Context) error {
	_, err := b.stmt.ExecContext(ctx, b.row)
	return err
}

// openLoop starts n calls, rate a second, and returns how long each took from
// when it was due.
func openLoop(n, rate int, call func(i int) error) (latencies, error) {
	out, errs := make(latencies, n), make([]error, n)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		due := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			errs[i] = call(i)
			out[i] = time.Since(due)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("of %d calls: %w", n, err)
	}
	return out, nil
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
