package kubernetes

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// line is an entry as it is stored, one JSON text a line.
type line struct {
	ID int64 `json:"id"`
	// At is in microseconds since 1970.
	At     int64           `json:"at"`
	Action string          `json:"action,omitempty"`
	Kind   string          `json:"kind"`
	Value  json.RawMessage `json:"value"`
}

func (l line) entry(scope string) state.Entry {
	return state.Entry{
		ID: l.ID, Scope: scope, At: time.UnixMicro(l.At).UTC(), Action: l.Action, Kind: l.Kind, Value: l.Value,
	}
}

// block is a compressed run of lines; last is the ID of its last.
type block struct {
	last int64
	data []byte
}

// history is that of one scope: blocks by rising ID, and then recent lines as
// text, which an operator can read with kubectl. An append costs what is new,
// and dropping the oldest block costs nothing.
type history struct {
	blocks []block
	recent string
}

const (
	recentEntry = "history"
	blockPrefix = "history-"
	// sealAt is when the recent lines become a block.
	sealAt = 32 << 10
)

func (h history) empty() bool { return len(h.blocks) == 0 && h.recent == "" }

func (h history) size() int {
	n := len(h.recent)
	for _, b := range h.blocks {
		n += len(b.data)
	}
	return n
}

func (h history) write(cm *configMap) {
	if h.recent != "" {
		cm.Data[recentEntry] = h.recent
	}
	for _, b := range h.blocks {
		cm.BinaryData[blockPrefix+strconv.FormatInt(b.last, 10)] = b.data
	}
}

func decodeHistory(cm *configMap) (history, error) {
	h := history{recent: cm.Data[recentEntry]}
	for name, data := range cm.BinaryData {
		text, ok := strings.CutPrefix(name, blockPrefix)
		if !ok {
			continue
		}
		last, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return h, fmt.Errorf("ConfigMap %s is damaged: entry %s: %w", cm.Name, name, err)
		}
		h.blocks = append(h.blocks, block{last, data})
	}
	slices.SortFunc(h.blocks, func(a, b block) int { return cmp.Compare(a.last, b.last) })
	return h, nil
}

// with appends lines and then drops the oldest until at most limit bytes are
// left.
func (h history) with(lines []line, limit int) (history, error) {
	if len(lines) == 0 {
		return h, nil
	}
	var recent bytes.Buffer
	recent.WriteString(h.recent)
	next := history{blocks: slices.Clone(h.blocks)}
	for _, l := range lines {
		b, err := json.Marshal(l)
		if err != nil {
			return h, fmt.Errorf("encoding a history entry: %w", err)
		}
		recent.Write(b)
		recent.WriteByte('\n')
		if recent.Len() >= sealAt {
			data, err := compress(recent.Bytes())
			if err != nil {
				return h, err
			}
			next.blocks = append(next.blocks, block{l.ID, data})
			recent.Reset()
		}
	}
	next.recent = recent.String()
	return next.bound(limit), nil
}

func (h history) bound(limit int) history {
	n := h.size()
	for len(h.blocks) > 0 && n > limit {
		n -= len(h.blocks[0].data)
		h.blocks = h.blocks[1:]
	}
	for n > limit {
		_, rest, _ := strings.Cut(h.recent, "\n")
		n, h.recent = len(rest), rest
	}
	return h
}

// backward yields the lines below the cursor (0: all), newest first.
func (h history) backward(before int64) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		if !lines(h.recent, yield) {
			return
		}
		for i, b := range slices.Backward(h.blocks) {
			if before > 0 && i > 0 && h.blocks[i-1].last >= before-1 {
				continue // everything in here is newer
			}
			text, err := decompress(b.data)
			if err != nil {
				yield(line{}, err)
				return
			}
			if !lines(string(text), yield) {
				return
			}
		}
	}
}

// lines yields the lines of a text from the last to the first.
func lines(text string, yield func(line, error) bool) bool {
	text = strings.TrimSuffix(text, "\n")
	for text != "" {
		i := strings.LastIndexByte(text, '\n')
		var l line
		if err := json.Unmarshal([]byte(text[i+1:]), &l); err != nil {
			return yield(line{}, fmt.Errorf("history is damaged: %w", err)) && false
		}
		if !yield(l, nil) {
			return false
		}
		text = text[:max(i, 0)]
	}
	return true
}

// trim keeps at most maxRecords of each kind, none older than oldest, and says
// how old the oldest is that is left.
func (h history) trim(maxRecords int, oldest time.Time) (next history, left time.Time, changed bool, err error) {
	count := map[string]int{}
	var keep []line
	for l, err := range h.backward(0) {
		if err != nil {
			return h, left, false, err
		}
		at := time.UnixMicro(l.At)
		if at.Before(oldest) || count[l.Kind] == maxRecords {
			changed = true
			continue
		}
		count[l.Kind]++
		if left.IsZero() || at.Before(left) {
			left = at
		}
		keep = append(keep, l)
	}
	if !changed {
		return h, left, false, nil
	}
	slices.Reverse(keep)
	next, err = history{}.with(keep, maxHistory)
	return next, left, true, err
}

func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

func decompress(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}
