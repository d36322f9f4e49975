package rules

import (
	"maps"
	"slices"
)

// labelSet is a set of label names; nil is the empty one.
type labelSet map[string]bool

func setOf(names ...string) labelSet {
	s := labelSet{}
	for _, n := range names {
		s[n] = true
	}
	return s
}

// plus is the union.
func (s labelSet) plus(o labelSet) labelSet {
	out := labelSet{}
	maps.Copy(out, s)
	maps.Copy(out, o)
	return out
}

// minus is the difference.
func (s labelSet) minus(o labelSet) labelSet {
	out := labelSet{}
	for n := range s {
		if !o[n] {
			out[n] = true
		}
	}
	return out
}

// only is the intersection.
func (s labelSet) only(o labelSet) labelSet {
	out := labelSet{}
	for n := range s {
		if o[n] {
			out[n] = true
		}
	}
	return out
}

func (s labelSet) names() []string { return slices.Sorted(maps.Keys(s)) }
