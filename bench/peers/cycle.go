package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/bench/past"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// Times of the measurement.
const (
	scrape = 15 * time.Second
	// behind and ahead are how far samples reach back, and how long a run may take.
	behind = 16 * time.Minute
	ahead  = 55 * time.Minute
	// every is the interval of all, and slow that of many rules for each of many
	// scopes, of which a small machine manages no more.
	every = 15 * time.Second
	slow  = time.Minute
	// rest is how long nobody asks once a cycle is over.
	rest = 1500 * time.Millisecond
)

// stage is what all that take part share.
type stage struct {
	o        options
	dir      string
	rs       *rules.RuleSet
	ruleSet  string
	server   *server
	counter  *counter
	clusters []string
	// by are rules over all scopes, scoped those for each.
	by, scoped ruleFile
}

// measureCycle measures what it takes to judge all scopes once.
func measureCycle(ctx context.Context, o options, dir string) (err error) {
	s := &stage{o: o, dir: dir}
	if err := s.prepare(); err != nil {
		return err
	}
	began := time.Now()
	data := filepath.Join(dir, "data")
	if err := fillNow(ctx, data, o.scopes, began); err != nil {
		return fmt.Errorf("filling the server: %w", err)
	}
	if s.server, err = startServer(ctx, o, dir, data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.end()) }()
	if s.counter, err = newCounter(ctx, s.server.url); err != nil {
		return err
	}
	defer s.counter.server.Close()
	take := s.parts()
	for round := range o.rounds {
		for i := range take {
			p := take[(i+round)%len(take)]
			if o.only != "" && o.only != p.name {
				continue
			}
			if time.Since(began) > ahead-behind {
				return errors.New("the samples come to an end: measure fewer rounds at once")
			}
			if err := p.measure(ctx, s, p); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// prepare writes the rules.
func (s *stage) prepare() error {
	_, text, err := rules.Pack(fleet.PackName)
	if err != nil {
		return err
	}
	s.ruleSet = filepath.Join(s.dir, "pack.yaml")
	quick := strings.Replace(string(text), "ruleset: "+fleet.PackName, "ruleset: bench\ninterval: "+every.String(), 1)
	if err := os.WriteFile(s.ruleSet, []byte(quick), 0o600); err != nil {
		return err
	}
	if s.rs, err = rules.ParseFile(s.ruleSet); err != nil {
		return err
	}
	for i := range s.o.scopes {
		s.clusters = append(s.clusters, fleet.ClusterName(i))
	}
	if s.by, err = writeRules(s.dir, "by", s.rs, every, nil, false); err != nil {
		return err
	}
	s.scoped, err = writeRules(s.dir, "scoped", s.rs, s.slowly(), s.clusters, false)
	return err
}

// slowly is the interval of rules for each scope.
func (s *stage) slowly() time.Duration {
	if s.o.scopes > 100 {
		return slow
	}
	return every
}

// queries is how many the rule set asks at each tick.
func (s *stage) queries() (int, error) {
	r, err := evaluator.NewReplayer(evaluator.ReplayOptions{
		RuleSet: s.rs, Start: time.Unix(0, 0), End: time.Unix(3600, 0),
	})
	if err != nil {
		return 0, err
	}
	return len(r.Queries()), nil
}

// fillNow makes the folder of a Prometheus that has scraped the clusters until
// now, and goes on as if it did.
func fillNow(ctx context.Context, folder string, scopes int, now time.Time) error {
	var series []labels.Labels
	var values []float64
	for c := range scopes {
		for _, s := range fleet.Exported(c, []int64{0}) {
			series, values = append(series, s.Labels), append(values, s.Points[0].V)
		}
	}
	return past.Write(ctx, folder, series, now.Add(-behind), now.Add(ahead), scrape, func(i int, _ time.Time) float64 { return values[i] })
}
