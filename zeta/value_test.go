package zeta

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	known := func(v int64) Count { return Count{Value: v, Known: true} }
	for text, want := range map[string]Count{
		`4`: known(4), `"4"`: known(4), `" 4 "`: known(4), `4.0`: known(4), `"0"`: known(0), `1e3`: known(1000),
		`1795957015150`: known(1795957015150), `9007199254740991`: known(9007199254740991),
		`null`: {}, `""`: {}, `"n/a"`: {}, `-1`: {Value: -1}, `"-1"`: {Value: -1},
	} {
		var got Count
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`"NaN"`, `"Infinity"`, `1e999`, `2.5`, `"many"`, `true`, `[1]`, `{}`, `"1e300"`, `9007199254740993`, `99999999999999999999`} {
		var got Count
		require.Error(t, json.Unmarshal([]byte(text), &got), text)
		require.False(t, got.Known, text)
	}
}

func TestRatio(t *testing.T) {
	for text, want := range map[string]Ratio{
		`"24.30%"`: {0.243, true}, `"5.03%"`: {0.0503, true}, `"0.00%"`: {0, true}, `"100.00%"`: {1, true},
		`"5 %"`: {0.05, true}, `0.83`: {0.83, true}, `"0.83"`: {0.83, true}, `0`: {0, true}, `1`: {1, true},
		`"-1.00%"`: {}, `"-100.00%"`: {}, `25.0`: {}, `"100.01%"`: {}, `null`: {}, `"n/a"`: {},
	} {
		var got Ratio
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`"NaN%"`, `"NaN"`, `"high"`, `[]`, `"%"`} {
		var got Ratio
		require.Error(t, json.Unmarshal([]byte(text), &got), text)
		require.False(t, got.Known, text)
	}
}

func TestMoment(t *testing.T) {
	for text, want := range map[string]Moment{
		`1795957015150`: {1795957015150, true, true}, `"1795957015150"`: {1795957015150, true, true},
		`null`: {}, `"n/a"`: {}, `0`: {Given: true}, `-1`: {Given: true},
		`1795957015`: {Given: true}, `1795957015150000`: {Given: true},
	} {
		var got Moment
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	require.Error(t, json.Unmarshal([]byte(`"today"`), new(Moment)))
}

func TestPercentage(t *testing.T) {
	for text, want := range map[string]Ratio{
		`"24.30%"`: {0.243, true}, `"0.00%"`: {0, true}, `"0"`: {}, `"1"`: {}, `0.4`: {}, `"24.30"`: {}, `"-1.00%"`: {}, `null`: {},
	} {
		var got percentage
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got.Ratio, text)
	}
	require.Error(t, json.Unmarshal([]byte(`"24,30%"`), new(percentage)))
}

func TestNumberFlagAndText(t *testing.T) {
	var body struct {
		Cores   Number
		Missing Number
		Less    Number
		Yes, No Flag
		Neither Flag
		ID, Num Text
		Null    Text
	}
	require.NoError(t, json.Unmarshal([]byte(`{"Cores":"2.5","Less":-1,"Yes":"TRUE","No":false,"Neither":null,
		"ID":"1179405570449735681","Num":1179405570449735681,"Null":null}`), &body))
	require.Equal(t, Number{Value: 2.5, Known: true}, body.Cores)
	require.False(t, body.Missing.Known)
	require.False(t, body.Less.Known)
	require.Equal(t, Flag{Value: true, Known: true}, body.Yes)
	require.Equal(t, Flag{Known: true}, body.No)
	require.Equal(t, Flag{}, body.Neither)
	require.Equal(t, Text("1179405570449735681"), body.ID)
	require.Equal(t, body.ID, body.Num)
	require.Empty(t, body.Null)
	require.Error(t, json.Unmarshal([]byte(`{"Yes":"maybe"}`), &body))
	require.Error(t, json.Unmarshal([]byte(`{"Cores":"NaN"}`), &body))
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"[127.0.0.1]:5803":           "127.0.0.1:5803",
		"127.0.0.1:5803":             "127.0.0.1:5803",
		"[localhost]:5802":           "localhost:5802",
		"[Worker-1.zeta.svc]:5801":   "worker-1.zeta.svc:5801",
		"[0:0:0:0:0:0:0:1]:5801":     "::1:5801",
		"[fd00:0:0:0:0:0:0:9]:05801": "fd00::9:5801",
		"fd00::9:5801":               "fd00::9:5801",
		" worker-1 : 5801 ":          "worker-1:5801",
	} {
		got, ok := ParseAddress(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "host", ":5801", "[]:5801", "[host:5801", "host:", "host:0", "host:70000", "host:-1", "a b:5801", "a\nb:5801", "a\"b:1"} {
		_, ok := ParseAddress(text)
		require.False(t, ok, text)
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"2.3.13":         {Major: 2, Minor: 3, Patch: 13, Known: true},
		"2.3.9-SNAPSHOT": {Major: 2, Minor: 3, Patch: 9, Pre: true, Known: true},
		"v3.1":           {Major: 3, Minor: 1, Known: true},
		"":               {}, "3": {}, "2.3.x": {}, "2.3.13.1": {}, "-1.2.3": {}, "unknown": {},
	} {
		require.Equal(t, want, ParseVersion(text), text)
	}
	require.False(t, Version{}.Before(9, 9, 9), "nothing follows from an unknown version")
}

func TestWhatAVersionHas(t *testing.T) {
	for _, tc := range []struct {
		version            string
		dialect            dialect
		pending, resources support
		queue              bool
	}{
		{"2.3.8", restV1, neverExists, neverExists, false},
		{"2.3.9", restV2, mayExist, neverExists, true},
		{"2.3.12", restV2, mayExist, neverExists, true},
		{"2.3.13", restV2, mustExist, neverExists, true},
		{"2.3.13", restV1, mayExist, neverExists, true},
		{"3.0.0-SNAPSHOT", restV2, mayExist, mayExist, true},
		{"3.0.0", restV2, mustExist, mustExist, true},
		{"3.1.0", restV1, mayExist, mayExist, true},
		{"?", restV2, mayExist, mayExist, true},
		{"?", restV1, mayExist, neverExists, true},
	} {
		v := ParseVersion(tc.version)
		require.Equal(t, tc.pending, v.pendingJobs(tc.dialect), tc)
		require.Equal(t, tc.resources, v.resourceWorkers(tc.dialect), tc)
		require.Equal(t, tc.queue, v.HasQueue(), tc)
	}
}

func TestMembersAreNeverNobody(t *testing.T) {
	for _, body := range []string{`[]`, `[{}]`, `[null]`, `[{"host":"a"}]`} {
		_, err := DecodeMembers(strings.NewReader(body))
		require.ErrorContains(t, err, "no member", body)
	}
}

// TestAMemberWithoutAddressIsAMember counts: without it, the others would look
// like all there are.
func TestAMemberWithoutAddressIsAMember(t *testing.T) {
	members, err := DecodeMembers(strings.NewReader(`[{"host":"m","port":"1","isMaster":"true"},{"address":"[w]:1","timeout":"true"},{}]`))
	require.NoError(t, err)
	require.Equal(t, []Member{{Address: "m:1", Master: true}, {}, {}}, members)
}
