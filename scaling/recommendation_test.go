package scaling

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRecommendationFields names every field of spec 1.9: a consumer reads
// them by these names.
func TestRecommendationFields(t *testing.T) {
	n := 3
	b, err := json.Marshal(Recommendation{
		Scope: "prod", RecommendationID: "1-2-prod", MasterEpoch: 1, Generation: 2, Action: ScaleOut, Row: RowSaturatedTight,
		Strength: "strong", Reason: "because", CurrentWorkers: &n, RecommendedWorkers: &n, StaleWorkerCount: &n,
		TriggerConditions: []Condition{}, BlockingConditions: []Condition{}, MetricsSnapshot: map[string]Measurement{},
	})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(b, &fields))
	require.ElementsMatch(t, []string{
		"scope", "recommendationId", "masterEpoch", "generation", "action", "row", "strength", "reason",
		"currentWorkers", "recommendedWorkers", "triggerConditions", "blockingConditions", "metricsSnapshot",
		"metricsValid", "staleWorkerCount", "recommendationOnly", "ruleSet", "observedAt", "timestamp", "since", "validUntil",
	}, slices.Collect(maps.Keys(fields)))
}

func TestUnknownCountsAreNull(t *testing.T) {
	b, err := json.Marshal(Recommendation{})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(b, &fields))
	for _, name := range []string{"currentWorkers", "recommendedWorkers", "staleWorkerCount"} {
		require.Contains(t, fields, name)
		require.Nil(t, fields[name])
	}
}

// Readers need not know which fields a row fills: all of them are always there.
func TestEmptyFieldsAreThere(t *testing.T) {
	for _, v := range []struct {
		value any
		count int
	}{{Recommendation{}, 21}, {Measurement{}, 2}} {
		b, err := json.Marshal(v.value)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(b, &fields))
		require.Len(t, fields, v.count, "%s", b)
	}
}

func TestConditionFields(t *testing.T) {
	v, f := Known(0.9), 0.8
	b, err := json.Marshal(Condition{
		Name: "avg_cpu", Signal: "avg_cpu", Class: Saturation, Direction: Out, Value: &v, Comparison: ">", Threshold: &f,
		HeldSeconds: &f, WindowSeconds: &f, AtLeast: true,
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"avg_cpu","signal":"avg_cpu","class":"saturation","direction":"scale_out","value":0.9,
		"comparison":">","threshold":0.8,"heldSeconds":0.8,"windowSeconds":0.8,"atLeast":true}`, string(b))
	b, err = json.Marshal(Condition{Name: BlockerCooldown})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"cooldown"}`, string(b))
}

func TestValueIsANumberOrTheWordUnknown(t *testing.T) {
	for _, tc := range []struct {
		value Value
		text  string
	}{
		{Known(0), "0"},
		{Known(1.5), "1.5"},
		{Value{}, `"UNKNOWN"`},
		{Known(math.NaN()), `"UNKNOWN"`},
		{Known(math.Inf(1)), `"UNKNOWN"`},
	} {
		b, err := json.Marshal(tc.value)
		require.NoError(t, err)
		require.Equal(t, tc.text, string(b))
		var back Value
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, tc.text != `"UNKNOWN"`, back.Known)
	}
	var v Value
	require.Error(t, json.Unmarshal([]byte(`"0"`), &v))
}

func TestScopeKey(t *testing.T) {
	require.Equal(t, "default", NewScope(nil).Key)
	require.Equal(t, "a%2Fb/c%20d", NewScope([]Label{{"x", "a/b"}, {"y", "c d"}}).Key)
	require.Equal(t, "7-3-a%2Fb", RecommendationID(7, 3, "a%2Fb"))
	odd := NewScope([]Label{{"x", "a/b"}, {"y", "c d"}})
	require.Equal(t, "a/b/c d", odd.Shown())
	one := NewScope(nil)
	require.Equal(t, "default", one.Shown())
}

func TestIntent(t *testing.T) {
	require.Equal(t, IntentOf(NoAction, 4), IntentOf(ScaleInBlocked, 7), "both hold")
	require.NotEqual(t, IntentOf(ScaleOut, 4), IntentOf(ScaleOut, 5))
	require.NotEqual(t, IntentOf(ScaleOut, 4), IntentOf(ScaleInCandidate, 4))
}

func TestBounds(t *testing.T) {
	require.Empty(t, DefaultBounds().Validate())
	require.Empty(t, Bounds{Min: 0, Max: 1}.Validate())
	require.Len(t, Bounds{Min: -1, Max: 0, FloorDelay: -time.Second}.Validate(), 3)
	require.Len(t, Bounds{Min: 5, Max: 4}.Validate(), 1)
}

func TestSaturatingAddition(t *testing.T) {
	require.Equal(t, 5, AddSaturating(2, 3))
	require.Equal(t, math.MaxInt, AddSaturating(math.MaxInt, 1))
	require.Equal(t, math.MaxInt, AddSaturating(math.MaxInt-1, math.MaxInt))
}
