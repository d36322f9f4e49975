// Package past makes up a month of ten clusters in a TSDB folder, and the rule
// set that judges them, for measuring what looking back costs.
package past

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// What there is of the past.
const (
	Scopes   = 10
	Signals  = 7
	Interval = time.Minute

	workers = 4
)

// Begin is the time of the first sample.
func Begin() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

// Judged is the period that is judged of so many days of samples. It ends before
// the newest sample, so that it lies in blocks.
func Judged(days int) (start, end time.Time) {
	return Begin(), Begin().AddDate(0, 0, days).Add(-3 * time.Hour)
}

// RuleSet is the text of a rule set with a condition for more and one for fewer
// workers for each signal.
func RuleSet() string {
	var b strings.Builder
	b.WriteString("format: zeta-scaler/v1\nruleset: bench\nversion: 1.0.0\ninterval: 1m\nscope_by: [cluster]\nslot_mode: fixed\n" +
		"workers: {current: {expr: max by (cluster) (workers)}, reporting: {expr: max by (cluster) (workers)}}\nsignals:\n")
	for i := range Signals {
		class := "saturation"
		if i == 0 {
			class = "blocking"
		}
		fmt.Fprintf(&b, "  - {signal: s%d, class: %s, expr: avg by (cluster) (signal%d), scale_out: {above: 0.9, for: 5m}, scale_in: {below: 0.2, for: 10m}}\n", i, class, i)
	}
	return b.String()
}

// Cluster is the value of the label cluster of a scope.
func Cluster(scope int) string { return fmt.Sprintf("c%02d", scope) }

// Make makes the folder as a Prometheus would, with a sample a minute, unless it
// is there.
func Make(ctx context.Context, folder string, days int) error {
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	unfinished := folder + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := fill(ctx, unfinished, Begin(), Begin().AddDate(0, 0, days)); err != nil {
		return err
	}
	return os.Rename(unfinished, folder)
}

func fill(ctx context.Context, folder string, begin, end time.Time) error {
	var series []labels.Labels
	for s := range Scopes {
		series = append(series, labels.FromStrings("__name__", "workers", "cluster", Cluster(s)))
		for i := range Signals {
			for w := range workers {
				series = append(series, labels.FromStrings("__name__", fmt.Sprintf("signal%d", i), "cluster", Cluster(s), "worker", fmt.Sprint(w)))
			}
		}
	}
	return Write(ctx, folder, series, begin, end, Interval, func(i int, at time.Time) float64 {
		if series[i].Get("worker") == "" {
			return 3
		}
		return 0.5 + 0.5*math.Sin(at.Sub(begin).Hours()/float64(3+i%17)+float64(i))
	})
}

// perCommit is how many samples of each series are committed together.
const perCommit = 60

// Write makes a TSDB folder with a sample of each series, given by its index, at
// every step from begin until before end.
func Write(ctx context.Context, folder string, series []labels.Labels, begin, end time.Time, step time.Duration, value func(i int, at time.Time) float64) (err error) {
	o := tsdb.DefaultOptions()
	o.RetentionDuration = 0
	db, err := tsdb.Open(folder, nil, nil, o, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	refs := make([]storage.SeriesRef, len(series))
	for at := begin; at.Before(end); {
		app := db.AppenderV2(ctx)
		for n := 0; n < perCommit && at.Before(end); n++ {
			for i, l := range series {
				if refs[i], err = app.Append(refs[i], l, 0, at.UnixMilli(), value(i, at), nil, nil, storage.AOptions{}); err != nil {
					return errors.Join(err, app.Rollback())
				}
			}
			at = at.Add(step)
		}
		if err := app.Commit(); err != nil {
			return err
		}
	}
	return db.Compact(ctx)
}
