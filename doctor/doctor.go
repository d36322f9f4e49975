// Package doctor walks the chain from a Zeta cluster to the actuator, link by
// link, and says of each whether it holds, and if not, what to do next. It
// changes nothing: what it sends to an Alertmanager and to the webhook is empty.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// Verdict is what a finding says about a link.
type Verdict string

// The verdicts. Only Broken makes a chain fail.
const (
	Holds   Verdict = "ok"
	Broken  Verdict = "broken"
	Doubt   Verdict = "doubt"
	Skipped Verdict = "skipped"
)

// mark is how people see it.
func (v Verdict) mark() string {
	switch v {
	case Holds:
		return "✓"
	case Broken:
		return "✗"
	case Doubt:
		return "!"
	}
	return "–"
}

// Finding is what was seen at one link of the chain.
type Finding struct {
	// Link is the part of the chain, such as "zeta" or "alertmanager".
	Link string `json:"link"`
	// Subject is which one: a cluster, an address, a scope. It may be empty.
	Subject string  `json:"subject,omitempty"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	// Next is what to do, empty if nothing has to be done.
	Next string `json:"next,omitempty"`
}

// Options are what the chain is known by; Config is required.
type Options struct {
	Config *config.Config
	// Service is the URL of the running service, Token a bearer token for it,
	// empty for none.
	Service string
	Token   string
	// CallbackToken is the one that Alertmanager sends to the webhook, empty if
	// that is not known here.
	CallbackToken string
	// Timeout bounds each question; 0 is 10 s.
	Timeout time.Duration
	// Now is time.Now if nil.
	Now func() time.Time
}

// timeout bounds a question.
const timeout = 10 * time.Second

// chain is one walk.
type chain struct {
	Options
	cfg *config.Config
	// tell is called with every finding, in the chain's order.
	tell func(Finding)
	// answers says that a Prometheus did, running that the service did.
	answers bool
	running bool
	logger  *slog.Logger
}

// Walk examines every link in its order and tells what it finds. It returns how
// many are broken; it stops early when ctx ends.
func Walk(ctx context.Context, o Options, tell func(Finding)) int {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout <= 0 {
		o.Timeout = timeout
	}
	broken := 0
	c := &chain{Options: o, cfg: o.Config, logger: slog.New(slog.DiscardHandler), tell: func(f Finding) {
		if f.Verdict == Broken {
			broken++
		}
		tell(f)
	}}
	for _, link := range []func(context.Context){
		c.zeta, c.prometheus, c.ruleSets, c.service, c.store, c.alertmanagers, c.callback, c.actuators,
	} {
		if ctx.Err() != nil {
			break
		}
		link(ctx)
	}
	return broken
}

func (c *chain) ok(link, subject, format string, args ...any) {
	c.tell(Finding{Link: link, Subject: subject, Verdict: Holds, Found: fmt.Sprintf(format, args...)})
}

func (c *chain) bad(link, subject, next, format string, args ...any) {
	c.tell(Finding{Link: link, Subject: subject, Verdict: Broken, Found: fmt.Sprintf(format, args...), Next: next})
}

func (c *chain) doubt(link, subject, next, format string, args ...any) {
	c.tell(Finding{Link: link, Subject: subject, Verdict: Doubt, Found: fmt.Sprintf(format, args...), Next: next})
}

func (c *chain) skip(link, subject, format string, args ...any) {
	c.tell(Finding{Link: link, Subject: subject, Verdict: Skipped, Found: fmt.Sprintf(format, args...)})
}

// advice says what to do about an error, or what else to try.
func (c *chain) advice(err error, key, http, orElse string) string {
	return cmp.Or(outgoing.CauseOf(err).Advice(key, http), orElse)
}

// within bounds one question.
func (c *chain) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.Timeout)
}

// Print writes a finding for people: a line, and what to do below it.
func Print(w io.Writer, f Finding) error {
	subject := ""
	if f.Subject != "" {
		subject = " " + f.Subject
	}
	_, err := fmt.Fprintf(w, "%s %s%s: %s\n", f.Verdict.mark(), f.Link, subject, f.Found)
	if err == nil && f.Next != "" {
		_, err = fmt.Fprintf(w, "    → %s\n", f.Next)
	}
	return err
}
