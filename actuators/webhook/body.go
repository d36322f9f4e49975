package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"text/template"
	"time"

	amtemplate "github.com/prometheus/alertmanager/template"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Bounds in bytes.
const (
	maxTemplate = 256 << 10
	maxBody     = 1 << 20
)

// Content types of bodies.
const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// body renders requests with the operator's template.
type body struct {
	template    *template.Template
	contentType string
}

// data is what a template sees: the fields of the request, with counts as
// numbers.
type data struct {
	request.Request
	// Recommendation is never nil.
	Recommendation scaling.Recommendation
}

// Want is how many workers there shall be in all. It fails where that was not
// asked: a template that writes a number all the same would ask for none.
func (d data) Want() (int, error) {
	if d.Request.Want == nil {
		return 0, fmt.Errorf("a request to %[1]s has no number; write {{ if eq .Verb %[1]q }} … {{ .Workers }} … {{ else }} … {{ .Want }} … {{ end }}", d.Verb)
	}
	return *d.Request.Want, nil
}

// loadBody parses the template and tries it, so that what is wrong with it is
// known before the first action; with the release of a worker, too, if there are
// any.
func loadBody(path string, labels, workers []string) (*body, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if info.Size() > maxTemplate {
		return nil, fmt.Errorf("template %s: larger than %d bytes", path, maxTemplate)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return parseBody(path, string(text), labels, workers)
}

func parseBody(name, text string, labels, workers []string) (*body, error) {
	t, err := template.New(name).Funcs(functions()).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	b := &body{template: t, contentType: textType}
	if labels == nil {
		// Which labels there will be is not known, so none is missed in trials.
		defer t.Option("missingkey=error")
		t.Option("missingkey=zero")
	}
	plain, err := b.render(sample(labels, nil, "2 jobs wait for slots"))
	if err != nil {
		return nil, err
	}
	if json.Valid(plain) {
		b.contentType = jsonType
		if _, err := b.render(sample(labels, nil, `job "etl" waits for 2 slots \ 5m`)); err != nil {
			return nil, fmt.Errorf("%w with quotes in a text: write such values with toJson", err)
		}
	}
	if len(workers) > 0 {
		if _, err := b.render(sample(labels, workers, `worker "a" is idle`)); err != nil {
			return nil, fmt.Errorf("%w, for the release of a worker", err)
		}
	}
	return b, nil
}

// functions are those of Alertmanager's templates, without the one that only
// makes sense there.
func functions() template.FuncMap {
	f := template.FuncMap(maps.Clone(amtemplate.DefaultFuncs))
	delete(f, "routeLabels")
	return f
}

// render fails if the template does, or if it wrote no JSON this time.
func (b *body) render(q request.Request) ([]byte, error) {
	d := data{Request: q}
	if q.Recommendation != nil {
		d.Recommendation = *q.Recommendation
	}
	var out bytes.Buffer
	if err := b.template.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	switch {
	case out.Len() == 0:
		return nil, errors.New("template: it writes nothing")
	case out.Len() > maxBody:
		return nil, fmt.Errorf("template: it writes more than %d bytes", maxBody)
	case b.contentType == jsonType && !json.Valid(out.Bytes()):
		return nil, errors.New("template: it writes JSON, but not")
	}
	return out.Bytes(), nil
}

// sample is a request with every field set, to try a template with: to scale, or
// to release the first of workers.
func sample(labels, workers []string, reason string) request.Request {
	from, want := 2, 4
	scope := scaling.Scope{Key: scaling.DefaultScope}
	if len(labels) > 0 {
		pairs := make([]scaling.Label, len(labels))
		for i, name := range labels {
			pairs[i] = scaling.Label{Name: name, Value: "sample"}
		}
		scope = scaling.NewScope(pairs)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := scaling.RecommendationID(1, 1, scope.Key)
	target := actuators.Target{Scope: scope, Name: "sample"}
	fence := actuators.Fence{
		Epoch: 1, Generation: 1, RecommendationID: id, ActionID: id, From: &from,
		Recommendation: scaling.Recommendation{
			Scope: scope.Key, RecommendationID: id, MasterEpoch: 1, Generation: 1,
			Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: reason,
			CurrentWorkers: &from, RecommendedWorkers: &want,
			TriggerConditions: []scaling.Condition{}, BlockingConditions: []scaling.Condition{},
			MetricsSnapshot: map[string]scaling.Measurement{}, MetricsValid: true,
			ObservedAt: at, Timestamp: at, Since: at, ValidUntil: at.Add(time.Minute),
		},
	}
	if len(workers) == 0 {
		return request.ToScale(target, want, fence)
	}
	fence.Recommendation.Action, fence.Recommendation.Row = scaling.ScaleInCandidate, scaling.RowIdle
	q, _ := request.ToRelease(target, actuators.Listed(workers[:1]).Workers(), fence) // a name and an id are there
	return q
}
