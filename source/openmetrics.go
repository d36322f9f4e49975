package source

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/tsdb/fileutil"
)

// importBatch is how many samples of a file are written in one transaction.
const importBatch = 10_000

// Import writes the samples of an OpenMetrics file, such as that of "promtool
// tsdb dump-openmetrics", and says what time they cover. Every sample needs a
// timestamp, and those of one series have to rise.
func (t *Temporary) Import(path string) (oldest, newest time.Time, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return oldest, newest, fmt.Errorf("reading samples: %w", err)
	case !info.Mode().IsRegular():
		return oldest, newest, fmt.Errorf("reading %s: not a file: a folder is read as a TSDB, and what comes from a pipe has to be written to a file first", path)
	case info.Size() == 0: // which cannot be mapped
		return oldest, newest, fmt.Errorf("reading %s: it has no samples", path)
	}
	f, err := fileutil.OpenMmapFile(path)
	if err != nil {
		return oldest, newest, fmt.Errorf("reading %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	low, high, err := t.importText(f.Bytes())
	if err != nil {
		return oldest, newest, fmt.Errorf("reading %s: %w", path, err)
	}
	return time.UnixMilli(low).UTC(), time.UnixMilli(high).UTC(), nil
}

func (t *Temporary) importText(text []byte) (low, high int64, err error) {
	p := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
	low, high = math.MaxInt64, math.MinInt64
	rows := make([]row, 0, importBatch)
	flush := func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		err := t.write(rows)
		rows = rows[:0]
		return err
	}
	samples, newest := 0, &rising{set: newLabelsSet(0)}
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF) && samples == 0:
			return 0, 0, errors.New("it has no samples")
		case errors.Is(err, io.EOF):
			return low, high, flush()
		case err != nil:
			return 0, 0, fmt.Errorf("not the OpenMetrics text format, behind %d samples: %w", samples, err)
		case entry != textparse.EntrySeries:
			continue
		}
		r, err := importedRow(p)
		if err != nil {
			return 0, 0, err
		}
		if !newest.rises(r) {
			return 0, 0, fmt.Errorf("series %s: its sample at %s does not come after the one before", r.labels, instant(r.point.T))
		}
		samples++
		low, high = min(low, r.point.T), max(high, r.point.T)
		if rows = append(rows, r); len(rows) == importBatch {
			if err := flush(); err != nil {
				return 0, 0, err
			}
		}
	}
}

// rising watches that the samples of each series rise in time: the head would
// drop others silently.
type rising struct {
	set *labelsSet
	// last is by the place in the set, and at that of the newest series, as most
	// files have one after the other.
	last []int64
	at   int
}

func (s *rising) rises(r row) bool {
	if len(s.last) == 0 || !labels.Equal(s.set.all[s.at], r.labels) {
		if s.at = s.set.find(r.labels); s.at < 0 {
			s.set.add(r.labels)
			s.at = len(s.last)
			s.last = append(s.last, r.point.T)
			return true
		}
	}
	if r.point.T <= s.last[s.at] {
		return false
	}
	s.last[s.at] = r.point.T
	return true
}

func importedRow(p textparse.Parser) (row, error) {
	var l labels.Labels
	_, ts, v := p.Series()
	p.Labels(&l)
	if ts == nil {
		return row{}, fmt.Errorf("series %s has a sample without a timestamp: it is no record of the past", l)
	}
	if !l.IsValid(model.UTF8Validation) {
		return row{}, fmt.Errorf("series %s has an invalid metric or label name", l)
	}
	return row{labels: l, point: Point{T: *ts, V: v}}, nil
}
