package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// tail keeps the last maxOutput bytes that are written to it: the end of an
// output says why a command failed.
type tail struct {
	buf   []byte
	total int // bytes that were written
}

// Write never fails: a command must not be stopped because it says much.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.total += n
	t.buf = append(t.buf, p[max(0, n-maxOutput):]...)
	// Cut only now and then, so that many small writes cost little.
	if len(t.buf) > 2*maxOutput {
		t.buf = append(t.buf[:0], t.bytes()...)
	}
	return n, nil
}

// bytes are what is kept.
func (t *tail) bytes() []byte { return t.buf[max(0, len(t.buf)-maxOutput):] }

// cut reports whether more was written than is kept.
func (t *tail) cut() bool { return t.total > maxOutput }

// text is what is kept, for the log.
func (t *tail) text() string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.bytes())), "\uFFFD")
}

// excerpt is the end of it in one line, for an error.
func (t *tail) excerpt() string {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	s := strings.Join(strings.FieldsFunc(t.text(), blank), " ")
	if over := len(s) - maxExcerpt; over > 0 {
		s = "…" + strings.ToValidUTF8(s[over:], "")
	}
	return s
}

// observation is what a command prints when it is asked to observe.
type observation struct {
	Desired     *int       `json:"desired"`
	Ready       *int       `json:"ready"`
	Fence       *lastFence `json:"fence"`
	OtherWriter string     `json:"otherWriter"`
}

// lastFence is what the command kept of the last request to scale.
type lastFence struct {
	MasterEpoch      uint64 `json:"masterEpoch"`
	Generation       uint64 `json:"generation"`
	RecommendationID string `json:"recommendationId"`
	ActionID         string `json:"actionId"`
}

// parseObservation is strict: a misspelt or missing number must not be read as
// no workers.
func parseObservation(b []byte) (actuators.State, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var o observation
	if err := d.Decode(&o); errors.Is(err, io.EOF) {
		return actuators.State{}, errors.New("it is empty")
	} else if err != nil {
		return actuators.State{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return actuators.State{}, errors.New("there is more than one JSON object")
	}
	for _, n := range []struct {
		name  string
		value *int
	}{{"desired", o.Desired}, {"ready", o.Ready}} {
		if n.value == nil {
			return actuators.State{}, fmt.Errorf("%s is missing", n.name)
		}
		if *n.value < 0 {
			return actuators.State{}, fmt.Errorf("%s is %d, and must not be negative", n.name, *n.value)
		}
	}
	s := actuators.State{Desired: *o.Desired, Ready: *o.Ready, OtherWriter: o.OtherWriter}
	if f := o.Fence; f != nil {
		s.Fence = actuators.Fence{
			Epoch: f.MasterEpoch, Generation: f.Generation, RecommendationID: f.RecommendationID, ActionID: f.ActionID,
		}
	}
	return s, nil
}
