package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/document"
)

// reload reads the configuration again and swaps to it, all of it or nothing.
// Reloads take turns; while files are read, leaders may change.
func (s *service) reload(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	select {
	case s.reloading <- struct{}{}:
		defer func() { <-s.reloading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	cfg, err := rereading(ctx, s.load)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.cfg
	if err == nil {
		err = s.swap(ctx, cfg)
	}
	s.process.Reloaded(err == nil, time.Now())
	if err != nil {
		s.refused.Store(&api.ReloadFailure{At: time.Now().UTC(), Error: firstOf(err)})
		s.logger.Error("reload failed, the old configuration stays", "err", err)
		return err
	}
	s.refused.Store(nil)
	changed := changes(old, s.cfg)
	s.logger.Info("configuration reloaded", "file", s.cfg.File, "rule_sets", len(s.cfg.Rules), "listed_scopes", len(s.cfg.Scopes),
		"changes", len(changed))
	for _, c := range changed {
		s.logger.Info("reload changed", "what", c)
	}
	return nil
}

// firstOf is what is wrong on one line, for those who read without a credential:
// no line of the file is quoted.
func firstOf(err error) string {
	list, ok := errors.AsType[*document.ErrorList](err)
	if !ok || len(list.Diagnostics) == 0 {
		return document.Printable(err.Error(), "")
	}
	text := document.Printable(list.Diagnostics[0].String(), "")
	if more := len(list.Diagnostics) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

func (s *service) swap(ctx context.Context, cfg *config.Config) error {
	if err := sameFixedParts(s.cfg, cfg); err != nil {
		return err
	}
	if err := s.checkOverrides(ctx, s.cfg, cfg); err != nil {
		return err
	}
	setup, err := s.setup(cfg)
	if err != nil {
		return err
	}
	swap, err := s.samples.swap(s.cfg, cfg, s.logger)
	if err != nil {
		return err
	}
	if t := s.term.Load(); t != nil {
		if err := t.reload(ctx, setup); err != nil {
			return errors.Join(err, swap.rollback())
		}
	}
	if t := s.term.Load(); t == nil || !t.drainer.Busy() {
		s.engines.keep(setup.Drains)
	}
	s.cfg = cfg
	s.running.Store(cfg)
	s.warn(cfg)
	if err := swap.commit(); err != nil {
		s.logger.Warn("closing the replaced source", "err", err)
	}
	// The level was checked when the configuration was loaded.
	return s.level.Set(cfg.Log.Level)
}

// database is what of an embedded Prometheus is only read at a start: nil if
// there is none.
func database(e *config.Embedded) *config.Embedded {
	if e == nil {
		return nil
	}
	return &config.Embedded{Path: e.Path, Retention: e.Retention}
}

// part is a part of the configuration before and after a reload.
type part struct {
	name      string
	old, next any
}

// sameFixedParts refuses a reload that changes what is only read at a start:
// half of a configuration must never run.
func sameFixedParts(old, next *config.Config) error {
	parts := []part{
		{"web", old.Web, next.Web},
		{"log.format", old.Log.Format, next.Log.Format},
		{"embedded", database(old.Embedded), database(next.Embedded)},
		{"state", old.State, next.State},
		{"leadership", old.Leadership, next.Leadership},
		{"history", old.History, next.History},
		{"events", old.Events, next.Events},
		{"metrics", old.Metrics, next.Metrics},
	}
	handlers := maps.Clone(old.Handlers())
	maps.Copy(handlers, next.Handlers())
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		parts = append(parts, part{"event_" + name, old.EventOptions[name], next.EventOptions[name]})
	}
	return needsRestart(parts)
}

// needsRestart names the parts that have changed, if any has.
func needsRestart(parts []part) error {
	var changed []string
	for _, p := range parts {
		if !reflect.DeepEqual(p.old, p.next) {
			changed = append(changed, p.name)
		}
	}
	switch len(changed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s has changed, which needs a restart", changed[0])
	default:
		return fmt.Errorf("%s have changed, which needs a restart", strings.Join(changed, ", "))
	}
}
