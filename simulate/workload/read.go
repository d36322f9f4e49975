package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Bounds of a file of jobs.
const (
	// maxJobs is more than a large cluster has in a year.
	maxJobs = 1_000_000
	// maxFile bounds a file, in bytes, and maxLine one of its lines.
	maxFile = 256 << 20
	maxLine = 64 << 10
	// maxProblems is how many are said at once.
	maxProblems = 10
	// maxLength is from the beginning to the last job, and how long one may run.
	maxLength = 366 * 24 * time.Hour
	// maxSlots is what a job may need, and what a worker may have.
	maxSlots = 100_000
	// defaultCPU is what a slot takes of a worker's CPU where a file does not say.
	defaultCPU = 0.1
	// tail is how long a workload goes on after its last job has come.
	tail = 10 * time.Minute
)

// The columns of a CSV file, and the keys of a line of JSON.
const (
	columnAt      = "submitted_at"
	columnSlots   = "slots"
	columnSeconds = "seconds"
	columnKind    = "kind"
	columnCPU     = "cpu"
)

func columns() []string {
	return []string{columnAt, columnSlots, columnSeconds, columnKind, columnCPU}
}

// cell is one value of a job as text, and where it stands.
type cell struct {
	name, text string
	column     int
}

// Read reads a workload from a file: lines of JSON if it begins with a brace, else
// CSV with a header. submitted_at is RFC 3339, or seconds: since the beginning, or
// from 1e9 on Unix time, whose first job is the beginning. slots is a whole number,
// seconds is how long the job runs (a stream without it is never cancelled), kind
// is batch (the default) or stream, cpu what each slot takes of a worker's CPU
// (0.1 by default). Jobs are in order. name is what errors call the file and what
// the workload is called; every error has line and column.
func Read(r io.Reader, name string) (*Workload, error) {
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	in := bufio.NewReaderSize(limited, maxLine)
	if bom, err := in.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	p := &parser{file: name}
	var err error
	first, _ := in.Peek(maxLine)
	begins := func(with string) bool { return bytes.HasPrefix(bytes.TrimLeft(first, " \t\r\n"), []byte(with)) }
	switch {
	case begins("{"):
		err = p.json(in)
	case begins("["):
		_ = p.problem(1, 1, "a JSON array, expected an object in each line, without brackets around them: jq -c '.[]' FILE writes it so")
	case begins("\xff\xfe"), begins("\xfe\xff"):
		_ = p.problem(1, 1, "text in UTF-16, expected UTF-8: save it as that")
	default:
		err = p.csv(in)
	}
	switch {
	case errors.Is(err, errEnough):
	case err != nil:
		p.problems = append(p.problems, err)
	case limited.N <= 0:
		p.problems = append(p.problems, fmt.Errorf("%s: longer than %d MiB", name, maxFile>>20))
	case len(p.problems) == 0 && len(p.jobs) == 0:
		p.problems = append(p.problems, fmt.Errorf("%s: no jobs in it, expected a header with %s, %s and %s and a line for each job, or an object of JSON in each line",
			name, columnAt, columnSlots, columnSeconds))
	}
	if len(p.problems) > 0 {
		return nil, fmt.Errorf("reading a workload: %w", errors.Join(p.problems...))
	}
	return p.workload(), nil
}

// errEnough ends the reading after so many problems.
var errEnough = errors.New("enough problems")

// parser gathers jobs and what is wrong with them.
type parser struct {
	file     string
	problems []error
	jobs     []Job
	// clock is what the first job's time was, which all others must be.
	clock clock
	first time.Time
	// lastAt and lastLine are of the job before.
	lastAt   time.Duration
	lastLine int
}

// problem notes one; the error is errEnough when there are too many.
func (p *parser) problem(line, column int, format string, args ...any) error {
	pos := document.Position{File: p.file, Line: line, Column: column}
	p.problems = append(p.problems, fmt.Errorf("%s: %w", pos, fmt.Errorf(format, args...)))
	if len(p.problems) == maxProblems {
		p.problems = append(p.problems, fmt.Errorf("%s: the rest was not read after %d problems", p.file, maxProblems))
		return errEnough
	}
	return nil
}

// job adds what the cells of one line say.
func (p *parser) job(line int, cells []cell) error {
	j := Job{Kind: Batch, CPU: defaultCPU}
	fine := true
	for _, c := range cells {
		var err error
		switch c.name {
		case columnAt:
			err = p.at(&j, c.text)
		case columnSlots:
			j.Slots, err = slotsOf(c.text)
		case columnSeconds:
			j.Run, err = runOf(c.text)
		case columnKind:
			j.Kind, err = kindOf(c.text)
		case columnCPU:
			j.CPU, err = cpuOf(c.text)
		}
		if err != nil {
			fine = false
			if err := p.problem(line, c.column, "%s %w", c.name, err); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{columnAt, columnSlots} {
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.name == name }) {
			fine = false
			if err := p.problem(line, 1, "%s is missing", name); err != nil {
				return err
			}
		}
	}
	if !fine {
		return nil
	}
	return p.add(line, cells, j)
}

// add checks a job against its kind and against the one before.
func (p *parser) add(line int, cells []cell, j Job) error {
	column := func(name string) int {
		if i := slices.IndexFunc(cells, func(c cell) bool { return c.name == name }); i >= 0 {
			return cells[i].column
		}
		return 1
	}
	switch {
	case j.Kind == Batch && j.Run == 0:
		return p.problem(line, column(columnSeconds), "%s is 0 or missing, expected how long the job runs", columnSeconds)
	case len(p.jobs) > 0 && j.At < p.lastAt:
		return p.problem(line, column(columnAt), "%s is %s before that of line %d: sort the jobs by it", columnAt, p.lastAt-j.At, p.lastLine)
	case j.At > maxLength:
		return p.problem(line, column(columnAt), "%s is %s after the beginning, expected at most %s", columnAt, j.At, maxLength)
	case len(p.jobs) == maxJobs:
		_ = p.problem(line, 1, "more than %d jobs", maxJobs)
		return errEnough
	}
	p.jobs = append(p.jobs, j)
	p.lastAt, p.lastLine = j.At, line
	return nil
}

func (p *parser) workload() *Workload {
	summary := scaling.Counted(len(p.jobs), "job") + " of " + p.file
	return &Workload{Name: p.file, Summary: summary, Jobs: p.jobs, Length: p.lastAt + tail, Conditions: DefaultConditions()}
}
