package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/zeta-scaler/zeta-scaler/database"
)

// tableIn is the table lease of a database; package state/postgres makes it.
type tableIn struct{ db *database.Database }

// The queries. The time at which a server was started stands for its run: after
// a failover it is that of another server.
const (
	selectLease = `
SELECT turn, holder, (extract(epoch FROM duration) * 1000)::bigint, renewed + duration <= clock_timestamp(),
  pg_postmaster_start_time(), server = pg_postmaster_start_time(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM lease
`
	// Not only the turn is compared: one that was lost in a failover may come
	// again, and what was seen on another server counts for nothing on this one.
	updateLease = `
UPDATE lease SET turn = turn + 1, holder = $1, server = pg_postmaster_start_time(),
  since = CASE WHEN holder = $1 THEN since ELSE clock_timestamp() END,
  renewed = clock_timestamp(), duration = $2::bigint * interval '1 millisecond'
WHERE turn = $3 AND holder = $4 AND pg_postmaster_start_time() = $5
RETURNING turn, holder, (extract(epoch FROM duration) * 1000)::bigint, false, server, true, (extract(epoch FROM renewed) * 1000)::bigint
`
)

func (t tableIn) look(ctx context.Context) (row, error) { return t.read(ctx, selectLease) }

func (t tableIn) write(ctx context.Context, old row, holder string, duration time.Duration) (row, bool, error) {
	r, err := t.read(ctx, updateLease, holder, duration.Milliseconds(), old.turn, old.holder, old.server)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, false, nil
	}
	return r, err == nil, err
}

// read runs a statement once: package leadership tries again.
func (t tableIn) read(ctx context.Context, text string, args ...any) (r row, err error) {
	err = t.db.Query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var millis int64
		err := c.QueryRow(ctx, text, args...).Scan(&r.turn, &r.holder, &millis, &r.over, &r.server, &r.own, &r.millis)
		r.duration = time.Duration(millis) * time.Millisecond
		return err
	})
	return r, err
}
