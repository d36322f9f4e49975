package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// scrape writes one scope.
type scrape struct {
	c  *Collector
	e  *entry
	ch chan<- prometheus.Metric
}

// sample is one value. It carries its labels ready made: client_golang's own
// would be built anew for each of the up to 60 values of a scope.
type sample struct {
	family
	value  float64
	labels []*dto.LabelPair
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(m *dto.Metric) error {
	m.Label = s.labels
	if s.counter {
		m.Counter = &dto.Counter{Value: &s.value}
	} else {
		m.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// send exports a value; one that is not a number is unknown, and what is
// unknown is absent.
func (s *scrape) send(f family, v float64, labels ...*dto.LabelPair) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	s.ch <- &sample{family: f, value: v, labels: merge(s.e.labels, labels...)}
}

func (s *scrape) sendInt(f family, v *int, labels ...*dto.LabelPair) {
	if v != nil {
		s.send(f, float64(*v), labels...)
	}
}

func (s *scrape) sendBool(f family, v bool, labels ...*dto.LabelPair) {
	n := 0.0
	if v {
		n = 1
	}
	s.send(f, n, labels...)
}

func (s *scrape) label(name, value string) *dto.LabelPair { return s.c.pairs.get(name, value) }

// expired reports whether nothing has been published for so long that the last
// decision must not be acted on: its values are unknown by now, and absent.
func (s *scrape) expired() bool {
	return s.c.Clock != nil && s.c.Clock().After(s.e.Recommendation.ValidUntil)
}

// identity is what stays true of a scope between ticks.
func (s *scrape) identity() {
	f, r := &s.c.families, &s.e.Recommendation
	s.send(f.generation, float64(r.Generation))
	s.send(f.epoch, float64(r.MasterEpoch))
	s.sendBool(f.paused, s.e.Paused)
	s.send(f.mode, modeNumber(s.e.Mode))
	s.send(f.observed, float64(s.e.Tick.UnixMilli())/1000)
	s.send(f.workerBound, float64(s.e.MinWorkers), s.label("bound", "min"))
	s.sendInt(f.workerBound, s.e.MaxWorkers, s.label("bound", "max"))
	s.send(f.ruleSet, 1, s.label("ruleset", r.RuleSet.Name),
		s.label("version", r.RuleSet.Version), s.label("digest", r.RuleSet.Digest))
}

// modeNumber is a mode as a number, which dashboards map to words: a label would
// be a name that scopes could not have.
func modeNumber(m scaling.Mode) float64 {
	switch m {
	case scaling.Webhook:
		return 1
	case scaling.Direct:
		return 2
	default:
		return 0
	}
}

func (s *scrape) recommendation() {
	f, r := &s.c.families, &s.e.Recommendation
	s.sendInt(f.recommended, r.RecommendedWorkers)
	s.sendInt(f.current, r.CurrentWorkers)
	if r.RecommendedWorkers != nil && r.CurrentWorkers != nil {
		s.send(f.delta, float64(*r.RecommendedWorkers-*r.CurrentWorkers))
	}
	s.sendBool(f.valid, r.MetricsValid)
	s.sendBool(f.ineffective, r.HeldBy(scaling.BlockerIneffective))
	s.sendInt(f.stale, r.StaleWorkerCount)
	for _, b := range bounds {
		s.sendBool(f.limited, r.HeldBy(b.blocker), s.label("bound", b.label))
	}
}

func (s *scrape) actions() {
	f := &s.c.families
	for i, a := range scaling.Actions() {
		s.send(f.recommendations, float64(s.e.recommendations[i]), s.label("action", string(a)))
	}
	status := ""
	if x := s.e.Execution; x != nil {
		status = string(x.State)
	}
	for _, x := range Statuses() {
		s.sendBool(f.actionStatus, x == status, s.label("status", x))
	}
	s.send(f.cooldown, s.cooldown())
}

// cooldown is what is left now of what was left at the tick.
func (s *scrape) cooldown() float64 {
	left := s.e.CooldownRemainingSeconds
	if s.c.Clock != nil {
		end := s.e.Tick.Add(time.Duration(left * float64(time.Second)))
		left = end.Sub(s.c.Clock()).Seconds()
	}
	return max(left, 0)
}

// inputs exports each input metric once: from the signal that names it, else
// from the one that the STIP means by it.
func (s *scrape) inputs() {
	for i := range s.c.families.inputs {
		in := &s.c.families.inputs[i]
		source := s.find(func(x *scaling.Input) bool { return x.Export == in.export })
		if source == nil {
			source = s.find(func(x *scaling.Input) bool { return x.Export == "" && x.Name == in.signal })
		}
		if source == nil || !source.Value.Known {
			continue
		}
		if in.export != slotUtilization {
			s.send(in.family, source.Value.Number)
		} else if s.e.SlotMode == scaling.FixedSlots {
			s.send(in.family, source.Value.Number, s.label("slot_mode", string(s.e.SlotMode)))
		}
	}
}

func (s *scrape) find(match func(*scaling.Input) bool) *scaling.Input {
	for i := range s.e.Inputs {
		if match(&s.e.Inputs[i]) {
			return &s.e.Inputs[i]
		}
	}
	return nil
}

func (s *scrape) signals() {
	f := &s.c.families
	for i := range s.e.Inputs {
		in := &s.e.Inputs[i]
		signal := s.label("signal", in.Name)
		if in.Value.Known {
			s.send(f.signalValue, in.Value.Number, signal, s.label("class", string(in.Class)))
		}
		for j := range in.Windows {
			w := &in.Windows[j]
			direction := s.label("direction", string(w.Direction))
			s.send(f.signalHeld, w.HeldSeconds, signal, direction)
			s.send(f.signalWindow, w.WindowSeconds, signal, direction)
			if w.Threshold != nil {
				s.send(f.signalThreshold, *w.Threshold, signal, direction)
			}
			if !w.SustainedAt.IsZero() {
				s.send(f.signalSustained, float64(w.SustainedAt.UnixMilli())/1000, signal, direction)
			}
		}
	}
}

// next says when something else will be recommended.
func (s *scrape) next() {
	if n := s.e.Next; n != nil {
		s.send(s.c.families.nextAction, float64(n.At.UnixMilli())/1000, s.label("action", string(n.Action)))
	}
}

func (s *scrape) shadows() {
	f := &s.c.families
	for i := range s.e.Shadows {
		sh := &s.e.Shadows[i]
		s.sendInt(f.shadow, sh.RecommendedWorkers,
			s.label("ruleset", sh.RuleSet.Name), s.label("version", sh.RuleSet.Version))
	}
	if len(s.e.Shadows) > 0 {
		s.send(f.disagreements, float64(s.e.disagreements))
	}
}
