package api

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// FreshInput is an input with how old it is.
type FreshInput struct {
	scaling.Input
	// ObservedAt is the tick at which it was asked for.
	ObservedAt time.Time `json:"observedAt"`
	// AgeSeconds is the time since then, ≥ 0.
	AgeSeconds float64 `json:"ageSeconds"`
	// Fresh is true when the value is known and younger than three intervals.
	Fresh bool `json:"fresh"`
}

// HistoryEntry is one recorded decision.
type HistoryEntry struct {
	// ID rises with every entry.
	ID    int64     `json:"id"`
	Scope string    `json:"scope"`
	At    time.Time `json:"at"`
	scaling.HistoryRecord
}

// listed turns a nil slice into an empty one: lists are never null in JSON.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// complete returns r with empty lists instead of nil ones.
func complete(r scaling.Recommendation) scaling.Recommendation {
	r.TriggerConditions = listed(r.TriggerConditions)
	r.BlockingConditions = listed(r.BlockingConditions)
	if r.MetricsSnapshot == nil {
		r.MetricsSnapshot = map[string]scaling.Measurement{}
	}
	return r
}
