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
		Name      string `xml:"name,attr"`
		ClassName string `xml:"classname,attr"`
		Time      string `xml:"time,attr"`
		// Many readers take one failure or error of a case, and the schemas allow
		// no more.
		Failure *junitDetail `xml:"failure"`
		Error   *junitDetail `xml:"error"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
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
			Error: detail("problem", f.Problems),
		}}
	}
	var took time.Duration
	for i := range f.Tests {
		t := &f.Tests[i]
		took += t.Took
		c := junitCase{Name: t.Name + " [" + t.RuleSet.Name + "]", ClassName: f.File, Time: junitTime(t.Took)}
		if len(t.Failures) > 0 {
			texts := make([]string, len(t.Failures))
			for j := range t.Failures {
				texts[j] = t.Failures[j].String()
			}
			c.Failure = detail("expectation", texts)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = junitTime(took)
	return s
}

// detail is one element for all that is wrong with a case; its message is the
// first line.
func detail(kind string, texts []string) *junitDetail {
	first, _, _ := strings.Cut(texts[0], "\n")
	if more := len(texts) - 1; more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return &junitDetail{Message: first, Type: kind, Text: strings.Join(texts, "\n")}
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
