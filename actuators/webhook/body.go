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
	// Want is how many workers there shall be in all.
	Want int
	// Recommendation is never nil.
	Recommendation scaling.Recommendation
}

// loadBody parses the template and tries it, so that what is wrong with it is
// known before the first action.
func loadBody(path string, labels []string) (*body, error) {
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
	return parseBody(path, string(text), labels)
}

func parseBody(name, text string, labels []string) (*body, error) {
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
	plain, err := b.render(sample(labels, "2 jobs wait for slots"))
	if err != nil {
		return nil, err
	}
	if !json.Valid(plain) {
		return b, nil
	}
	b.contentType = jsonType
	if _, err := b.render(sample(labels, `job "etl" waits for 2 slots \ 5m`)); err != nil {
		return nil, fmt.Errorf("%w with quotes in a text: write such values with toJson", err)
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
	if q.Want != nil {
		d.Want = *q.Want
	}
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

// sample is a request with every field set, to try a template with.
func sample(labels []string, reason string) request.Request {
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
	return request.ToScale(actuators.Target{Scope: scope, Name: "sample"}, want, actuators.Fence{
		Epoch: 1, Generation: 1, RecommendationID: id, ActionID: id, From: &from,
		Recommendation: scaling.Recommendation{
			Scope: scope.Key, RecommendationID: id, MasterEpoch: 1, Generation: 1,
			Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: reason,
			CurrentWorkers: &from, RecommendedWorkers: &want,
			TriggerConditions: []scaling.Condition{}, BlockingConditions: []scaling.Condition{},
			MetricsSnapshot: map[string]scaling.Measurement{}, MetricsValid: true,
			ObservedAt: at, Timestamp: at, Since: at, ValidUntil: at.Add(time.Minute),
		},
	})
}
