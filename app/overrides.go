package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// overridesTimeout bounds reading what was set at run time.
const overridesTimeout = 10 * time.Second

// checkOverrides refuses a reload with which something that was set at run time no
// longer fits: the law is that of a change at run time. What does not fit already,
// because it was so at the start, keeps no reload away.
func (s *service) checkOverrides(ctx context.Context, old, next *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, overridesTimeout)
	defer cancel()
	rows, _, err := state.Controls(s.store).ListReadable(ctx)
	if err != nil {
		return fmt.Errorf("reading what was set at run time, which the configuration has to fit: %w", err)
	}
	was, is := derive(old), derive(next)
	now := time.Now()
	var misfits []string
	for _, row := range rows {
		_, evaluated := s.board.Evaluation(row.Key)
		_, listed := is.listed[row.Key]
		if row.Key == state.GlobalKey || !listed && (!evaluated || !next.ScopeDefaults.Discover) {
			continue
		}
		why := is.objections(row.Key, row.Value, now)
		if len(why) == 0 || len(was.objections(row.Key, row.Value, now)) > 0 {
			continue
		}
		misfits = append(misfits, fmt.Sprintf("scope %q: %s (%s); take it back with: %s",
			row.Key, strings.Join(why, "; "), setBy(row.Value, now), takeBack(row.Key, row.Value, now)))
	}
	if len(misfits) == 0 {
		return nil
	}
	return fmt.Errorf("the new configuration does not fit what was set at run time: %s", strings.Join(misfits, "; "))
}

func (d *derived) objections(scope string, r state.ControlRecord, now time.Time) []string {
	return api.Objections(scope, d.configured(scope).Configured, r, now, d.check)
}

// setBy says who has set what.
func setBy(r state.ControlRecord, now time.Time) string {
	var out []string
	if r.MinWorkers != nil {
		out = append(out, fmt.Sprintf("%s %d", scaling.MinWorkers, *r.MinWorkers))
	}
	if r.MaxWorkers != nil {
		out = append(out, fmt.Sprintf("%s %d", scaling.MaxWorkers, *r.MaxWorkers))
	}
	if r.Mode != nil {
		out = append(out, "mode "+string(*r.Mode))
	}
	words := strings.Join(out, " and ")
	if words != "" {
		words += " set at run time, last changed " + scaling.At(r.UpdatedAt)
		if r.By != "" {
			words += " by " + r.By
		}
	}
	for _, b := range r.Timed(now) {
		words = strings.TrimPrefix(words+"; "+b.String(), "; ")
	}
	return words
}

// takeBack is the command that ends what was set.
func takeBack(key string, r state.ControlRecord, now time.Time) string {
	timed := func(name scaling.BoundName) bool {
		return slices.ContainsFunc(r.Timed(now), func(b scaling.TimedBound) bool { return b.Bound == name })
	}
	out := "zeta-scaler config set --scope " + scaling.Argument(key)
	if r.MinWorkers != nil || timed(scaling.MinWorkers) {
		out += " --min-workers configured"
	}
	if r.MaxWorkers != nil || timed(scaling.MaxWorkers) {
		out += " --max-workers configured"
	}
	if r.Mode != nil {
		out += " --mode configured"
	}
	return out
}
