package evaluator

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// cell is what one query said about one scope at one tick.
type cell struct {
	v float64
	n int
	// master is the label value of a workers.master query.
	master string
}

// track is one program on one scope: its windows and its newest decision.
type track struct {
	member *member
	// kept is the state after the last final tick. provisional goes on from it
	// while the source gives no answer, and is dropped when it answers again;
	// nil until that happens.
	kept, provisional *State
	samples           Samples
	decision          Decision
}

// member is one rule set of a group: the active one or a shadow.
type member struct {
	*Program
	// queries maps the program's queries to the group's.
	queries []int
	summary []*summary
	// spare is what the next Step writes to; it then changes places with the
	// state of the track.
	spare *State
}

// scopeState is everything that a group knows about one scope.
type scopeState struct {
	scaling.Scope
	listed *ScopeConfig
	// known marks a cluster of the configuration that is not listed as a scope.
	known bool
	cells []cell
	// tracks[0] is the active rule set, the others are shadows.
	tracks []track
	// first is the tick at which the scope began to exist, lastSeen the newest
	// one with a sample of it; Unix milliseconds.
	first, lastSeen int64
	// unseen is for how many milliseconds of ticks there was no sample.
	unseen    int64
	published published
	limits    scaling.Limits
	// told are the limits that everybody was told of, nil if nobody knows.
	told *state.ToldLimits
}

// scopeTable finds scopes by the label values of a sample.
type scopeTable struct {
	by     []string
	byKey  map[string]*scopeState
	sorted []*scopeState
	buf    []byte
	// ignored counts samples that lack a scope_by label, since the last look.
	ignored int
}

func newScopeTable(by []string) *scopeTable {
	return &scopeTable{by: by, byKey: map[string]*scopeState{}}
}

// lookupKey joins the scope_by values of a label set with a byte that cannot
// be part of them. ok is false when one is missing. The result is valid until
// the next call.
func (t *scopeTable) lookupKey(ls labels.Labels) (key []byte, ok bool) {
	t.buf = t.buf[:0]
	for _, name := range t.by {
		v := ls.Get(name)
		if v == "" {
			return nil, false
		}
		t.buf = append(append(t.buf, v...), separator)
	}
	return t.buf, true
}

// find returns the scope that a sample belongs to, nil if there is none yet;
// ok is false if the sample belongs to no scope at all.
func (t *scopeTable) find(ls labels.Labels) (s *scopeState, ok bool) {
	key, ok := t.lookupKey(ls)
	if !ok {
		return nil, false
	}
	return t.byKey[string(key)], true
}

// labelsOf takes the scope's own labels from a sample.
func (t *scopeTable) labelsOf(ls labels.Labels) []scaling.Label {
	out := make([]scaling.Label, 0, len(t.by))
	for _, name := range t.by {
		out = append(out, scaling.Label{Name: name, Value: ls.Get(name)})
	}
	return out
}

// separator ends every value of a lookup key; no UTF-8 text has it.
const separator = 0xff

// joinValues is lookupKey for a scope's own labels.
func joinValues(ls []scaling.Label) string {
	var key strings.Builder
	for _, l := range ls {
		key.WriteString(l.Value)
		key.WriteByte(separator)
	}
	return key.String()
}

func (t *scopeTable) add(s *scopeState) {
	t.byKey[joinValues(s.Labels)] = s
	i := sort.Search(len(t.sorted), func(i int) bool { return t.sorted[i].Key >= s.Key })
	t.sorted = slices.Insert(t.sorted, i, s)
}

// remove forgets the scopes for which gone is true and returns them.
func (t *scopeTable) remove(gone func(*scopeState) bool) []*scopeState {
	var out []*scopeState
	kept := t.sorted[:0]
	for _, s := range t.sorted {
		if gone(s) {
			out = append(out, s)
			continue
		}
		kept = append(kept, s)
	}
	clear(t.sorted[len(kept):])
	t.sorted = kept
	if len(out) > 0 {
		for k, s := range t.byKey {
			if gone(s) {
				delete(t.byKey, k)
			}
		}
	}
	return out
}

// labelsFor orders a listed scope's match by scope_by.
func labelsFor(by []string, match map[string]string) ([]scaling.Label, error) {
	out := make([]scaling.Label, 0, len(by))
	for _, name := range by {
		v, ok := match[name]
		if !ok || v == "" {
			return nil, fmt.Errorf("scope %v has no value for label %q of scope_by", match, name)
		}
		out = append(out, scaling.Label{Name: name, Value: v})
	}
	if len(match) > len(by) {
		return nil, fmt.Errorf("scope %v names labels that are not in scope_by %v", match, by)
	}
	return out, nil
}
