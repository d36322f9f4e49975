package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// Target is one scraped target of a Temporary at virtual time. It does what
// Prometheus' scrape loop does: target labels win over exposed ones, up and
// the other report series are written, and what vanished since the last scrape
// is marked stale. It is not safe for concurrent use; two targets are.
type Target struct {
	tsdb   *Temporary
	labels labels.Labels
	// live are the series of the last scrape that must be ended when they
	// vanish; those with timestamps of their own are not among them.
	live *labelsSet
	// last is the time of the newest scrape, begun tells whether there is one.
	last  int64
	begun bool
}

// The series that every scrape reports about itself.
const (
	upMetric       = "up"
	durationMetric = "scrape_duration_seconds"
	samplesMetric  = "scrape_samples_scraped"
)

// Target returns a target with the labels that its series get, job and
// instance as a rule.
func (t *Temporary) Target(l labels.Labels) *Target {
	return &Target{tsdb: t, labels: l, live: newLabelsSet(0)}
}

// AppendText writes one scrape: body in the text format of Prometheus or
// OpenMetrics, as contentType says (empty means the former), got at a virtual
// time and after took. It returns how many samples the body held. A body that
// cannot be read is a failed scrape: up is 0, the series are marked stale, and
// the error says why. An error that wraps ErrNotWritten means that nothing was
// written, because the time does not come after the last scrape's.
func (t *Target) AppendText(contentType string, body []byte, at time.Time, took time.Duration) (int, error) {
	rows, live, err := t.parse(contentType, body, at.UnixMilli())
	if err != nil {
		err = fmt.Errorf("reading the exposition of %s: %w", t.labels, err)
		return 0, errors.Join(err, t.AppendFailure(at, took))
	}
	return len(rows), t.commit(scraped{rows: rows, live: live, up: 1, at: at.UnixMilli(), took: took})
}

// AppendFailure writes a scrape that got no answer: up is 0 and every series
// of the last scrape is marked stale.
func (t *Target) AppendFailure(at time.Time, took time.Duration) error {
	return t.commit(scraped{live: newLabelsSet(0), at: at.UnixMilli(), took: took})
}

// End marks every series of the target stale, its report series too, as when a
// target is no longer discovered.
func (t *Target) End(at time.Time) error {
	ts := at.UnixMilli()
	if err := t.checkTime(ts); err != nil {
		return err
	}
	rows := t.vanished(newLabelsSet(0), ts)
	if t.begun {
		for _, name := range []string{upMetric, durationMetric, samplesMetric} {
			rows = append(rows, row{labels: t.report(name), point: Point{T: ts, V: StaleMarker()}})
		}
	}
	if err := t.write(rows); err != nil {
		return err
	}
	t.live, t.last, t.begun = newLabelsSet(0), ts, true
	return nil
}

// ErrNotWritten marks scrapes that were refused as a whole.
var ErrNotWritten = errors.New("scrape not written")

// scraped is what one scrape writes.
type scraped struct {
	rows []row
	live *labelsSet
	up   float64
	at   int64
	took time.Duration
}

func (t *Target) commit(s scraped) error {
	if err := t.checkTime(s.at); err != nil {
		return err
	}
	rows := slices.Concat(s.rows, t.vanished(s.live, s.at), []row{
		{labels: t.report(upMetric), point: Point{T: s.at, V: s.up}},
		{labels: t.report(durationMetric), point: Point{T: s.at, V: s.took.Seconds()}},
		{labels: t.report(samplesMetric), point: Point{T: s.at, V: float64(len(s.rows))}},
	})
	if err := t.write(rows); err != nil {
		return err
	}
	t.live, t.last, t.begun = s.live, s.at, true
	return nil
}

func (t *Target) checkTime(at int64) error {
	if t.begun && at <= t.last {
		return fmt.Errorf("%w: target %s: %s does not come after the last scrape at %s",
			ErrNotWritten, t.labels, instant(at), instant(t.last))
	}
	return nil
}

func (t *Target) write(rows []row) error {
	t.tsdb.mu.Lock()
	defer t.tsdb.mu.Unlock()
	if err := t.tsdb.write(rows); err != nil {
		return fmt.Errorf("%w: target %s: %w", ErrNotWritten, t.labels, err)
	}
	return nil
}

// vanished are the stale markers of the series that are no longer live.
func (t *Target) vanished(live *labelsSet, at int64) []row {
	var rows []row
	for _, l := range t.live.all {
		if live.find(l) < 0 {
			rows = append(rows, row{labels: l, point: Point{T: at, V: StaleMarker()}})
		}
	}
	return rows
}

// parse reads a body into rows and the set of series to watch.
func (t *Target) parse(contentType string, body []byte, at int64) ([]row, *labelsSet, error) {
	p, err := textparse.New(body, cmp.Or(contentType, "text/plain"), labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, nil, err
	}
	var rows []row
	live, all := newLabelsSet(len(t.live.all)), newLabelsSet(len(t.live.all))
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, live, nil
		case err != nil:
			return nil, nil, err
		case entry == textparse.EntryHistogram:
			return nil, nil, errors.New("native histograms are not supported")
		case entry != textparse.EntrySeries:
			continue
		}
		r, own := t.sample(p, at)
		if !r.labels.IsValid(model.UTF8Validation) {
			return nil, nil, fmt.Errorf("series %s has an invalid metric or label name", r.labels)
		}
		if !all.add(r.labels) {
			return nil, nil, fmt.Errorf("series %s is exposed twice", r.labels)
		}
		if !own {
			live.add(r.labels)
		}
		rows = append(rows, r)
	}
}

// sample is the parser's current sample, and whether it has a time of its own.
func (t *Target) sample(p textparse.Parser, at int64) (row, bool) {
	var l labels.Labels
	_, ts, v := p.Series()
	p.Labels(&l)
	if ts != nil {
		at = *ts
	}
	return row{labels: t.relabel(l), point: Point{T: at, V: v}}, ts != nil
}

// relabel adds the target's labels; exposed labels of the same name stay under
// exported_NAME, as without honor_labels.
func (t *Target) relabel(l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	var moved []labels.Label
	t.labels.Range(func(own labels.Label) {
		if exposed := l.Get(own.Name); exposed != "" {
			moved = append(moved, labels.Label{Name: own.Name, Value: exposed})
		}
		b.Set(own.Name, own.Value)
	})
	for _, m := range moved {
		name := model.ExportedLabelPrefix + m.Name
		for b.Get(name) != "" {
			name = model.ExportedLabelPrefix + name
		}
		b.Set(name, m.Value)
	}
	return b.Labels()
}

func (t *Target) report(name string) labels.Labels {
	b := labels.NewBuilder(t.labels)
	b.Set(model.MetricNameLabel, name)
	return b.Labels()
}
