package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// clock is how a file tells time.
type clock int

const (
	noClock  clock = iota
	calendar       // RFC 3339
	unixTime       // seconds since 1970
	elapsed        // seconds since the beginning
)

func (c clock) String() string {
	return [...]string{"nothing", "RFC 3339", "seconds since 1970", "seconds since the beginning"}[c]
}

// fromUnix is the number of seconds from which on they are since 1970: 2001, or
// 31 years after the beginning.
const fromUnix = 1e9

// at reads when a job is submitted.
func (p *parser) at(j *Job, text string) error {
	kind, instant, err := instantOf(text)
	if err != nil {
		return err
	}
	switch {
	case p.clock == noClock:
		p.clock, p.first = kind, instant
		if kind == elapsed {
			p.first = time.Unix(0, 0)
		}
	case p.clock != kind:
		return fmt.Errorf("is in %s, expected it in %s as that of the first job", kind, p.clock)
	}
	j.At = instant.Sub(p.first)
	if j.At < 0 && len(p.jobs) == 0 {
		return fmt.Errorf("is %s before that of the first line: sort the jobs by it", -j.At)
	}
	return nil
}

// instantOf reads an instant; one in seconds since the beginning is as if that was
// in 1970.
func instantOf(text string) (clock, time.Time, error) {
	if seconds, err := number(text); err == nil {
		switch {
		case seconds < 0:
			return noClock, time.Time{}, fmt.Errorf("is %s, expected 0 or more", text)
		case seconds > 1e10:
			return noClock, time.Time{}, fmt.Errorf("is %s, expected seconds (milliseconds, perhaps?)", clip(text))
		}
		kind := elapsed
		if seconds >= fromUnix {
			kind = unixTime
		}
		whole, part := math.Modf(seconds)
		return kind, time.Unix(int64(whole), int64(math.Round(part*1e9))), nil
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err == nil {
		return calendar, instant, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if _, err := time.Parse(layout, text); err == nil {
			return noClock, time.Time{}, fmt.Errorf("is %q, which has no zone: expected RFC 3339, such as 2026-03-01T10:00:00Z or 2026-03-01T10:00:00+01:00", text)
		}
	}
	return noClock, time.Time{}, fmt.Errorf("is %q, expected RFC 3339 (2026-03-01T10:00:00Z) or a number of seconds", clip(text))
}

// number reads a decimal number; no other notation, and nothing that is none.
func number(text string) (float64, error) {
	if strings.ContainsAny(text, "xX_pPiInN") {
		return 0, errors.New("no decimal number")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, errors.New("no decimal number")
	}
	return v, nil
}

func slotsOf(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSlots {
		return 0, fmt.Errorf("is %q, expected a whole number from 1 to %d", clip(text), maxSlots)
	}
	return n, nil
}

func runOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	seconds, err := number(text)
	if err != nil || seconds < 0 || seconds > maxLength.Seconds() {
		return 0, fmt.Errorf("is %q, expected a number from 0 to %.0f", clip(text), maxLength.Seconds())
	}
	run := time.Duration(math.Round(seconds * float64(time.Second)))
	if run == 0 && seconds > 0 {
		run = 1
	}
	return run, nil
}

func kindOf(text string) (Kind, error) {
	switch k := Kind(strings.ToLower(text)); k {
	case Batch, Stream:
		return k, nil
	case "":
		return Batch, nil
	case "streaming": // as Zeta's job.mode has it
		return Stream, nil
	}
	hint := ""
	if near := document.Nearest(strings.ToLower(clip(text)), []string{string(Batch), string(Stream)}); near != "" {
		hint = ": did you mean " + near + "?"
	}
	return "", fmt.Errorf("is %q, expected %s or %s%s", clip(text), Batch, Stream, hint)
}

func cpuOf(text string) (float64, error) {
	if text == "" {
		return defaultCPU, nil
	}
	v, err := number(text)
	if err != nil || v < 0 || v > 1 {
		return 0, fmt.Errorf("is %q, expected a ratio from 0 to 1", clip(text))
	}
	return v, nil
}

// clip keeps a message readable whatever stands in a file.
func clip(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
