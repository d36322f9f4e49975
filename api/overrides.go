package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// Objections are the reasons why a scope cannot run with what a record sets for it
// over what the configuration says: at now, and when that ends which ends by
// itself. A change at run time and a reload are both held against it. Check may
// know more about bounds; nil knows nothing.
func Objections(key string, conf state.Configured, r state.ControlRecord, now time.Time, check func(string, scaling.Bounds) error) []string {
	out := objectionsAt(key, conf, r, now, check)
	for _, b := range r.Timed(now) {
		for _, why := range objectionsAt(key, conf, r, b.Until, check) {
			if !slices.Contains(out, why) {
				out = append(out, "from "+scaling.At(b.Until)+" on "+why)
			}
		}
	}
	return out
}

// objectionsAt are those of one instant.
func objectionsAt(key string, conf state.Configured, r state.ControlRecord, at time.Time, check func(string, scaling.Bounds) error) []string {
	is := r.Overlay(conf, at)
	var out []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	b := is.Bounds
	add(b.Min < 0, "min_workers is %d, expected 0 or more", b.Min)
	add(b.Max < 1, "max_workers is %d, expected 1 or more", b.Max)
	for _, c := range is.Conflicts {
		add(true, "%s", c.Why)
	}
	add(b.Min != conf.Bounds.Min && b.Min > maxWorkers, "min_workers is %d, expected at most %d", b.Min, maxWorkers)
	add(b.Max != conf.Bounds.Max && b.Max > maxWorkers, "max_workers is %d, expected at most %d", b.Max, maxWorkers)
	known := slices.Contains([]scaling.Mode{scaling.Advisory, scaling.Webhook, scaling.Direct}, is.Mode)
	add(!known, "mode is %q, expected advisory, webhook or direct", handler.Shown(string(is.Mode)))
	if len(out) == 0 && check != nil {
		if err := check(key, b); err != nil {
			add(true, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return out
}

// controls are what was set at run time: the records, and those that cannot be
// decoded.
type controls struct {
	rows       []state.Row[state.ControlRecord]
	unreadable []state.Unreadable
}

func (s *server) readControls(ctx context.Context) (out controls, err error) {
	out.rows, out.unreadable, err = s.controls.ListReadable(ctx)
	return out, err
}

// conflicts say what was set for a scope at run time and does not count, because it
// does not fit the configuration or cannot be read.
func (s *server) conflicts(key string, r state.ControlRecord, unreadable []state.Unreadable, now time.Time) []string {
	var out []string
	for _, c := range r.Overlay(s.configured(key).Configured, now).Conflicts {
		out = append(out, c.String())
	}
	for _, u := range unreadable {
		if u.Key == key || u.Key == state.GlobalKey {
			out = append(out, state.UnreadableControl(u.Key))
		}
	}
	return out
}
