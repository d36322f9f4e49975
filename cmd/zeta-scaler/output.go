package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// outputFormat is a word that -o takes.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

// output is -o of a command that prints data: the format that is wanted, of those
// that the command has.
type output struct {
	format outputFormat
	words  []string
}

// addOutputFlag adds -o, with text and json and what a command has beside them.
func addOutputFlag(cmd *cobra.Command, more ...outputFormat) *output {
	o := &output{format: outputText}
	for _, f := range append([]outputFormat{outputText, outputJSON}, more...) {
		o.words = append(o.words, string(f))
	}
	cmd.Flags().VarP(o, "output", "o", "output format: "+document.OneOf(o.words))
	_ = cmd.RegisterFlagCompletionFunc("output", fixed(o.words...))
	return o
}

// String, Set and Type make it a flag value that refuses other words.
func (o *output) String() string { return string(o.format) }

func (o *output) Set(s string) error {
	if !slices.Contains(o.words, s) {
		return fmt.Errorf("expected %s, got %q", document.OneOf(o.words), s)
	}
	o.format = outputFormat(s)
	return nil
}

func (o *output) Type() string { return "format" }

// print writes a value as one JSON document, or as its text for people.
func (o *output) print(w io.Writer, v any, text func(screen) string) error {
	return o.write(w, v, func(w io.Writer) error {
		_, err := io.WriteString(w, text(screenOf(w)))
		return err
	})
}

// write is print for a text that writes itself.
func (o *output) write(w io.Writer, v any, text func(io.Writer) error) error {
	if o.format != outputJSON {
		return text(w)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// screen says how text for people may look. The zero value is a pipe: lines of
// any length, no colours.
type screen struct {
	// terminal is true when somebody looks on.
	terminal bool
	// width is in columns, 0 for any.
	width  int
	colour bool
}

// screenOf looks at what a command writes to, and at the environment.
func screenOf(w io.Writer) screen {
	f, ok := w.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) { //nolint:gosec // file descriptors are small
		return screen{}
	}
	s := screen{terminal: true, colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := xterm.GetSize(int(f.Fd())); err == nil { //nolint:gosec // file descriptors are small
		s.width = width
	}
	return s
}

const (
	// minWrap is the least width that text is wrapped to.
	minWrap = 20
	// minLast is the least room for a table's last column; with less, its text
	// goes below the row.
	minLast = 40
	// belowIndent is how far in it stands there.
	belowIndent = 4
)

// textTable is columns of text; all but the last are as wide as they need to be,
// and the last is wrapped to the screen.
type textTable struct {
	header []string
	rows   [][]string
}

func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// text renders the table.
func (t *textTable) text(s screen) string {
	widths := make([]int, len(t.header))
	rows := append([][]string{t.header}, t.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(plain(cell)))
		}
	}
	last, before := len(widths)-1, 0
	for _, w := range widths[:last] {
		before += w + 2
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:last] {
			cell = plain(cell)
			b.WriteString(s.paint(cell))
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		lines, indent := []string{plain(row[last])}, before
		switch room := s.width - before; {
		case s.width == 0 || utf8.RuneCountInString(lines[0]) <= room:
		case room >= minLast:
			lines = wrap(lines[0], room)
		default:
			indent = belowIndent
			lines = append([]string{""}, wrap(lines[0], max(minWrap, s.width-indent))...)
		}
		for i, line := range lines {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", indent))
			}
			b.WriteString(s.paint(line) + "\n")
		}
	}
	return b.String()
}

// wrap breaks a text into lines of at most width runes, between words where it
// can.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		for {
			room := width - utf8.RuneCountInString(line)
			if line != "" {
				room--
			}
			if utf8.RuneCountInString(word) <= room {
				line = strings.TrimPrefix(line+" "+word, " ")
				break
			}
			if line == "" {
				runes := []rune(word)
				lines, word = append(lines, string(runes[:width])), string(runes[width:])
				continue
			}
			lines, line = append(lines, line), ""
		}
	}
	return append(lines, line)
}

// plain is a text as one line of a terminal bears it: names come from the clusters
// that are watched.
func plain(text string) string { return document.Printable(text, "") }

// paint gives words that people look for their colour.
func (s screen) paint(word string) string {
	if !s.colour {
		return word
	}
	code := ""
	switch word {
	case "SCALE_OUT", "EXECUTING", "CONVERGING", "PENDING", "paused":
		code = "33" // yellow
	case "SCALE_IN_CANDIDATE", "decided":
		code = "36" // cyan
	case "SCALE_IN_BLOCKED", "UNKNOWN", "REJECTED_STALE":
		code = "35" // magenta
	case "SUCCEEDED", "sustained":
		code = "32" // green
	case "FAILED":
		code = "31" // red
	default:
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}
