package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Output is how decisions are printed.
type Output string

// The outputs.
const (
	// Text is one line a decision, and one for everything that happens to the
	// cluster.
	Text Output = "text"
	// JSON is one recommendation a line.
	JSON Output = "json"
)

// printer prints decisions as they change. It is a Publisher. A write that
// fails ends the demo: with a closed pipe nobody is left to look at it.
type printer struct {
	mu     sync.Mutex
	w      io.Writer
	output Output
	start  time.Time
	fail   func(error)
}

// Publish implements evaluator.Publisher.
func (p *printer) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	for i := range evaluations {
		if ev := &evaluations[i]; ev.Changed || ev.NewGeneration {
			p.decision(&ev.Recommendation)
		}
	}
}

func (p *printer) decision(r *scaling.Recommendation) {
	if p.output == JSON {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			p.fail(fmt.Errorf("printing a recommendation: %w", err))
			return
		}
		p.write(line.String())
		return
	}
	p.columns(p.clock(r.ObservedAt), string(r.Action), count(r.CurrentWorkers)+" → "+count(r.RecommendedWorkers), string(r.Row), r.Reason)
}

func (p *printer) columns(at, action, count, row, reason string) {
	p.write(fmt.Sprintf("%-8s  %-18s %-7s %-18s %s\n", at, action, count, row, reason))
}

// opening says what will be seen and what the columns are, for somebody who
// watches as it happens.
func (p *printer) opening(s *Scenario, speed float64) {
	if p.output == Text {
		p.write(fmt.Sprintf("scenario %s: %s\n%s of virtual time, %g times as fast as real time; a line is printed when something changes\n",
			s.Name, s.Summary, model.Duration(s.Length), speed))
		p.columns("time", "action", "workers", "row", "reason")
	}
}

// note prints what happens to the cluster.
func (p *printer) note(at time.Time, text string) {
	if p.output == Text {
		p.write(fmt.Sprintf("%s  · %s\n", p.clock(at), text))
	}
}

// action prints a step of an action.
func (p *printer) action(e scaling.Event) {
	x := e.Execution
	if p.output == Text && e.Drain != nil {
		p.write(fmt.Sprintf("%s  ▸ %-16s %-7s %s\n", p.clock(e.At), e.Drain.State, e.Drain.Worker, strings.TrimPrefix(e.Message, string(e.Drain.State)+": ")))
		return
	}
	if p.output != Text || x == nil {
		return
	}
	if n := len(x.Transitions); e.Kind != scaling.EventIneffectiveScaling && n > 0 {
		why := x.Transitions[n-1].Reason
		if why == "" {
			why = "accepted from the webhook"
		}
		p.write(fmt.Sprintf("%s  ▸ %-16s → %-5d %s\n", p.clock(e.At), x.State, x.Target, why))
		return
	}
	p.write(fmt.Sprintf("%s  ▸ %s\n", p.clock(e.At), e.Message))
}

// clock is the time since the start of the demo.
func (p *printer) clock(at time.Time) string {
	d := at.Sub(p.start)
	return fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func (p *printer) write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.w, line); err != nil {
		p.fail(fmt.Errorf("printing a decision: %w", err))
	}
}

func count(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}
