package source

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
)

// exposed is a series of a target.
type exposed struct {
	labels labels.Labels
	ref    storage.SeriesRef
	// seenIn is the newest scrape that has it, liveIn the newest one that has it
	// without a timestamp of its own.
	seenIn, liveIn uint64
}

func (s *exposed) row(at int64, v float64) row {
	return row{labels: s.labels, point: Point{T: at, V: v}, ref: &s.ref}
}

// exposedSeries are the series of a target by the text in which they are exposed: as
// in Prometheus, the labels of a text are worked out when it is seen first, for a
// page says nearly the same at every scrape.
type exposedSeries struct {
	target labels.Labels
	byText map[string]*exposed
	// byHash holds the same ones by the hash of their labels, which two texts, or
	// two hashes of different labels, may share.
	byHash map[uint64][]*exposed
	// scrape counts the scrapes, from 1.
	scrape uint64
	// seen is how many series the newest scrape has.
	seen int
}

func newExposedSeries(target labels.Labels) *exposedSeries {
	return &exposedSeries{target: target, byText: map[string]*exposed{}, byHash: map[uint64][]*exposed{}}
}

// begin begins a scrape, in which nothing was seen.
func (e *exposedSeries) begin() {
	e.scrape++
	e.seen = 0
}

// find returns the series that the parser stands at, which the scrape may have once.
func (e *exposedSeries) find(text []byte, p textparse.Parser) (*exposed, error) {
	s := e.byText[string(text)]
	if s == nil {
		var l labels.Labels
		p.Labels(&l)
		l = e.relabel(l)
		if !l.IsValid(model.UTF8Validation) {
			return nil, fmt.Errorf("series %s has an invalid metric or label name", l)
		}
		s = e.labelled(l)
		e.byText[string(text)] = s
	}
	if s.seenIn == e.scrape {
		return nil, fmt.Errorf("series %s is exposed twice", s.labels)
	}
	s.seenIn = e.scrape
	e.seen++
	return s, nil
}

// labelled returns the series with these labels.
func (e *exposedSeries) labelled(l labels.Labels) *exposed {
	h := l.Hash()
	for _, s := range e.byHash[h] {
		if labels.Equal(s.labels, l) {
			return s
		}
	}
	s := &exposed{labels: l}
	e.byHash[h] = append(e.byHash[h], s)
	return s
}

// relabel adds the target's labels; exposed labels of the same name stay under
// exported_NAME, as without honor_labels.
func (e *exposedSeries) relabel(l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	var moved []labels.Label
	e.target.Range(func(own labels.Label) {
		if exposed := l.Get(own.Name); exposed != "" {
			moved = append(moved, labels.Label{Name: own.Name, Value: exposed})
		}
		b.Set(own.Name, own.Value)
	})
	for _, m := range moved {
		name := model.ExportedLabelPrefix + m.Name
		for b.Get(name) != "" {
			name = model.ExportedLabelPrefix + name
		}
		b.Set(name, m.Value)
	}
	return b.Labels()
}

// spareTexts is how many texts of series that are gone are kept at least.
const spareTexts = 1000

// trim forgets the series that the newest scrape does not have, once there are
// more texts of those than of others.
func (e *exposedSeries) trim() {
	if len(e.byText) <= 2*e.seen+spareTexts {
		return
	}
	clear(e.byText)
	for h, all := range e.byHash {
		if all = slices.DeleteFunc(all, func(s *exposed) bool { return s.seenIn != e.scrape }); len(all) == 0 {
			delete(e.byHash, h)
		} else {
			e.byHash[h] = all
		}
	}
}
