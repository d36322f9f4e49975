package app

import (
	"log/slog"
	"reflect"

	"github.com/zeta-scaler/zeta-scaler/config"
)

// swap is a change of where samples come from that can be taken back until the
// rest of a reload has worked, too.
type swap struct {
	samples *samples
	// backend and scraped are what was before.
	backend *backend
	scraped scraped
	// source and targets say which of them has changed.
	source, targets bool
}

// swap lets samples come from where the next configuration says. What has not
// changed goes on: a new client begins at the first replica, and values of two
// would alternate; a new exporter counts from 0.
func (s *samples) swap(old, next *config.Config, logger *slog.Logger) (*swap, error) {
	w := &swap{samples: s, backend: s.current.Load(), scraped: s.scraped}
	switch {
	case next.Prometheus != nil && !reflect.DeepEqual(old.Prometheus, next.Prometheus):
		b, err := newRemote(next, logger)
		if err != nil {
			return nil, err
		}
		s.current.Store(b)
		w.source = true
	case s.embedded != nil && changesTargets(old, next):
		t, err := newScraped(next, logger)
		if err != nil {
			return nil, err
		}
		if err := s.embedded.Reload(t.options); err != nil {
			t.close()
			return nil, err
		}
		s.scrapes(t)
		w.targets = true
	}
	return w, nil
}

func changesTargets(old, next *config.Config) bool {
	return old.Embedded.ScrapeConfigs != next.Embedded.ScrapeConfigs || clusterInterval(old) != clusterInterval(next) ||
		!reflect.DeepEqual(old.Clusters, next.Clusters)
}

// rollback makes everything as it was.
func (w *swap) rollback() error {
	s := w.samples
	switch {
	case w.source:
		return s.current.Swap(w.backend).dismiss()
	case w.targets:
		err := s.embedded.Reload(w.scraped.options)
		s.scraped.close()
		s.scrapes(w.scraped)
		return err
	}
	return nil
}

// commit closes what was replaced. That may take as long as a scrape that is
// under way.
func (w *swap) commit() error {
	switch {
	case w.source:
		return w.backend.dismiss()
	case w.targets:
		w.scraped.close()
	}
	return nil
}
