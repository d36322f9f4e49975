package ruletest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The JUnit format as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Failures  []junitDetail `xml:"failure"`
		Errors    []junitDetail `xml:"error"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a suite a file, a case a test and
// rule set. A file that cannot be read is a suite with one case that is an
// error.
func (r *Report) WriteJUnit(w io.Writer) error {
	var all junitSuites
	for i := range r.Files {
		s := r.Files[i].junit()
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (f *FileResult) junit() junitSuite {
	s := junitSuite{Name: f.File, Tests: len(f.Tests), Failures: f.failed()}
	if len(f.Problems) > 0 {
		s.Tests, s.Errors = 1, 1
		s.Cases = []junitCase{{
			Name: "load", ClassName: f.File, Time: junitTime(0),
			Errors: []junitDetail{{Message: f.Problems[0], Text: strings.Join(f.Problems, "\n")}},
		}}
	}
	var took time.Duration
	for i := range f.Tests {
		t := &f.Tests[i]
		took += t.Took
		c := junitCase{Name: t.Name + " [" + t.RuleSet.Name + "]", ClassName: f.File, Time: junitTime(t.Took)}
		for j := range t.Failures {
			text := t.Failures[j].String()
			first, _, _ := strings.Cut(text, "\n")
			c.Failures = append(c.Failures, junitDetail{Message: first, Text: text})
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = junitTime(took)
	return s
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
