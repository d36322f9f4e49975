package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"golang.org/x/sync/errgroup"
)

// Defaults of EmbeddedOptions.
const (
	DefaultRetention = 15 * 24 * time.Hour
	// DefaultScrapeInterval is for jobs that name none. Prometheus' own minute
	// is coarse for rules that are evaluated every 30 s.
	DefaultScrapeInterval = 15 * time.Second
)

// EmbeddedOptions describe a Prometheus inside this process.
type EmbeddedOptions struct {
	// Path is the folder of the time series database. It is created, and locked
	// while open.
	Path string
	// Retention is how long samples are kept; 0 is DefaultRetention.
	Retention time.Duration
	Scrape    ScrapeOptions
	Engine    EngineOptions
	Logger    *slog.Logger
	// Registerer gets zeta_scaler_query_*; Internals gets what storage, scraping
	// and discovery count about themselves (prometheus_*). Both may be nil.
	Registerer prometheus.Registerer
	Internals  prometheus.Registerer
}

// Embedded is a Prometheus inside this process: it scrapes, stores durably and
// answers queries. It is safe for concurrent use.
type Embedded struct {
	*Engine
	db        *tsdb.DB
	scraper   *scrape.Manager
	discovery *discovery.Manager
	inProcess *inProcessServer
	// plan is what is scraped now, for Reload alone.
	plan    *scrapePlan
	started atomic.Bool
	stop    context.CancelFunc
}

// reloadInterval is how soon new targets are scraped after they were
// discovered.
const reloadInterval = time.Second

// OpenEmbedded opens the database, replaying what a crash left in its log, and
// checks the scrape configuration. Scraping begins with Run.
func OpenEmbedded(opts EmbeddedOptions) (*Embedded, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Internals == nil {
		opts.Internals = prometheus.NewRegistry() // the libraries insist on one
	}
	plan, err := opts.Scrape.plan()
	if err != nil {
		return nil, err // before anything is created on disk
	}
	if err := os.MkdirAll(opts.Path, 0o750); err != nil {
		return nil, fmt.Errorf("creating the tsdb folder: %w", err)
	}
	db, err := tsdb.Open(opts.Path, opts.Logger.With("component", "tsdb"), opts.Internals, durableOptions(opts.Retention), nil)
	if errors.Is(err, syscall.EAGAIN) {
		return nil, fmt.Errorf("opening the tsdb in %s: another process has it open: stop that one, "+
			"or give this one its own embedded.path: %w", opts.Path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the tsdb in %s: %w", opts.Path, err)
	}
	e, err := newEmbedded(opts, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := e.apply(plan); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.plan = plan
	return e, nil
}

// durableOptions are those of a Prometheus server with this retention.
func durableOptions(retention time.Duration) *tsdb.Options {
	o := tsdb.DefaultOptions()
	keep := cmp.Or(retention, DefaultRetention)
	o.RetentionDuration = keep.Milliseconds()
	// Blocks are deleted as a whole, so that they must stay short against the
	// retention.
	o.MaxBlockDuration = min(max(o.RetentionDuration/10, o.MinBlockDuration), (31 * 24 * time.Hour).Milliseconds())
	return o
}

func newEmbedded(opts EmbeddedOptions, db *tsdb.DB) (*Embedded, error) {
	opts.Engine.Logger = cmp.Or(opts.Engine.Logger, opts.Logger)
	if opts.Engine.Registerer == nil {
		opts.Engine.Registerer = opts.Registerer
	}
	engine, err := NewEngine(opts.Engine, db)
	if err != nil {
		return nil, err
	}
	logger := slog.New(quiet{opts.Logger.Handler()})
	e := &Embedded{Engine: engine, db: db, inProcess: newInProcessServer(opts.Logger)}
	e.scraper, err = scrape.NewManager(&scrape.Options{
		// Targets are scraped as soon as they are known, not 5 s later.
		DiscoveryReloadOnStartup: true,
		DiscoveryReloadInterval:  model.Duration(reloadInterval),
		HTTPClientOptions:        []commonconfig.HTTPClientOption{commonconfig.WithDialContextFunc(e.inProcess.dial)},
	}, logger.With("component", "scrape"), nil, nil, db, opts.Internals)
	if err != nil {
		return nil, fmt.Errorf("creating the scrape manager: %w", err)
	}
	sdMetrics, err := discovery.CreateAndRegisterSDMetrics(opts.Internals)
	if err != nil {
		return nil, fmt.Errorf("creating the discovery metrics: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.discovery = discovery.NewManager(ctx, logger.With("component", "discovery"), opts.Internals, sdMetrics, discovery.Updatert(reloadInterval))
	if e.discovery == nil {
		stop()
		return nil, errors.New("creating the discovery manager: its metrics are registered already")
	}
	return e, nil
}

// Aside returns another engine over the same samples, with limits of its own: for
// those whose questions must not take what the rules need. It ends with the
// database.
func (e *Embedded) Aside(opts EngineOptions) (*Engine, error) { return NewEngine(opts, e.db) }

// Reload replaces what is scraped, or changes nothing if that is wrong; one at a
// time. Targets that stay are scraped on as before. Series of targets that go are marked
// stale, except those of a job in Configs that goes as a whole: as in
// Prometheus, they are seen until the lookback delta has passed.
func (e *Embedded) Reload(opts ScrapeOptions) error {
	plan, err := opts.plan()
	if err != nil {
		return err
	}
	if err := e.apply(plan); err != nil {
		return errors.Join(err, e.apply(e.plan))
	}
	e.plan = plan
	return nil
}

func (e *Embedded) apply(p *scrapePlan) error {
	e.inProcess.set(p.handlers)
	if err := e.scraper.ApplyConfig(p.config); err != nil {
		return fmt.Errorf("applying the scrape configuration: %w", err)
	}
	if err := e.discovery.ApplyConfig(p.discovery); err != nil {
		return fmt.Errorf("applying the discovery configuration: %w", err)
	}
	return nil
}

// Run scrapes until ctx ends. It can be called once.
func (e *Embedded) Run(ctx context.Context) error {
	if e.started.Swap(true) {
		return errors.New("the embedded prometheus ran already")
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := e.inProcess.serve(); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving in-process targets: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := e.discovery.Run(); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("discovering targets: %w", err)
		}
		return nil
	})
	g.Go(func() error { return e.scraper.Run(e.discovery.SyncCh()) })
	g.Go(func() error {
		<-ctx.Done()
		e.stop()
		e.scraper.Stop()
		return e.inProcess.close()
	})
	return g.Wait()
}

// Close closes engine and database. Run must have ended.
func (e *Embedded) Close() error {
	e.stop()
	return errors.Join(e.Engine.Close(), e.db.Close())
}
