package workload

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// csv reads a file with a header.
func (p *parser) csv(in io.Reader) error {
	records := &ration{r: in}
	r := csv.NewReader(records)
	r.ReuseRecord = true
	r.FieldsPerRecord = -1 // said with more words here
	var names []string
	last := 0
	for {
		records.left = maxLine
		fields, err := r.Read()
		if errors.Is(err, errRation) {
			return fmt.Errorf("%s: a line, or a quoted value, longer than %d KiB", document.Position{File: p.file, Line: last + 1, Column: 1}, maxLine>>10)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			return fmt.Errorf("%s: %w", document.Position{File: p.file, Line: e.Line, Column: e.Column}, e.Err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if names == nil {
			if names, err = p.header(r, fields); err != nil || len(p.problems) > 0 {
				return err
			}
			last, _ = r.FieldPos(0)
			continue
		}
		line, _ := r.FieldPos(0)
		last = line
		if len(fields) != len(names) {
			if err := p.problem(line, 1, "%d values, expected %d as the header has", len(fields), len(names)); err != nil {
				return err
			}
			continue
		}
		cells := make([]cell, len(fields))
		for i, text := range fields {
			_, column := r.FieldPos(i)
			cells[i] = cell{names[i], strings.TrimSpace(text), column}
		}
		if err := p.job(line, cells); err != nil {
			return err
		}
	}
}

// ration gives so many bytes for a record of CSV, which else is gathered however
// long it is.
type ration struct {
	r    io.Reader
	left int
}

var errRation = errors.New("no more")

func (r *ration) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRation
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// header reads the names of the columns.
func (p *parser) header(r *csv.Reader, fields []string) ([]string, error) {
	names := make([]string, 0, len(fields))
	if !slices.ContainsFunc(fields, func(text string) bool {
		return document.Nearest(strings.ToLower(strings.TrimSpace(text)), columns()) != ""
	}) {
		line, _ := r.FieldPos(0)
		return nil, p.problem(line, 1, "no header, expected a line with the names of the columns, separated by commas: %s, %s, %s and perhaps %s and %s",
			columnAt, columnSlots, columnSeconds, columnKind, columnCPU)
	}
	for i, text := range fields {
		line, column := r.FieldPos(i)
		name := strings.ToLower(strings.TrimSpace(text))
		if err := p.name(line, column, name, names); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(p.problems) > 0 {
		return names, nil
	}
	for _, name := range []string{columnAt, columnSlots, columnSeconds} {
		if !slices.Contains(names, name) {
			line, _ := r.FieldPos(0)
			if err := p.problem(line, 1, "the header has no column %s, expected %s, %s, %s and perhaps %s and %s",
				name, columnAt, columnSlots, columnSeconds, columnKind, columnCPU); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

// name checks a column or key against those that there are, and those seen.
func (p *parser) name(line, column int, name string, seen []string) error {
	switch {
	case !slices.Contains(columns(), name):
		return p.problem(line, column, "there is no column %q: %s", clip(name), document.DidYouMean(clip(name), columns()))
	case slices.Contains(seen, name):
		return p.problem(line, column, "%s a second time", name)
	}
	return nil
}

// json reads a file with an object a line.
func (p *parser) json(in *bufio.Reader) error {
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%s: longer than %d KiB", document.Position{File: p.file, Line: n, Column: 1}, maxLine>>10)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := p.object(n, line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// object reads the job of one line.
func (p *parser) object(n int, line []byte) error {
	o := object{dec: json.NewDecoder(bytes.NewReader(line)), line: line}
	o.dec.UseNumber()
	column, token, err := o.next()
	if err != nil || token != json.Delim('{') {
		return p.problem(n, column, "no JSON object, expected {%q: …, %q: …, %q: …}", columnAt, columnSlots, columnSeconds)
	}
	var cells []cell
	var seen []string
	before := len(p.problems)
	for o.dec.More() {
		column, token, err := o.next()
		name, isText := token.(string)
		if err != nil || !isText {
			return p.unfinished(n, column, or(err, "a key belongs here"))
		}
		if err := p.name(n, column, name, seen); err != nil {
			return err
		}
		seen = append(seen, name)
		column, token, err = o.next()
		if err != nil {
			return p.unfinished(n, column, err)
		}
		switch v := token.(type) {
		case string:
			cells = append(cells, cell{name, v, column})
		case json.Number:
			cells = append(cells, cell{name, v.String(), column})
		case nil:
		default:
			return p.problem(n, column, "%s is %v, expected a number or a text", name, v)
		}
	}
	if column, _, err := o.next(); err != nil {
		return p.unfinished(n, column, err)
	}
	if column, _, err := o.next(); !errors.Is(err, io.EOF) {
		return p.problem(n, column, "more than one JSON object in a line")
	}
	if len(p.problems) > before {
		return nil
	}
	return p.job(n, cells)
}

// unfinished says why a line is no JSON. One that ends within its object is likely to
// have the rest in the next lines: those are not read.
func (p *parser) unfinished(n, column int, err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return p.problem(n, column, "no JSON: %w", err)
	}
	_ = p.problem(n, column, "the line ends within its JSON object, expected a whole one in each line: jq -c . FILE writes them so")
	return errEnough
}

func or(err error, otherwise string) error {
	if err == nil {
		return errors.New(otherwise)
	}
	return err
}

// object is a line of JSON that is read token by token.
type object struct {
	dec  *json.Decoder
	line []byte
}

// next is the next token, and at which character of the line it begins.
func (o *object) next() (column int, token json.Token, err error) {
	at := int(o.dec.InputOffset())
	for at < len(o.line) && strings.IndexByte(" \t\r\n,:", o.line[at]) >= 0 {
		at++
	}
	token, err = o.dec.Token()
	return utf8.RuneCount(o.line[:at]) + 1, token, err
}
