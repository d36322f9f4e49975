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
	series *exposedSeries
	// up, duration and samples are what every scrape says about itself.
	up, duration, samples *exposed
	// live are the series of the last scrape that must be ended when they
	// vanish; those with timestamps of their own are not among them.
	live []*exposed
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
	report := func(name string) *exposed {
		b := labels.NewBuilder(l)
		b.Set(model.MetricNameLabel, name)
		return &exposed{labels: b.Labels()}
	}
	return &Target{
		tsdb: t, labels: l, series: newExposedSeries(l),
		up: report(upMetric), duration: report(durationMetric), samples: report(samplesMetric),
	}
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
	t.series.begin()
	return t.commit(scraped{at: at.UnixMilli(), took: took})
}

// End marks every series of the target stale, its report series too, as when a
// target is no longer discovered.
func (t *Target) End(at time.Time) error {
	ts := at.UnixMilli()
	if err := t.checkTime(ts); err != nil {
		return err
	}
	t.series.begin()
	rows := t.vanished(ts)
	if t.begun {
		for _, s := range []*exposed{t.up, t.duration, t.samples} {
			rows = append(rows, s.row(ts, StaleMarker()))
		}
	}
	if err := t.write(rows); err != nil {
		return err
	}
	t.live, t.last, t.begun = nil, ts, true
	return nil
}

// ErrNotWritten marks scrapes that were refused as a whole.
var ErrNotWritten = errors.New("scrape not written")

// scraped is what one scrape writes.
type scraped struct {
	rows []row
	live []*exposed
	up   float64
	at   int64
	took time.Duration
}

func (t *Target) commit(s scraped) error {
	if err := t.checkTime(s.at); err != nil {
		return err
	}
	rows := slices.Concat(s.rows, t.vanished(s.at), []row{
		t.up.row(s.at, s.up), t.duration.row(s.at, s.took.Seconds()), t.samples.row(s.at, float64(len(s.rows))),
	})
	if err := t.write(rows); err != nil {
		return err
	}
	t.live, t.last, t.begun = s.live, s.at, true
	t.series.trim()
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
func (t *Target) vanished(at int64) []row {
	var rows []row
	for _, s := range t.live {
		if s.liveIn != t.series.scrape {
			rows = append(rows, s.row(at, StaleMarker()))
		}
	}
	return rows
}

// parse reads a body into rows and the series to watch.
func (t *Target) parse(contentType string, body []byte, at int64) (rows []row, live []*exposed, err error) {
	p, err := textparse.New(body, cmp.Or(contentType, "text/plain"), labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, nil, err
	}
	t.series.begin()
	rows, live = make([]row, 0, len(t.live)), make([]*exposed, 0, len(t.live))
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
		text, own, v := p.Series()
		s, err := t.series.find(text, p)
		if err != nil {
			return nil, nil, err
		}
		if own != nil {
			rows = append(rows, s.row(*own, v))
			continue
		}
		s.liveIn = t.series.scrape
		live, rows = append(live, s), append(rows, s.row(at, v))
	}
}
