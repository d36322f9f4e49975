// Package request is what a command or a scaling system of the operator's is
// asked: one JSON object, the same for exec and webhook.
package request

import (
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Verb is what is asked for.
type Verb string

// The verbs.
const (
	// Scale asks for Want workers in all.
	Scale Verb = "scale"
	// Observe asks how many workers there are.
	Observe Verb = "observe"
	// Release asks to remove Workers, which hold no job.
	Release Verb = "release"
)

// Request is one request. Fields that a verb has no use for are left out of the
// JSON.
type Request struct {
	Verb Verb `json:"verb"`
	// Scope is the scope's key, Labels its labels by name.
	Scope  string            `json:"scope"`
	Labels map[string]string `json:"labels"`
	// Target names what is to be scaled, as configured.
	Target string `json:"target"`
	// Want is how many workers there shall be in all, ≥ 0; nil unless the verb
	// is scale.
	Want *int `json:"want,omitempty"`
	// From is how many Zeta's inventory had, nil if that is unknown.
	From *int `json:"from,omitempty"`
	// MasterEpoch is that of the leader that asks: whoever has seen a greater
	// one refuses. It is 0 with observe.
	MasterEpoch uint64 `json:"masterEpoch,omitempty"`
	// Generation and RecommendationID are what is carried out; ActionID stays
	// the same over retries and later rounds.
	Generation       uint64 `json:"generation,omitempty"`
	RecommendationID string `json:"recommendationId,omitempty"`
	ActionID         string `json:"actionId,omitempty"`
	// Workers are those to release.
	Workers []Worker `json:"workers,omitempty"`
	// Recommendation is all that was decided, as the REST API has it; nil if it
	// is not known.
	Recommendation *scaling.Recommendation `json:"recommendation,omitempty"`
}

// Worker is one worker to release.
type Worker struct {
	// Name is the platform's name for it, Address Zeta's (host:port).
	Name    string `json:"name"`
	Address string `json:"address"`
}

// ToObserve asks how many workers t has.
func ToObserve(t actuators.Target) Request {
	labels := make(map[string]string, len(t.Scope.Labels))
	for _, l := range t.Scope.Labels {
		labels[l.Name] = l.Value
	}
	return Request{Verb: Observe, Scope: t.Scope.Key, Labels: labels, Target: t.Name}
}

// ToScale asks for want workers.
func ToScale(t actuators.Target, want int, f actuators.Fence) Request {
	r := fenced(Scale, t, f)
	r.Want = &want
	return r
}

// ToRelease asks to remove workers.
func ToRelease(t actuators.Target, workers []actuators.Worker, f actuators.Fence) Request {
	r := fenced(Release, t, f)
	for _, w := range workers {
		r.Workers = append(r.Workers, Worker(w))
	}
	return r
}

func fenced(verb Verb, t actuators.Target, f actuators.Fence) Request {
	r := ToObserve(t)
	r.Verb, r.From = verb, f.From
	r.MasterEpoch, r.Generation = f.Epoch, f.Generation
	r.RecommendationID, r.ActionID = f.RecommendationID, f.ActionID
	if f.Recommendation.RecommendationID != "" {
		r.Recommendation = &f.Recommendation
	}
	return r
}
