package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// signalColumns is how many values a plot of a signal has at most.
const signalColumns = 240

// signalsPage has a plot of each signal of a scope, with its thresholds.
type signalsPage struct {
	Scope, ScopeURL string
	Ranges          []plotRange
	Pictures        []chart.Picture
	// Step is how far apart the values are, in words.
	Step string
}

func (s *server) signalsPageView(ctx context.Context, query url.Values) (pageView, error) {
	key := query.Get("scope")
	ev, ok := s.Board.Evaluation(key)
	switch {
	case key == "":
		return pageView{}, refuse(http.StatusBadRequest, `invalid query: "scope" is missing`)
	case !ok:
		return pageView{}, s.noScope(key)
	case s.Past == nil:
		return pageView{}, refuse(http.StatusNotImplemented, "this process has no past to ask")
	}
	r := rangeOf(query.Get("range"))
	axis := signalAxis(&ev, r)
	bands, err := s.Past.Signals(ctx, ev.Scope, axis)
	switch {
	case errors.Is(err, ErrBusy):
		return pageView{}, refuse(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		s.Logger.Warn("reading the past of signals failed", "scope", key, "err", err)
		return pageView{}, refuse(http.StatusServiceUnavailable, "Prometheus does not give the past of the signals: "+err.Error())
	}
	v := &signalsPage{Scope: scaling.ShownKey(key), ScopeURL: scopeURL(key), Ranges: plotRanges(), Step: span(axis.Step.Seconds())}
	for i := range v.Ranges {
		v.Ranges[i].URL, v.Ranges[i].Selected = linkTo("signals", "scope", key, "range", v.Ranges[i].Name), v.Ranges[i].Name == r.Name
	}
	for i := range ev.Inputs {
		if band := bands[ev.Inputs[i].Name]; band != nil {
			v.Pictures = append(v.Pictures, signalPicture(&ev.Inputs[i], axis, band))
		}
	}
	return pageView{Signals: v}, nil
}

// signalAxis has a column for every tick, or for several.
func signalAxis(ev *scaling.Evaluation, r plotRange) chart.Axis {
	interval := max(time.Duration(ev.Interval*float64(time.Second)), time.Second)
	step := (r.length/signalColumns + interval - 1) / interval * interval
	n := int(r.length / step)
	return chart.Axis{From: ev.Tick.Add(-time.Duration(n-1) * step), Step: step, Columns: n}
}

// signalPicture draws a signal with the thresholds that hold now.
func signalPicture(in *scaling.Input, axis chart.Axis, band *chart.Band) chart.Picture {
	var out, inward *float64
	legend := []chart.LegendEntry{{Class: "signal", Name: "value"}}
	for i := range in.Windows {
		w := &in.Windows[i]
		if w.Threshold == nil {
			continue
		}
		entry := chart.LegendEntry{Class: "out", Name: fmt.Sprintf("scale out if %s %s", w.Comparison, number(*w.Threshold))}
		if w.Direction == scaling.In {
			entry.Class, entry.Name = "in", fmt.Sprintf("scale in if %s %s", w.Comparison, number(*w.Threshold))
			inward = w.Threshold
		} else {
			out = w.Threshold
		}
		legend = append(legend, entry)
	}
	title := in.Name
	if in.Unit != "" {
		title += ", " + in.Unit
	}
	c := chart.New(axis, 130, []*chart.Band{band}, out, inward)
	c.Level(out, "out", "scale out")
	c.Level(inward, "in", "scale in")
	c.Line(band, "signal")
	return chart.Picture{Title: title, SVG: c.SVG(title + " over time"), Legend: legend}
}
