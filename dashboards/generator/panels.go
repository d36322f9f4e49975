package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Grafana's names of units.
const (
	count   = "short"
	ratio   = "percentunit"
	seconds = "s"
	bytes   = "bytes"
	rate    = "cps" // counts per second
	// requests are those per second.
	requests = "reqps"
)

// lines is a graph. Gaps stay gaps: an unknown value is absent, and must not look like a known one.
func lines(title, description, unit string, width uint32, targets ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().Title(title).Description(description).Unit(unit).Datasource(source()).
		Span(width).Height(graph).LineWidth(1).FillOpacity(0).ShowPoints(common.VisibilityModeNever).
		SpanNulls(common.BoolOrFloat64{Bool: new(false)}).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, t := range targets {
		p.WithTarget(t.RefId(string(rune('A' + i))))
	}
	return p
}

// steps is a graph of whole numbers that jump, such as worker counts.
func steps(title, description string, width uint32, targets ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	return lines(title, description, count, width, targets...).LineInterpolation(common.LineInterpolationStepAfter).
		Decimals(0).Min(0)
}

// number is one figure, coloured by its thresholds.
func number(title, description, unit string, width uint32, t *prometheus.DataqueryBuilder, thresholds *dashboard.ThresholdsConfigBuilder) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Unit(unit).Datasource(source()).
		Span(width).Height(figure).GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(thresholds).WithTarget(t.RefId("A"))
}

// word is what a value stands for, and its colour.
type word struct {
	value, text, color string
}

// yesNo are the words of a value that is 1 where something holds.
func yesNo(yes, yesColor, no, noColor string) []word {
	return []word{{"1", yes, yesColor}, {"0", no, noColor}}
}

// states is a line of words over time for each series.
func states(title, description string, width uint32, words []word, targets ...*prometheus.DataqueryBuilder) *statetimeline.PanelBuilder {
	options := map[string]dashboard.ValueMappingResult{}
	for i, w := range words {
		options[w.value] = dashboard.ValueMappingResult{Text: new(w.text), Color: new(w.color), Index: new(int32(i))}
	}
	p := statetimeline.NewPanelBuilder().Title(title).Description(description).Unit(count).Datasource(source()).
		Span(width).Height(graph).MergeValues(true).ShowValue(common.VisibilityModeAuto).NeverSpanNulls().FillOpacity(70).
		Mappings([]dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}})
	for i, t := range targets {
		p.WithTarget(t.RefId(string(rune('A' + i))))
	}
	return p
}

// dashed draws the series whose legend ends in a word as a dashed line: a limit,
// and not a value.
func dashed(p *timeseries.PanelBuilder, word string) *timeseries.PanelBuilder {
	return p.OverrideByRegexp("/"+word+"$/", []dashboard.DynamicConfigValue{
		{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 8}}},
	})
}

// plain colours nothing.
func plain() *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
		Steps([]dashboard.Threshold{{Color: "text"}})
}

// from colours values that are at least v.
func from(v float64, color string) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
		Steps([]dashboard.Threshold{{Color: "green"}, {Color: color, Value: new(v)}})
}

// below colours values that are less than v.
func below(v float64, color string) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
		Steps([]dashboard.Threshold{{Color: color}, {Color: "green", Value: new(v)}})
}

// grid is a table of latest values: one row per scope, one column per query, renamed.
func grid(title, description string, hidden []string, columns map[string]string, targets ...*prometheus.DataqueryBuilder) *table.PanelBuilder {
	p := table.NewPanelBuilder().Title(title).Description(description).Datasource(source()).Unit(count).
		Span(full).Height(graph).Filterable(true).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{"sum"}))
	for i, t := range targets {
		p.WithTarget(t.RefId(string(rune('A' + i))))
	}
	exclude := map[string]any{"Time": true, "__name__": true, "instance": true, "job": true}
	for _, name := range hidden {
		exclude[name] = true
	}
	rename := map[string]any{}
	for name, column := range columns {
		rename[name] = column
	}
	return p.
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{
			Id: "organize", Options: map[string]any{"excludeByName": exclude, "renameByName": rename},
		})
}
