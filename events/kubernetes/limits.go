package kubernetes

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// repeatAfter is how long the same event is not written again.
	repeatAfter = 10 * time.Minute
	// burst is how many events of a scope and severity are written at once, and
	// refill how long it takes until one more is: what client-go allows too.
	burst  = 25
	refill = 5 * time.Minute
	// forgetAfter is when a scope without events is as good as new.
	forgetAfter = burst * refill
	// most bounds the memory: beyond, scopes that are as good as new are
	// forgotten with each event.
	most = 1000
)

// limits says which events are written. The zero value is ready to use.
type limits struct{ buckets map[bucketKey]*bucket }

// bucketKey keeps warnings from being left out because of many other events.
type bucketKey struct {
	scope    string
	severity scaling.Severity
}

type bucket struct {
	// tokens are left as of at.
	tokens  float64
	at      time.Time
	last    said
	lastAt  time.Time
	leftOut int
}

// said is what makes two events the same.
type said struct {
	kind            scaling.EventKind
	action, message string
}

// take reports whether an event is to be written, and how many were left out
// since the last one of its scope and severity.
func (l *limits) take(e scaling.Event, now time.Time) (leftOut int, ok bool) {
	key := bucketKey{e.Scope.Key, e.Severity}
	b := l.buckets[key]
	if b == nil {
		l.forget(now)
		b = &bucket{tokens: burst, at: now}
		l.buckets[key] = b
	}
	b.tokens = min(burst, b.tokens+now.Sub(b.at).Seconds()/refill.Seconds())
	b.at = now
	what := said{e.Kind, action(e), e.Message}
	repeated := what == b.last && now.Sub(b.lastAt) < repeatAfter
	if repeated || b.tokens < 1 {
		b.leftOut++
		return 0, false
	}
	leftOut = b.leftOut
	b.tokens, b.leftOut, b.last, b.lastAt = b.tokens-1, 0, what, now
	return leftOut, true
}

// forget makes room for one more.
func (l *limits) forget(now time.Time) {
	if l.buckets == nil {
		l.buckets = map[bucketKey]*bucket{}
	}
	if len(l.buckets) < most {
		return
	}
	for k, b := range l.buckets {
		if now.Sub(b.at) > forgetAfter {
			delete(l.buckets, k)
		}
	}
}
