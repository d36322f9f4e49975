package alerts

import (
	"context"
	"encoding/json"
	"strings"
)

// flush renders what is due, stores what has changed and hands it to the
// senders, in that order: what an Alertmanager knows, a new leader knows too.
func (n *Notifier) flush(ctx context.Context) {
	n.mu.Lock()
	out := n.outbox
	n.outbox = nil
	to := links{n.settings.ExternalURL, n.settings.RunbookURL}
	n.mu.Unlock()
	for i := range out {
		n.annotate(&out[i], to)
	}
	n.save(ctx, out)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fenced {
		return
	}
	messages := make([]message, 0, len(out))
	for i := range out {
		m, err := n.encode(&out[i])
		if err != nil {
			n.logger.Error("alert could not be encoded", "alert", out[i].labels[labelName], "err", err)
			continue
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 {
		return
	}
	for _, s := range n.senders {
		s.add(messages)
	}
}

func (n *Notifier) annotate(o *dueAlert, to links) {
	if o.cluster != nil {
		o.annotations = clusterAnnotations(o.cluster, to)
		return
	}
	if o.evaluation == nil {
		return // what the store has
	}
	annotations, err := n.annotator.render(viewOf(o.labels, o.evaluation, to))
	if err != nil {
		n.logger.Error("annotations of an alert could not be rendered", "alert", o.labels[labelName], "err", err)
	}
	if !o.active() || n.clock().After(o.evaluation.Recommendation.ValidUntil) {
		delete(annotations, annotationFirstInQueue)
	}
	if !o.active() {
		ended(annotations, o)
	}
	o.annotations = annotations
}

// ended makes the annotations of a resolved alert say what has ended, and what
// holds now: rendered anew they speak of a state that is over.
func ended(annotations map[string]string, o *dueAlert) {
	was := o.annotations[annotationSummary]
	if was == "" {
		was = annotations[annotationSummary]
	}
	annotations[annotationSummary] = "over: " + strings.TrimPrefix(was, "over: ")
	if now := annotations["description"]; now != "" {
		annotations["description"] = "Now: " + now
	}
}

// postable is an alert in the format of Alertmanager's API v2.
type postable struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func (n *Notifier) encode(o *dueAlert) (message, error) {
	ends := o.resolvedAt
	if o.active() {
		// From now and not from the tick: a late one must not end an alert.
		ends = n.clock().Add(n.validityOf(o))
	}
	p := postable{Labels: o.labels, Annotations: o.annotations, StartsAt: timestamp(o.startsAt), EndsAt: timestamp(ends)}
	if u := n.settings.ExternalURL; u != "" {
		p.GeneratorURL = u + "/?scope=" + (&view{}).Query(o.labels[labelScope])
	}
	body, err := json.Marshal(p)
	return message{identity: o.identity, body: body}, err
}
