package chart

import (
	"encoding/json"
	"math"
)

// Band is the least and the greatest value of each column.
type Band struct {
	Low  []Level `json:"low"`
	High []Level `json:"high"`
}

// Level is a number or, as NaN, none.
type Level float64

// MarshalJSON writes null for none.
func (l Level) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(l)) || math.IsInf(float64(l), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(l))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Level) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*l = Level(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(l))
}

// NewBand is a band of n columns without a value.
func NewBand(n int) Band {
	b := Band{Low: make([]Level, n), High: make([]Level, n)}
	for i := range n {
		b.Low[i], b.High[i] = Level(math.NaN()), Level(math.NaN())
	}
	return b
}

// Add puts a value into column i.
func (b *Band) Add(i int, v float64) {
	if l := Level(v); math.IsNaN(float64(b.Low[i])) {
		b.Low[i], b.High[i] = l, l
	} else {
		b.Low[i], b.High[i] = min(b.Low[i], l), max(b.High[i], l)
	}
}

// Empty reports whether no column has a value.
func (b *Band) Empty() bool {
	for _, l := range b.Low {
		if !math.IsNaN(float64(l)) {
			return false
		}
	}
	return true
}
