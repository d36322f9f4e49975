package file

import (
	"context"
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// SetMaxPages limits the file's growth as a full disk would.
func SetMaxPages(ctx context.Context, s *Store, pages int) error {
	_, err := s.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	return err
}

// Pragmas asks the writer for its settings.
func Pragmas(ctx context.Context, s *Store, names ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		var v string
		if err := s.writer.QueryRowContext(ctx, "PRAGMA "+name).Scan(&v); err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// HistoryPlan is how SQLite would answer a filter.
func HistoryPlan(ctx context.Context, s *Store, f state.Filter) (string, error) {
	text, args := selectHistory(f)
	rows, err := s.reader.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "\n"), rows.Err()
}

// HoldWriter takes the one writing connection until release is called.
func HoldWriter(ctx context.Context, s *Store) (release func() error, err error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Close, nil
}
