package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// delta is what one commit changes in one page.
type delta struct {
	Key     string       `json:"key"`
	Puts    []put        `json:"puts,omitempty"`
	Removes []state.Kind `json:"removes,omitempty"`
	History []line       `json:"history,omitempty"`
}

// put is a new value; its version is the number of the commit.
type put struct {
	Kind  state.Kind `json:"kind"`
	Value string     `json:"value"`
}

// Limits, in bytes.
const (
	// maxInline is how large a commit may be, compressed: every reader of the root
	// reads it too.
	maxInline = 384 << 10
	// maxData is what Kubernetes allows in one ConfigMap, with room for the index.
	maxData = 1<<20 - 48<<10
)

// encodeDeltas returns one compressed text, a line for each delta.
func encodeDeltas(deltas []*delta) ([]byte, error) {
	if len(deltas) == 0 {
		return nil, nil
	}
	var text []byte
	for _, d := range deltas {
		b, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("encoding the change of %q: %w", d.Key, err)
		}
		text = append(append(text, b...), '\n')
	}
	return compress(text)
}

// decodeDeltas is the inverse of encodeDeltas, by name of the page.
func decodeDeltas(n names, encoded []byte) (map[string]*delta, error) {
	if encoded == nil {
		return nil, nil
	}
	text, err := decompress(encoded)
	if err != nil {
		return nil, err
	}
	out := map[string]*delta{}
	for l := range bytes.Lines(text) {
		var d delta
		if err := json.Unmarshal(l, &d); err != nil {
			return nil, err
		}
		out[n.page(d.Key)] = &d
	}
	return out, nil
}

// plan is a batch that passed all checks against one root.
type plan struct {
	id       string
	from, to *root
	versions []uint64
}

// draft builds a plan.
type draft struct {
	names  names
	from   *root
	pages  map[string]*page
	deltas map[string]*delta
	order  []*delta
	plan   *plan
}

// newPlan checks the batch against the root and the pages that it names and
// works out what to write. It writes nothing.
func (s *Store) newPlan(from *root, pages map[string]*page, b state.Batch) (*plan, error) {
	id := newID()
	d := &draft{
		names: s.names, from: from, pages: pages, deltas: map[string]*delta{},
		plan: &plan{id: id, from: from, to: from.next(id)},
	}
	if err := d.puts(b.Puts); err != nil {
		return nil, err
	}
	if err := d.removes(b.Removes); err != nil {
		return nil, err
	}
	d.history(b.History)
	to := d.plan.to
	if n := to.page.size(); n > maxData-maxInline {
		return nil, fmt.Errorf("%w: the records of no scope have %d bytes together", state.ErrInvalid, n)
	}
	for _, change := range d.order {
		p, err := pages[change.Key].with(change, to.page.seq, s.historyBytes)
		if err != nil {
			return nil, err
		}
		if n := p.size(); n > maxData {
			return nil, fmt.Errorf("%w: scope %q would have %d bytes of state, more than a ConfigMap holds",
				state.ErrInvalid, change.Key, n)
		}
	}
	return d.plan, d.encode(s.maxInline)
}

func (d *draft) delta(key string) *delta {
	if have := d.deltas[key]; have != nil {
		return have
	}
	change := &delta{Key: key}
	d.deltas[key], d.order = change, append(d.order, change)
	return change
}

func (d *draft) puts(puts []state.Put) error {
	to := d.plan.to
	for _, p := range puts {
		r := ref{p.Kind, p.Key}
		if have := d.version(r); have != p.Version {
			return fmt.Errorf("%s record %q has version %d, expected %d: %w", p.Kind, p.Key, have, p.Version, state.ErrConflict)
		}
		if inRoot(p.Kind) {
			to.page.records[r] = record{to.page.seq, string(p.Value)}
		} else {
			change := d.delta(p.Key)
			change.Puts = append(change.Puts, put{p.Kind, string(p.Value)})
		}
		d.plan.versions = append(d.plan.versions, to.page.seq)
	}
	return nil
}

func (d *draft) removes(removes []state.Remove) error {
	for _, r := range removes {
		name := ref{r.Kind, r.Key}
		have := d.version(name)
		if r.Version > 0 && have != r.Version {
			return fmt.Errorf("%s record %q has version %d, expected %d: %w", r.Kind, r.Key, have, r.Version, state.ErrConflict)
		}
		switch {
		case inRoot(r.Kind):
			delete(d.plan.to.page.records, name)
		case have != 0:
			change := d.delta(r.Key)
			change.Removes = append(change.Removes, r.Kind)
		}
	}
	return nil
}

// version is that of a record before the batch, 0 if there is none.
func (d *draft) version(r ref) uint64 {
	if inRoot(r.kind) {
		return d.from.page.records[r].version
	}
	return d.pages[r.key].records[r].version
}

func (d *draft) history(entries []state.Entry) {
	for _, e := range entries {
		d.plan.to.head.LastID++
		change := d.delta(e.Scope)
		change.History = append(change.History, line{
			ID: d.plan.to.head.LastID, At: e.At.UnixMicro(), Action: e.Action, Kind: e.Kind, Value: e.Value,
		})
	}
}

// encode puts the deltas into the root.
func (d *draft) encode(maxInline int) (err error) {
	to := d.plan.to
	if to.inline, err = encodeDeltas(d.order); err != nil {
		return err
	}
	if len(to.inline) > maxInline {
		return fmt.Errorf("%w: %w: it has %d bytes", state.ErrInvalid, errTooLarge, len(to.inline))
	}
	for _, change := range d.order {
		if to.commit == nil {
			to.commit = make(map[string]*delta, len(d.order))
		}
		to.commit[d.names.page(change.Key)] = change
	}
	return nil
}
