package backtest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// queryTimeout bounds one query, as a Prometheus server does.
const queryTimeout = 2 * time.Minute

// Place is where samples come from; exactly one field is set.
type Place struct {
	// API says how a Prometheus API is asked. Queries may take longer than there.
	API *source.RemoteOptions
	// Folder is the TSDB folder of a Prometheus.
	Folder string
	// File is an OpenMetrics file.
	File string
}

// Opened is a place that answers.
type Opened struct {
	evaluator.Source
	// Name is what reports call it, without a password.
	Name string
	// Newest is the time of its newest sample; zero if it is not known, as that of
	// a server.
	Newest time.Time

	closers []func() error
}

// Close gives back what was opened.
func (o *Opened) Close() error {
	var errs []error
	for _, closer := range slices.Backward(o.closers) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// Open opens a place for samples up to an instant.
func (p Place) Open(ctx context.Context, until time.Time, logger *slog.Logger) (*Opened, error) {
	o := &Opened{}
	var err error
	switch {
	case p.API != nil:
		err = o.remote(*p.API, logger)
	case p.Folder != "":
		err = o.folder(ctx, p.Folder, until, logger)
	case p.File != "":
		err = o.file(p.File, logger)
	default:
		err = errors.New("no source of samples is given")
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Opened) remote(opts source.RemoteOptions, logger *slog.Logger) error {
	opts.Timeout, opts.Logger = queryTimeout, logger
	remote, err := source.NewRemote(opts)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, remote.Close)
	o.Source, o.Name = remote, remote.Pinned()
	return nil
}

func (o *Opened) folder(ctx context.Context, dir string, until time.Time, logger *slog.Logger) error {
	f, err := source.OpenFolder(ctx, dir, until, logger)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, f.Close)
	engine, err := source.NewEngine(source.EngineOptions{Logger: logger}, f)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, engine.Close)
	o.Source, o.Name = engine, filepath.Clean(dir)
	_, o.Newest, _ = f.Span()
	return nil
}

func (o *Opened) file(path string, logger *slog.Logger) error {
	db, err := source.OpenTemporary("", logger)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, db.Close)
	_, newest, err := db.Import(path)
	if err != nil {
		return err
	}
	engine, err := source.NewEngine(source.EngineOptions{Logger: logger}, db)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, engine.Close)
	o.Source, o.Name, o.Newest = engine, filepath.Clean(path), newest
	return nil
}
