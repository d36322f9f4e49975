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
	// Workers asks which workers there are.
	Workers Verb = "workers"
	// Release asks to remove the one of Request.Workers, which holds no job.
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
	// AtLeast says that Want never takes workers away: where there are more, the
	// greater number stays. It is true with scale, which only asks for more.
	AtLeast bool `json:"atLeast,omitempty"`
	// MasterEpoch is that of the leader that asks: whoever has seen a greater
	// one refuses. It is 0 with observe and workers.
	MasterEpoch uint64 `json:"masterEpoch,omitempty"`
	// Generation and RecommendationID are what is carried out; ActionID stays
	// the same over retries and later rounds.
	Generation       uint64 `json:"generation,omitempty"`
	RecommendationID string `json:"recommendationId,omitempty"`
	ActionID         string `json:"actionId,omitempty"`
	// Workers are those to release: one.
	Workers []Worker `json:"workers,omitempty"`
	// Recommendation is all that was decided, as the REST API has it; nil if it
	// is not known.
	Recommendation *scaling.Recommendation `json:"recommendation,omitempty"`
}

// Worker is one worker to release.
type Worker struct {
	// Name is the platform's name for it, Address Zeta's (host:port), empty if it
	// is not known.
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

// ToName asks which workers t has.
func ToName(t actuators.Target) Request {
	r := ToObserve(t)
	r.Verb = Workers
	return r
}

// ToScale asks for want workers.
func ToScale(t actuators.Target, want int, f actuators.Fence) Request {
	r := fenced(Scale, t, f)
	r.Want, r.AtLeast = &want, true
	return r
}

// ToRelease asks to remove the one worker, which is refused if there is none or
// more than one, or no id under which to ask again.
func ToRelease(t actuators.Target, workers []actuators.Worker, f actuators.Fence) (Request, error) {
	w, err := actuators.ToRelease(workers, f)
	if err != nil {
		return Request{}, err
	}
	r := fenced(Release, t, f)
	r.Workers = []Worker{{Name: w.Name, Address: w.Address}}
	return r, nil
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
