package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/kube"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// ref names a record.
type ref struct {
	kind state.Kind
	key  string
}

// record is a value with its version.
type record struct {
	version uint64
	value   string
}

func (r record) record(kind state.Kind, key string) state.Record {
	return state.Record{Kind: kind, Key: key, Version: r.version, Value: json.RawMessage(r.value)}
}

// page is the content of one ConfigMap. It is never changed once it is built.
type page struct {
	// meta names the ConfigMap; without a resource version there is none yet. It
	// is kept whole, so that what others put on it stays.
	meta metav1.ObjectMeta
	// key is what all records have in common; the root's have their own.
	key string
	// seq is the last commit that changed the page.
	seq     uint64
	records map[ref]record
	history history
}

// indexEntry names the data entry that holds a record's value.
type indexEntry struct {
	Kind    state.Kind `json:"kind"`
	Key     string     `json:"key"`
	Version uint64     `json:"version"`
	Entry   string     `json:"entry"`
}

// index is the data entry "page".
type index struct {
	// Format is 1.
	Format  int          `json:"format"`
	Seq     uint64       `json:"seq"`
	Key     string       `json:"key"`
	Records []indexEntry `json:"records"`
}

const (
	indexEntryName = "page"
	format         = 1
)

func (p *page) empty() bool { return len(p.records) == 0 && p.history.empty() }

// entryName is where a record's value is: its kind, and in the root a hash of
// its key too.
func (p *page) entryName(r ref) string {
	if r.key == p.key && !inRoot(r.kind) {
		return string(r.kind)
	}
	return string(r.kind) + "-" + hash(r.key)
}

// encode returns the ConfigMap of the page.
func (p *page) encode() (*configMap, error) {
	cm := &configMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: kube.ConfigMaps.APIVersion(), Kind: "ConfigMap"},
		ObjectMeta: *p.meta.DeepCopy(), Data: map[string]string{}, BinaryData: map[string][]byte{},
	}
	x := index{Format: format, Seq: p.seq, Key: p.key, Records: make([]indexEntry, 0, len(p.records))}
	for r, rec := range p.records {
		e := p.entryName(r)
		cm.Data[e] = rec.value
		x.Records = append(x.Records, indexEntry{r.kind, r.key, rec.version, e})
	}
	slices.SortFunc(x.Records, func(a, b indexEntry) int { return cmp.Compare(a.Entry, b.Entry) })
	b, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("encoding the index of ConfigMap %s: %w", p.meta.Name, err)
	}
	cm.Data[indexEntryName] = string(b)
	p.history.write(cm)
	return cm, nil
}

// decodePage is the inverse of encode.
func decodePage(cm *configMap) (page, error) {
	p := page{meta: *cm.DeepCopy(), records: map[ref]record{}}
	p.meta.ManagedFields = nil // the API server keeps them
	var x index
	if err := json.Unmarshal([]byte(cm.Data[indexEntryName]), &x); err != nil {
		return p, fmt.Errorf("ConfigMap %s is damaged: reading its index: %w", cm.Name, err)
	}
	if x.Format != format {
		return p, fmt.Errorf("ConfigMap %s was written by another version of zeta-scaler (state format %d, this one knows %d)",
			cm.Name, x.Format, format)
	}
	p.key, p.seq = x.Key, x.Seq
	for _, e := range x.Records {
		value, ok := cm.Data[e.Entry]
		if !ok {
			return p, fmt.Errorf("ConfigMap %s is damaged: its entry %s is missing", cm.Name, e.Entry)
		}
		p.records[ref{e.Kind, e.Key}] = record{e.Version, value}
	}
	var err error
	p.history, err = decodeHistory(cm)
	return p, err
}

// with returns the page after the commit seq.
func (p *page) with(d *delta, seq uint64, historyBytes int) (*page, error) {
	next := *p
	next.key, next.seq, next.records = d.Key, seq, maps.Clone(p.records)
	if next.records == nil {
		next.records = map[ref]record{}
	}
	for _, kind := range d.Removes {
		delete(next.records, ref{kind, d.Key})
	}
	for _, put := range d.Puts {
		next.records[ref{put.Kind, d.Key}] = record{seq, put.Value}
	}
	var err error
	next.history, err = p.history.with(d.History, historyBytes)
	return &next, err
}

// size is what Kubernetes counts: the bytes of all values.
func (p *page) size() int {
	n := p.history.size()
	for r, rec := range p.records {
		n += len(rec.value) + len(r.key) + 128 // its line in the index
	}
	return n
}
