package backtest

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// line is one tick of one scope as JSON.
type line struct {
	Time        time.Time                `json:"time"`
	Scope       string                   `json:"scope"`
	RuleSet     string                   `json:"ruleSet"`
	Version     string                   `json:"version"`
	Action      scaling.Action           `json:"action"`
	Row         scaling.RowID            `json:"row"`
	Current     *int                     `json:"currentWorkers"`
	Recommended *int                     `json:"recommendedWorkers"`
	Changed     bool                     `json:"changed"`
	Failed      bool                     `json:"failed"`
	Signals     map[string]scaling.Value `json:"signals"`
	// Reason is given where the decision changed.
	Reason string `json:"reason,omitempty"`
}

func lineOf(t *Tick) line {
	d := t.Decision()
	l := line{
		Time: t.At, Scope: t.Scope(), RuleSet: t.RuleSet.Name, Version: t.RuleSet.Version,
		Action: d.Action, Row: d.RowID(), Current: t.Current(), Recommended: t.said().Recommended,
		Changed: t.Changed(), Failed: t.Failing, Signals: map[string]scaling.Value{},
	}
	for i, v := range t.Signals() {
		l.Signals[t.side.rs.Signals[i].Name] = v
	}
	if l.Changed {
		l.Reason = t.Reason()
	}
	return l
}

// jsonLines writes one JSON object a line.
type jsonLines struct {
	w       *bufio.Writer
	enc     *json.Encoder
	changes bool
}

// JSONLines writes one JSON object for every tick, or for every change of a
// decision.
func JSONLines(w io.Writer, changesOnly bool) Lines {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &jsonLines{w: buf, enc: enc, changes: changesOnly}
}

func (j *jsonLines) Tick(t *Tick) error {
	if j.changes && !t.Changed() {
		return nil
	}
	return j.enc.Encode(lineOf(t))
}

func (j *jsonLines) Flush() error { return j.w.Flush() }

// csvLines writes comma-separated values with one column per signal.
type csvLines struct {
	w       *csv.Writer
	changes bool
	signals []string
	begun   bool
}

// CSV writes a row for every tick, or for every change of a decision, with a
// header and a column for each of the signals. Without header it goes on after
// rows that are there already.
func CSV(w io.Writer, signals []string, changesOnly, header bool) Lines {
	return &csvLines{w: csv.NewWriter(w), changes: changesOnly, signals: signals, begun: !header}
}

func (c *csvLines) Tick(t *Tick) error {
	if c.changes && !t.Changed() {
		return nil
	}
	if !c.begun {
		c.begun = true
		header := []string{
			"time", "scope", "rule_set", "version", "action", "row", "current_workers", "recommended_workers", "changed", "failed",
		}
		if err := c.w.Write(append(header, c.signals...)); err != nil {
			return err
		}
	}
	l := lineOf(t)
	row := []string{
		l.Time.Format(time.RFC3339Nano), l.Scope, l.RuleSet, l.Version, string(l.Action), string(l.Row),
		count(l.Current), count(l.Recommended), strconv.FormatBool(l.Changed), strconv.FormatBool(l.Failed),
	}
	for _, name := range c.signals {
		value := ""
		if v, ok := l.Signals[name]; ok && v.Known {
			value = strconv.FormatFloat(v.Number, 'g', -1, 64)
		}
		row = append(row, value)
	}
	return c.w.Write(row)
}

func (c *csvLines) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

// count is a number of workers, empty if it is unknown.
func count(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
