// Package file is the state store on local disk: one SQLite file in WAL mode
// with synchronous=FULL. What was acknowledged survives a kill at any moment.
// It needs a local file system; WAL does not work over a network share.
package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// DefaultBusyTimeout is how long a write waits for another process's lock.
const DefaultBusyTimeout = 5 * time.Second

// verifyBelow is the file size up to which Open verifies the whole file; a
// larger one would delay the start, and damage shows when it is read.
const verifyBelow = 64 << 20

// readers is how many reads may run beside the one writer.
const readers = 2

// Options say where the store is.
type Options struct {
	// Path of the file; it and its folder are created if missing.
	Path string `yaml:"path" check:"required,path=file"`
	// BusyTimeout is how long to wait for another process's lock; 0 means
	// DefaultBusyTimeout.
	BusyTimeout time.Duration
}

// Store is safe for concurrent use.
type Store struct {
	path string
	// files are the state's files as they were opened: SQLite would go on writing
	// to one that was deleted, and acknowledge writes that nobody will ever find.
	files  []opened
	closed atomic.Bool
	// writer has exactly one connection, so that writes queue here and not on
	// SQLite's lock.
	writer, reader *sql.DB
	write          writeStatements
	get, list      *sql.Stmt

	mu      sync.Mutex
	history map[string]*sql.Stmt
	piled   state.Piles
}

var _ state.Store = (*Store)(nil)

// Open opens or creates the store. Every error says what to do about it.
func Open(ctx context.Context, o Options) (*Store, error) {
	given, err := filepath.Abs(o.Path)
	if err != nil || o.Path == "" {
		return nil, fmt.Errorf("state file %q: expected the path of a file (state.path)", o.Path)
	}
	path := behindLinks(given)
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if err := checkLog(path); err != nil {
		return nil, explain(path, err)
	}
	inode, err := create(path)
	if err != nil {
		return nil, explain(path, err)
	}
	s := &Store{path: path, files: []opened{{given, inode}}, history: map[string]*sql.Stmt{}}
	if err := s.connect(ctx, o.BusyTimeout); err != nil {
		return nil, explain(path, errors.Join(err, s.Close()))
	}
	return s, nil
}

// smallest is the length of the shortest SQLite file that is not empty, in
// bytes: one page.
const smallest = 512

// create makes folder and file, durably, before SQLite sees them: its own
// errors do not tell a missing folder from a forbidden one.
func create(path string) (os.FileInfo, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("creating its folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := plausible(info); err != nil {
		return nil, err
	}
	d, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // opened for reading
	return info, d.Sync()
}

// plausible refuses what cannot be a state by its kind and length.
func plausible(info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file: choose another state.path")
	}
	if n := info.Size(); n > 0 && n < smallest {
		// SQLite takes it for an empty one.
		return fmt.Errorf("has %d bytes, which is no state and not empty: choose another state.path, or %s", n, startEmpty)
	}
	return nil
}

func (s *Store) connect(ctx context.Context, busy time.Duration) error {
	var err error
	if s.writer, err = pool(s.path, busy, 1, "synchronous(FULL)", "wal_autocheckpoint(1000)"); err != nil {
		return err
	}
	if err := ensureSchema(ctx, s.writer); err != nil {
		return err
	}
	if size := s.files[0].Size(); size > 0 && size < verifyBelow {
		if err := verify(ctx, s.writer); err != nil {
			return err
		}
	}
	if s.reader, err = pool(s.path, busy, readers, "query_only(1)"); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.watch(ctx)
}

// pool opens n connections with the same settings. The settings travel in the
// data source name, so that a connection that is opened later has them too.
func pool(path string, busy time.Duration, n int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_error_rc": {"1"}}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "journal_mode(WAL)")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// verify reads the whole file once.
func verify(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("is damaged (%s): %s", verdict, startEmpty)
	}
	return nil
}

// Get reads one record.
func (s *Store) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	if s.closed.Load() {
		return state.Record{}, state.ErrClosed
	}
	r := state.Record{Kind: kind, Key: key}
	var value []byte
	err := s.get.QueryRowContext(ctx, string(kind), key).Scan(&r.Version, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return state.Record{}, fmt.Errorf("%s record %q: %w", kind, key, state.ErrNotFound)
	}
	if err != nil {
		return state.Record{}, explain(s.path, fmt.Errorf("reading %s record %q: %w", kind, key, err))
	}
	r.Value = value
	return r, nil
}

// List reads all records of a kind, sorted by key.
func (s *Store) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	if s.closed.Load() {
		return nil, state.ErrClosed
	}
	rows, err := s.list.QueryContext(ctx, string(kind))
	if err != nil {
		return nil, explain(s.path, fmt.Errorf("listing %s records: %w", kind, err))
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	out := []state.Record{}
	for rows.Next() {
		r := state.Record{Kind: kind}
		var value []byte
		if err := rows.Scan(&r.Key, &r.Version, &value); err != nil {
			return nil, explain(s.path, fmt.Errorf("listing %s records: %w", kind, err))
		}
		r.Value = value
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(s.path, fmt.Errorf("listing %s records: %w", kind, err))
	}
	return out, nil
}

// Check takes the write lock and gives it back, and makes sure that the file
// is still the one that was opened.
func (s *Store) Check(ctx context.Context) error {
	if s.closed.Load() {
		return state.ErrClosed
	}
	if err := s.inPlace(ctx); err != nil {
		return err
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, err)
	}
	return explain(s.path, tx.Rollback())
}

// Close waits for calls that are under way. It can be called twice.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing state file %s: %w", s.path, err)
	}
	return nil
}
