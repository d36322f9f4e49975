package source

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// labelsSet is a set of label sets that does not trust hashes to be unique.
type labelsSet struct {
	index map[uint64][]int
	all   []labels.Labels
}

func newLabelsSet(size int) *labelsSet {
	return &labelsSet{index: make(map[uint64][]int, size)}
}

// find returns the position of l in order of addition, or -1.
func (s *labelsSet) find(l labels.Labels) int {
	for _, i := range s.index[l.Hash()] {
		if labels.Equal(s.all[i], l) {
			return i
		}
	}
	return -1
}

// add reports whether l was new.
func (s *labelsSet) add(l labels.Labels) bool {
	if s.find(l) >= 0 {
		return false
	}
	h := l.Hash()
	s.index[h] = append(s.index[h], len(s.all))
	s.all = append(s.all, l)
	return true
}

// orderedStrings sorts warnings and infos, which the engine keeps in a map, so
// that equal answers are equal values; none at all is nil.
func orderedStrings(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	slices.Sort(s)
	return s
}
