package promapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func badData(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "bad_data", "invalid parameter " + fmt.Sprintf(format, args...)}
}

// parseTime reads Unix seconds or RFC 3339.
func parseTime(text string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		whole, part := math.Modf(seconds)
		if math.Abs(whole) > math.MaxInt64/1e9 || math.IsNaN(seconds) {
			return time.Time{}, fmt.Errorf("%q is no time of this world", text)
		}
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: expected Unix seconds or RFC 3339", text)
}

// parseDuration reads seconds or a duration as PromQL has it.
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		nanos := seconds * float64(time.Second)
		if math.Abs(nanos) > math.MaxInt64 || math.IsNaN(nanos) {
			return 0, fmt.Errorf("%q is longer than can be", text)
		}
		return time.Duration(nanos), nil
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: expected seconds, or such as 1m30s", text)
	}
	return time.Duration(d), nil
}

// timeParam is a parameter's time, or the default if it is not given.
func timeParam(r *http.Request, name string, orElse time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return orElse, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return t, badData("%q: %v", name, err)
	}
	return t, nil
}

// timeout is the time that a request has; it can only be shortened.
func timeout(r *http.Request) (time.Duration, error) {
	text := r.FormValue("timeout")
	if text == "" {
		return Patience, nil
	}
	d, err := parseDuration(text)
	if err != nil || d <= 0 {
		return 0, badData("\"timeout\": %q is no duration > 0", text)
	}
	return min(d, Patience), nil
}

// limitParam is how many things are listed.
func limitParam(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" || text == "0" {
		return maxSeries, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badData("\"limit\": %q is no whole number ≥ 0", text)
	}
	return min(n, maxSeries), nil
}

// rangeParams are start, end and step of query_range.
func rangeParams(r *http.Request) (start, end time.Time, step time.Duration, err error) {
	for name, into := range map[string]*time.Time{"start": &start, "end": &end} {
		if *into, err = parseTime(r.FormValue(name)); err != nil {
			return start, end, 0, badData("%q: %v", name, err)
		}
	}
	if step, err = parseDuration(r.FormValue("step")); err != nil {
		return start, end, 0, badData("\"step\": %v", err)
	}
	switch {
	case end.Before(start):
		err = badData("\"end\": end timestamp must not be before start time")
	case step < time.Millisecond:
		err = badData("\"step\": zero or negative query resolution step widths are not accepted. Try a positive integer")
	case end.Sub(start)/step > maxPoints:
		err = &apiError{http.StatusBadRequest, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"}
	}
	return start, end, step, err
}

// matchers are the selectors of match[].
func matchers(r *http.Request) ([][]*labels.Matcher, error) {
	var out [][]*labels.Matcher
	p := parser.NewParser(parser.Options{})
	for _, text := range r.Form["match[]"] {
		ms, err := p.ParseMetricSelector(text)
		if err != nil {
			return nil, badData("\"match[]\": %v", err)
		}
		some := false
		for _, m := range ms {
			some = some || !m.Matches("")
		}
		if !some {
			return nil, badData("\"match[]\": match[] must contain at least one non-empty matcher")
		}
		out = append(out, ms)
	}
	return out, nil
}
