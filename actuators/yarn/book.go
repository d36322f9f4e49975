package yarn

import (
	"slices"
	"sync"
	"time"
)

// lateFor is how long a request whose reply was lost may still be carried out: the
// ResourceManager tries for this long by default to reach a service's
// ApplicationMaster (yarn.service.client-am.retry.max-wait-ms).
const lateFor = 15 * time.Minute

// book is what this process knows about the number of instances. Of what was
// there before it began it knows nothing, and takes it as it is.
type book struct {
	mu sync.Mutex
	// application is the run of the service that the rest is about: one that is
	// started anew goes by its definition.
	application string
	// asked are the numbers that it may have from us: those last asked for, or
	// accepted.
	asked []int
	// late are numbers that were asked for and may still take effect, until then.
	late  []int
	until time.Time
	// open says that a request of ours may have left another number in the
	// definition than the one that is kept up. definition is the number that was
	// last seen or written there, -1 if none was.
	open       bool
	definition int
	// removed are the requests by which instances were removed, by name.
	removed map[string]string
}

// asks notes that a number is asked for instead of another; which of the two the
// component gets is open until it is settled.
func (b *book) asks(application string, instead, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.application, b.asked, b.open = application, []int{instead, number}, true
}

// settles notes the number that the component and its definition have.
func (b *book) settles(application string, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.application, b.asked, b.definition, b.open = application, []int{number}, number, false
}

// loses notes that what was asked for last may be carried out late.
func (b *book) loses(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late, b.until, b.open = b.asked, now.Add(lateFor), true
}

// knows reports whether the component may have a number from us. Nothing speaks
// against any before we have asked.
func (b *book) knows(application string, number int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.application != application || slices.Contains(b.asked, number) || b.isLate(number, now)
}

// wrote reports whether the definition may have a number from us.
func (b *book) wrote(application string, number int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.application == application && (slices.Contains(b.asked, number) || b.isLate(number, now))
}

// owes reports whether the definition may have another number than the one that is
// kept up, by our doing.
func (b *book) owes(number int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open || number != b.definition && b.isLate(number, now)
}

// last is the number that was asked for last.
func (b *book) last() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) == 0 {
		return -1
	}
	return b.asked[len(b.asked)-1]
}

func (b *book) isLate(number int, now time.Time) bool {
	return now.Before(b.until) && slices.Contains(b.late, number)
}

// removes notes on whose behalf an instance is removed.
func (b *book) removes(name, actionID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed == nil {
		b.removed = map[string]string{}
	}
	b.removed[name] = actionID
}

// removedBy is the request by which an instance was removed, if we know it.
func (b *book) removedBy(name string) (actionID string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	actionID, known = b.removed[name]
	return actionID, known
}
