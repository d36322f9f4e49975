package api

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// signalView is one signal with the progress of its conditions.
type signalView struct {
	Name  string
	Class scaling.Class
	Value string
	// Kind is the style of the value: known, unknown, or none where the signal
	// does not apply.
	Kind    string
	Windows []windowView
}

type windowView struct {
	// Condition is empty for a signal without conditions.
	Condition, State string
	// Kind is the style of the state: sustained, true, false, unknown or none. Way is
	// that of what the condition asks for: out or in.
	Kind, Way string
	Held      string
	// HeldSeconds is at most WindowSeconds, for the bar.
	HeldSeconds, WindowSeconds float64
	// When is the tick at which it counts if nothing changes, WhenIn how long that
	// is from now; empty if it is not filling.
	When, WhenIn string
}

// quiet reports whether a signal has nothing to say: it is known, and no
// condition of it holds.
func (v *signalView) quiet() bool {
	if v.Kind == "none" {
		return true
	}
	return v.Kind == "known" && !slices.ContainsFunc(v.Windows, func(w windowView) bool { return w.Kind != "false" && w.Kind != "none" })
}

func signalViewOf(in *scaling.Input, now time.Time) signalView {
	v := signalView{Name: in.Name, Class: in.Class, Value: measured(in), Kind: "known"}
	switch {
	case !in.Applies:
		v.Kind = "none"
	case !in.Value.Known:
		v.Kind = "unknown"
	}
	for _, w := range in.Windows {
		v.Windows = append(v.Windows, windowViewOf(&w, in.Applies, now))
	}
	return v
}

func windowViewOf(w *scaling.Window, applies bool, now time.Time) windowView {
	v := windowView{
		Condition: fmt.Sprintf("%s if %s %s", direction(w.Direction), w.Comparison, threshold(w.Threshold)),
		State:     w.Truth,
		Kind:      w.Truth,
		Way:       way(w.Direction),
		Held:      fmt.Sprintf("%s of %s", span(w.HeldSeconds), span(w.WindowSeconds)),
	}
	if w.WindowSeconds == 0 {
		v.Held = span(w.HeldSeconds) + ", no window"
	}
	if w.AtLeast {
		v.Held = "at least " + v.Held
	}
	if w.WindowSeconds > 0 {
		v.WindowSeconds, v.HeldSeconds = w.WindowSeconds, min(w.HeldSeconds, w.WindowSeconds)
	}
	if applies && !w.SustainedAt.IsZero() {
		v.When, v.WhenIn = scaling.At(w.SustainedAt), left(w.SustainedAt, now)
	}
	switch {
	case !applies:
		v.State, v.Kind = "does not apply", "none"
	case w.Sustained:
		v.State, v.Kind = "sustained", "sustained"
	}
	return v
}

func direction(d scaling.Direction) string {
	if d == scaling.In {
		return "scale in"
	}
	return "scale out"
}

// way is the style of a direction.
func way(d scaling.Direction) string {
	if d == scaling.In {
		return "in"
	}
	return "out"
}

func threshold(t *float64) string {
	if t == nil {
		return "unbounded"
	}
	return number(*t)
}

func measured(in *scaling.Input) string {
	switch {
	case in.Value.Known:
		return scaling.Quantity(number(in.Value.Number), in.Unit)
	case in.Reason != "":
		return "unknown (" + in.Reason + ")"
	default:
		return "unknown"
	}
}
