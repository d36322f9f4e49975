package scaling

import (
	"fmt"
	"strings"
	"time"
)

// QueueHead is the first job of a scope's queue, as its exporter saw it: evidence
// for people. Nothing is decided from it.
type QueueHead struct {
	JobID string `json:"jobId"`
	// Reason is why Zeta lets it wait, such as RESOURCE_NOT_ENOUGH; empty if it does
	// not say.
	Reason string `json:"reason"`
	// RequiredSlots are those that it needs in all, LackingSlots those that it still
	// lacks; nil when unknown.
	RequiredSlots *int `json:"requiredSlots"`
	LackingSlots  *int `json:"lackingSlots"`
	// WaitedSeconds is for how long it had waited at ObservedAt, ≥ 0; nil when
	// unknown.
	WaitedSeconds *float64  `json:"waitedSeconds"`
	ObservedAt    time.Time `json:"observedAt"`
}

// String says it in words, the numbers that are not known left out.
func (h *QueueHead) String() string {
	parts := []string{"job " + h.JobID}
	if n := h.RequiredSlots; n != nil {
		parts = append(parts, "needs "+Counted(*n, "slot"))
	}
	switch n := h.LackingSlots; {
	case n == nil:
	case h.RequiredSlots == nil:
		parts = append(parts, "lacks "+Counted(*n, "slot"))
	default:
		parts = append(parts, fmt.Sprintf("lacks %d", *n))
	}
	if s := h.WaitedSeconds; s != nil {
		parts = append(parts, "waits "+Span(time.Duration(*s)*time.Second))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts[0] + " " + strings.Join(parts[1:], ", ")
}

// Span is a duration as people say it: 45s, 5m, 1h30m.
func Span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
