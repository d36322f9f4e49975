package chart

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLevelsWithoutAValue(t *testing.T) {
	b, err := json.Marshal([]Level{1, Level(math.NaN())})
	require.NoError(t, err)
	require.JSONEq(t, "[1,null]", string(b))
	var back []Level
	require.NoError(t, json.Unmarshal(b, &back))
	require.True(t, math.IsNaN(float64(back[1])))
}
