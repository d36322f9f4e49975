package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the values of every benchmark by name and unit, in the order of
// the rounds.
type results map[string]map[string][]float64

// read parses benchmark lines: "BenchmarkName-2  5  123 ns/op  4 B/op".
func read(files []string) (results, error) {
	r := results{}
	processors := regexp.MustCompile(`-\d+$`)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		scanner := bufio.NewScanner(f)
		for scanner.Scan() {
			words := strings.Fields(scanner.Text())
			if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
				continue
			}
			if err := r.add(processors.ReplaceAllString(words[0][len("Benchmark"):], ""), words[2:]); err != nil {
				_ = f.Close()
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
		}
		_ = f.Close()
		if err := scanner.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return r, nil
}

func (r results) add(name string, pairs []string) error {
	if r[name] == nil {
		r[name] = map[string][]float64{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		v, err := strconv.ParseFloat(pairs[i], 64)
		if err != nil {
			return fmt.Errorf("benchmark %s: %w", name, err)
		}
		r[name][pairs[i+1]] = append(r[name][pairs[i+1]], v)
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// figure is a median in a unit of its own, scale of the benchmark's ones.
func (r results) figure(title, name, unit string, scale float64, show string) string {
	values := r[name][unit]
	if len(values) == 0 {
		return line(title, "not measured")
	}
	return line(title, strings.TrimSpace(short(median(values)/scale)+" "+show)) + spread(values, scale)
}

// atMost is a figure with a target.
func (r results) atMost(title, name, unit string, scale float64, show string, target float64) string {
	s := r.figure(title, name, unit, scale, show)
	values := r[name][unit]
	if len(values) == 0 {
		return s
	}
	return s + verdict(median(values)/scale, target, show)
}

// ratio compares two benchmarks round by round, by their cost per scope; a
// target of 0 is none.
func (r results) ratio(title, name, base, show string, target float64) string {
	return r.ratioOf(title, name, base, "µs/scope", show, target)
}

// ratioOf compares two benchmarks round by round in one unit.
func (r results) ratioOf(title, name, base, unit, show string, target float64) string {
	a, b := r[name][unit], r[base][unit]
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, a[i]/b[i])
	}
	if len(ratios) == 0 {
		return line(title, "not measured")
	}
	s := line(title, short(median(ratios))+" "+show) + spread(ratios, 1)
	if target > 0 {
		s += verdict(median(ratios), target, "")
	}
	return s
}

func line(title, text string) string { return fmt.Sprintf("%-44s %s", title+":", text) }

func spread(values []float64, scale float64) string {
	if len(values) == 1 {
		return ""
	}
	return fmt.Sprintf(" (%s…%s in %d rounds)", short(slices.Min(values)/scale), short(slices.Max(values)/scale), len(values))
}

func verdict(v, target float64, show string) string {
	word := "met"
	if v > target {
		word = "MISSED"
	}
	return strings.TrimRight(fmt.Sprintf(" (target ≤ %s %s", short(target), show), " ") + ", " + word + ")"
}

// short writes three digits.
func short(v float64) string {
	switch {
	case v != 0 && math.Abs(v) < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}
