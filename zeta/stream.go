package zeta

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxValue bounds one value of a reply that is read value by value, in bytes: a
// job with everything that Zeta says about it. It is what such a reply takes of
// memory, however long it is.
const maxValue = 8 << 20

// ReadValue reads the next value of a reply, of at most 8 MiB.
type ReadValue func(into any) error

// errEnough ends the reading of a reply early: what is wanted has been read.
var errEnough = errors.New("enough was read")

// values reads a reply value by value.
type values struct {
	*json.Decoder
	allowed *allowance
}

func newValues(r io.Reader) values {
	a := &allowance{Reader: r}
	return values{json.NewDecoder(a), a}
}

// read reads one value of at most maxValue.
func (v values) read(into any) error {
	v.allowed.left = maxValue
	return v.Decode(into)
}

// open reads the bracket at which a list or an object begins; there is false if
// null stands in its place.
func (v values) open(bracket json.Delim, name string) (there bool, err error) {
	v.allowed.left = maxValue
	switch tok, err := v.Token(); {
	case err != nil:
		return false, fmt.Errorf("reading JSON: %w", err)
	case tok == nil:
		return false, nil
	case tok != bracket:
		return false, fmt.Errorf("%v where %s belongs", tok, name)
	}
	return true, nil
}

// more reports whether another element or key follows.
func (v values) more() bool {
	v.allowed.left = maxValue
	return v.More()
}

// close reads the bracket at which it ends; more has just been asked.
func (v values) close() error {
	if _, err := v.Token(); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	return nil
}

// end fails when there is more than one value in the reply.
func (v values) end() error {
	v.allowed.left = maxValue
	_, err := v.Token()
	if _, wrong := errors.AsType[*json.SyntaxError](err); err == nil || wrong {
		return errors.New("text after the end of the JSON")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading JSON: %w", err)
}

// elements calls visit for each element of the list that comes next; there is
// false if null does.
func (v values) elements(visit func(ReadValue) error) (there bool, err error) {
	if there, err := v.open('[', "a list"); !there {
		return false, err
	}
	for n := 1; v.more(); n++ {
		if n > maxElements {
			return true, fmt.Errorf("a list of more than %d", maxElements)
		}
		if err := visit(v.read); err != nil {
			return true, fmt.Errorf("reading element %d: %w", n, err)
		}
	}
	return true, v.close()
}

// EachElement calls visit for each element of a reply that must be a list. It
// fails at the first error of visit, which reads the element.
func EachElement(r io.Reader, visit func(ReadValue) error) error {
	v := newValues(r)
	there, err := v.elements(visit)
	if err == nil && !there {
		err = errors.New("null where a list belongs")
	}
	if err != nil {
		return err
	}
	return v.end()
}

// collect makes of each element of a list what is wanted of it; take says which
// elements are. It fails when nothing was taken, otherwise cut is why the list was
// not read to its end, nil if it was.
func collect[E, T any](r io.Reader, take func(*E) (T, bool)) (list []T, cut, err error) {
	list = []T{}
	err = EachElement(r, func(read ReadValue) error {
		var element E
		if err := read(&element); err != nil {
			return err
		}
		if x, wanted := take(&element); wanted {
			list = append(list, x)
		}
		return nil
	})
	if err != nil && len(list) == 0 {
		return nil, nil, err
	}
	return list, err, nil
}

// eachKey calls visit for each key of a reply that must be an object. visit
// reads the key's value.
func eachKey(r io.Reader, visit func(key string, v values) error) error {
	v := newValues(r)
	there, err := v.open('{', "an object")
	if err == nil && !there {
		err = errors.New("null where an object belongs")
	}
	if err != nil {
		return err
	}
	for v.more() {
		tok, err := v.Token()
		if err != nil {
			return fmt.Errorf("reading JSON: %w", err)
		}
		key, _ := tok.(string)
		if err := visit(key, v); err != nil {
			return fmt.Errorf("reading %q: %w", clip(key), err)
		}
	}
	if err := v.close(); err != nil {
		return err
	}
	return v.end()
}

// skipped is a value that nobody wants.
type skipped struct{}

// UnmarshalJSON takes any value.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// allowance is a reader that gives no more than left bytes.
type allowance struct {
	io.Reader
	left int
}

// Read reads what is allowed.
func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, fmt.Errorf("one value is longer than %d bytes", maxValue)
	}
	n, err := a.Reader.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}
