package alerts

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// Defaults.
const (
	DefaultResendDelay   = time.Minute
	DefaultQueueCapacity = 10_000
	DefaultDrainTimeout  = 5 * time.Second
)

// sweepEvery is how often the alerts of scopes that are not evaluated any more
// are looked after.
const sweepEvery = 15 * time.Second

// Settings are what a reload may change.
type Settings struct {
	// Alertmanagers all get every alert; none: nothing is sent nor kept.
	Alertmanagers []Endpoint
	// ResendDelay is the least time after which an alert is sent again; it is
	// sent at the first tick that is not earlier. Default 1m.
	ResendDelay time.Duration
	// QueueCapacity is how many alerts wait for each Alertmanager, ≥ 1; beyond
	// it the oldest are dropped. Default 10 000.
	QueueCapacity int
	// ExternalURL is under which users reach the service, for links; empty: no
	// links.
	ExternalURL string
	// RunbookURL is the runbook, whose sections are named by alerts in small
	// letters. Default: that of the service, or DefaultRunbookURL without an
	// ExternalURL.
	RunbookURL string
}

func (s Settings) withDefaults() Settings {
	if s.ResendDelay <= 0 {
		s.ResendDelay = DefaultResendDelay
	}
	if s.QueueCapacity <= 0 {
		s.QueueCapacity = DefaultQueueCapacity
	}
	s.ExternalURL = strings.TrimRight(s.ExternalURL, "/")
	if s.RunbookURL == "" && s.ExternalURL != "" {
		s.RunbookURL = s.ExternalURL + "/runbook"
	}
	s.RunbookURL = cmp.Or(s.RunbookURL, DefaultRunbookURL)
	return s
}

// Options are what a notifier is made of; Store, Epoch and Logger are required.
type Options struct {
	Settings
	// Store keeps the alerts that have fired.
	Store state.Store
	// Epoch is this leader's. Once a newer one is stored, nothing is written or
	// sent any more.
	Epoch  uint64
	Logger *slog.Logger
	// Registerer gets the counters; nil: nobody sees them.
	Registerer prometheus.Registerer
	// Clock tells how far endsAt lies ahead; nil is time.Now.
	Clock func() time.Time
	// HTTPOptions are for every client, such as another way to dial.
	HTTPOptions []promconfig.HTTPClientOption
	// DrainTimeout bounds how long Run goes on with what is queued once its
	// context has ended. Default 5s.
	DrainTimeout time.Duration
}

// Notifier is a publisher of the evaluator. Its methods are safe for
// concurrent use.
type Notifier struct {
	store       state.Store
	stored      *state.Table[state.AlertRecord]
	fence       state.Fence
	logger      *slog.Logger
	clock       func() time.Time
	drain       time.Duration
	httpOptions []promconfig.HTTPClientOption
	annotator   *annotator
	instruments *instruments
	loaded      time.Time
	// wake has a token while there may be something in outbox or dirty.
	wake chan struct{}

	mu       sync.Mutex
	settings Settings
	senders  []*sender
	// running is true while Run runs; sending waits for the senders.
	running bool
	sending sync.WaitGroup
	scopes  map[string]*scopeAlerts
	// unattended are the scopes with alerts that no tick looks after: those that are
	// gone, and those from the store that were not evaluated yet.
	unattended map[string]bool
	outbox     []dueAlert
	// dirty are the scopes whose record has to be written.
	dirty map[string]bool
	// fenced is true once a newer leader has taken over.
	fenced bool
	// unstored is of writing records.
	unstored *trouble.State
}

// dueAlert is an alert that is due, as it was then.
type dueAlert struct {
	alert
	// key is that of the scope or cluster.
	key string
	// evaluation and cluster are what the alert was found in, nil for one that
	// this process has only from the store.
	evaluation *scaling.Evaluation
	cluster    *contact.Status
}

// New reads the alerts that an earlier leader has left. Nothing is sent before
// Run runs.
func New(ctx context.Context, o Options) (*Notifier, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	an, err := newAnnotator()
	if err != nil {
		return nil, err
	}
	n := &Notifier{
		store: o.Store, stored: state.Alerts(o.Store, state.Fence(o.Epoch)), fence: state.Fence(o.Epoch),
		logger: o.Logger, clock: o.Clock, drain: o.DrainTimeout,
		httpOptions: o.HTTPOptions, annotator: an,
		instruments: newInstruments(o.Registerer), loaded: o.Clock(), wake: make(chan struct{}, 1),
		scopes: map[string]*scopeAlerts{}, unattended: map[string]bool{}, dirty: map[string]bool{},
		unstored: trouble.New(o.Logger, slog.LevelError, "alerts could not be stored", "alerts are stored again"),
	}
	if err := n.load(ctx); err != nil {
		return nil, err
	}
	change, err := n.Prepare(o.Settings)
	if err != nil {
		return nil, err
	}
	change.Apply()
	return n, nil
}

// Publish takes over one tick's evaluations. It only notes what is due and
// never waits.
func (n *Notifier) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	now := n.clock()
	n.mu.Lock()
	if len(n.senders) > 0 && !n.fenced {
		for _, s := range gone {
			n.abandon(s.Key, now)
		}
		for i := range evaluations {
			n.observe(&evaluations[i])
		}
	}
	n.mu.Unlock()
	n.notify()
}

func (n *Notifier) notify() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Notifier) observe(ev *scaling.Evaluation) {
	key := ev.Scope.Key
	p := n.scopes[key]
	if p == nil {
		p = &scopeAlerts{}
		n.scopes[key] = p
	}
	delete(n.unattended, key)
	due, changed := p.observe(ev, n.settings.ResendDelay)
	n.send(p, due)
	if changed {
		n.dirty[key] = true
	}
}

// abandon resolves the alerts of a scope that is evaluated no more.
func (n *Notifier) abandon(key string, now time.Time) {
	p := n.scopes[key]
	if p == nil {
		return
	}
	abandoned := p.abandon(now)
	n.unattended[key] = true
	due, changed := p.due(now, n.settings.ResendDelay)
	n.send(p, due)
	if abandoned || changed {
		n.dirty[key] = true
	}
	n.tidy(key, p)
}

// tidy lets go of an unattended scope once nothing of it has to be sent again.
func (n *Notifier) tidy(key string, p *scopeAlerts) {
	if len(p.alerts) == 0 {
		delete(n.unattended, key)
		n.dirty[key] = true
	}
}

func (n *Notifier) send(p *scopeAlerts, due []*alert) {
	for _, a := range due {
		n.outbox = append(n.outbox, p.dueAlert(a))
	}
}

func (s *scopeAlerts) dueAlert(a *alert) dueAlert {
	return dueAlert{alert: *a, key: s.scope.Key, evaluation: s.latest, cluster: s.cluster}
}

// sweep does for unattended scopes what ticks do for all others.
func (n *Notifier) sweep() {
	now := n.clock()
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.unattended {
		p := n.scopes[key]
		if !p.gone {
			// Left by an earlier leader: it may only not have been evaluated yet.
			if now.Sub(n.loaded) < retention {
				continue
			}
			if p.abandon(now) {
				n.dirty[key] = true
			}
		}
		due, changed := p.due(now, n.settings.ResendDelay)
		n.send(p, due)
		if changed {
			n.dirty[key] = true
		}
		n.tidy(key, p)
	}
}

// resend sends everything again that the last tick spoke for. An alert that no
// tick has spoken for since it ran out stays out.
func (n *Notifier) resend() {
	now := n.clock()
	for _, p := range n.scopes {
		evaluated := p.latest != nil && now.Sub(p.latest.Tick) < n.validity(p.latest)
		if !evaluated && p.cluster == nil {
			continue
		}
		n.send(p, p.alerts)
	}
}

// validity is for how long an Alertmanager takes an alert for active without
// hearing of it again: two requests in a row may fail.
func (n *Notifier) validity(ev *scaling.Evaluation) time.Duration {
	return 4 * max(time.Duration(ev.Interval*float64(time.Second)), n.settings.ResendDelay)
}

// Contacts say of each Alertmanager how it takes alerts.
func (n *Notifier) Contacts() []contact.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []contact.Status
	for _, s := range n.senders {
		out = append(out, s.contact.Status())
	}
	return out
}

func (n *Notifier) validityOf(o *dueAlert) time.Duration {
	if o.cluster != nil {
		return clusterValidity(n.settings.ResendDelay)
	}
	return n.validity(o.evaluation)
}

// Run stores and sends what is due until ctx ends, and then what is still
// queued, for at most the drain time-out. It returns nil: an Alertmanager that
// is away is no reason to fail.
func (n *Notifier) Run(ctx context.Context) error {
	n.mu.Lock()
	n.running = true
	for _, s := range n.senders {
		n.start(s)
	}
	n.mu.Unlock()
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			n.sweep()
			n.flush(ctx)
		case <-n.wake:
			n.flush(ctx)
		}
	}
	n.flush(ctx)
	n.mu.Lock()
	n.running = false
	for _, s := range n.senders {
		s.stop(n.drain)
	}
	n.mu.Unlock()
	n.sending.Wait()
	return nil
}

func (n *Notifier) start(s *sender) { n.sending.Go(s.run) }
