package metrics

import (
	"slices"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// reserved are the label names of the family itself. The linter of rule sets
// refuses them in scope_by; a scope that has one all the same keeps its key.
var reserved = [...]string{
	"scope", "action", "status", "signal", "class", "direction", "bound",
	"ruleset", "version", "digest", "slot_mode", "reason",
}

// scopeLabels are the labels that tell a scope's series apart, sorted by name:
// none for the single scope, whose schema is the STIP's Phase 1 schema, else
// its key and its own labels. What Prometheus would refuse is left out or
// mended, because one bad label fails the whole page; the key, which is
// percent-encoded, keeps the series apart.
func scopeLabels(s scaling.Scope) []*dto.LabelPair {
	if len(s.Labels) == 0 && s.Key == scaling.DefaultScope {
		return nil
	}
	pairs := []*dto.LabelPair{newPair("scope", s.Key)}
	for _, l := range s.Labels {
		taken := slices.ContainsFunc(pairs, func(p *dto.LabelPair) bool { return p.GetName() == l.Name })
		if taken || slices.Contains(reserved[:], l.Name) || strings.HasPrefix(l.Name, "__") ||
			!model.UTF8Validation.IsValidLabelName(l.Name) {
			continue
		}
		pairs = append(pairs, newPair(l.Name, l.Value))
	}
	slices.SortFunc(pairs, byName)
	return pairs
}

func byName(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) }

func newPair(name, value string) *dto.LabelPair {
	value = strings.ToValidUTF8(value, "\uFFFD")
	return &dto.LabelPair{Name: &name, Value: &value}
}

// pairs hands out one shared label pair per name and value of the family's own
// labels: a page of 10,000 scopes repeats the same few hundred all over.
type pairs struct {
	mu    sync.Mutex
	known map[[2]string]*dto.LabelPair
}

// maxPairs bounds what is kept over the life of the process; digests and
// versions of rule sets come and go with reloads.
const maxPairs = 10_000

func (p *pairs) get(name, value string) *dto.LabelPair {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := [2]string{name, value}
	if have := p.known[k]; have != nil {
		return have
	}
	if p.known == nil || len(p.known) >= maxPairs {
		p.known = map[[2]string]*dto.LabelPair{}
	}
	pair := newPair(name, value)
	p.known[k] = pair
	return pair
}

// merge adds labels to a sorted list without touching it.
func merge(sorted []*dto.LabelPair, more ...*dto.LabelPair) []*dto.LabelPair {
	if len(more) == 0 {
		return sorted
	}
	out := make([]*dto.LabelPair, 0, len(sorted)+len(more))
	out = append(append(out, sorted...), more...)
	slices.SortFunc(out, byName)
	return out
}
