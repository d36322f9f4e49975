package exec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
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
func (t *tail) excerpt() string { return outgoing.EndInOneLine(t.text(), maxExcerpt) }

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

// decode is strict: a misspelt, doubled or missing key must not be read as none.
func decode(b []byte, into any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("it is empty")
	}
	return document.DecodeJSON(b, into, true)
}

func parseObservation(b []byte) (actuators.State, error) {
	var o observation
	if err := decode(b, &o); err != nil {
		return actuators.State{}, err
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

// listing is what a command prints when it is asked for its workers, in the
// order in which they should go.
type listing struct {
	Workers *[]struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		Leaving bool   `json:"leaving"`
	} `json:"workers"`
}

func parseWorkers(b []byte) ([]actuators.Worker, error) {
	var l listing
	if err := decode(b, &l); err != nil {
		return nil, err
	}
	if l.Workers == nil {
		return nil, errors.New("workers is missing")
	}
	out := make([]actuators.Worker, 0, len(*l.Workers))
	named := map[string]bool{}
	for i, w := range *l.Workers {
		switch {
		case w.Name == "":
			return nil, fmt.Errorf("workers[%d] has no name", i)
		case named[w.Name]:
			return nil, fmt.Errorf("workers[%d] is %q, which is there twice", i, w.Name)
		}
		named[w.Name] = true
		out = append(out, actuators.Worker{Name: w.Name, Address: w.Address, Leaving: w.Leaving})
	}
	return out, nil
}
