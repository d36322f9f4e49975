package scaling

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFactsAreWrittenAsNames(t *testing.T) {
	b, err := json.Marshal(FactCurrentKnown | FactSlotTight | FactInFlight)
	require.NoError(t, err)
	require.JSONEq(t, `["current_known","slot_tight","action_in_flight"]`, string(b))
	b, err = json.Marshal(Facts(0))
	require.NoError(t, err)
	require.JSONEq(t, `[]`, string(b))
	require.Equal(t, FactIneffective, Facts(1)<<(len(factNames)-1), "every fact has a name")
	for i := range factNames {
		f := Facts(1) << i
		b, err := json.Marshal(f)
		require.NoError(t, err)
		var back Facts
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, f, back)
	}
	var f Facts
	require.NoError(t, json.Unmarshal([]byte(`["idle","of a later version"]`), &f))
	require.Equal(t, FactIdle, f)
	require.Error(t, json.Unmarshal([]byte(`"idle"`), &f))
}
