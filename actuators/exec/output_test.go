package exec

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

func TestParseObservation(t *testing.T) {
	for _, test := range []struct {
		in   string
		want actuators.State
		err  string
	}{
		{`{"desired":3,"ready":2}`, actuators.State{Desired: 3, Ready: 2}, ""},
		{" {\"desired\":0,\n\"ready\":0}\n", actuators.State{}, ""},
		{`{"desired":1,"ready":4,"otherWriter":"cron of bob"}`, actuators.State{Desired: 1, Ready: 4, OtherWriter: "cron of bob"}, ""},
		{
			`{"desired":1,"ready":1,"fence":{"masterEpoch":3,"generation":9,"recommendationId":"3-9-x","actionId":"3-8-x"}}`,
			actuators.State{Desired: 1, Ready: 1, Fence: actuators.Fence{Epoch: 3, Generation: 9, RecommendationID: "3-9-x", ActionID: "3-8-x"}},
			"",
		},
		{`{"desired":1,"ready":1,"fence":null}`, actuators.State{Desired: 1, Ready: 1}, ""},
		{"", actuators.State{}, "it is empty"},
		{"3", actuators.State{}, "number where an object is expected"},
		{"null", actuators.State{}, "desired is missing"},
		{`{"desired":3}`, actuators.State{}, "ready is missing"},
		{`{"desired":3,"ready":null}`, actuators.State{}, "ready is missing"},
		{`{"desired":-1,"ready":0}`, actuators.State{}, "desired is -1"},
		{`{"desired":"3","ready":2}`, actuators.State{}, `"desired" is string where a whole number is expected`},
		{`{"desired":3.5,"ready":2}`, actuators.State{}, `"desired" is number 3.5 where a whole number is expected`},
		{`{"desired":3,"desired":4,"ready":2}`, actuators.State{}, `"desired" is given twice`},
		{`{"Desired":3,"ready":2}`, actuators.State{}, `unknown field "Desired"`},
		{`{"desired":3,"ready":2,"fence":{"masterEpoch":1,"masterEpoch":2}}`, actuators.State{}, `"masterEpoch" is given twice`},
		{`{"desired":3,"raedy":2}`, actuators.State{}, "unknown field"},
		{`{"desired":3,"ready":2}{}`, actuators.State{}, "something behind the JSON object"},
		{`{"desired":3,"ready":2} workers`, actuators.State{}, "something behind the JSON object"},
		{`{"desired":3,"ready":2`, actuators.State{}, "ends too early"},
	} {
		t.Run(test.in, func(t *testing.T) {
			got, err := parseObservation([]byte(test.in))
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.Zero(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestParseWorkers(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []actuators.Worker
		err  string
	}{
		{`{"workers":[]}`, []actuators.Worker{}, ""},
		{
			`{"workers":[{"name":"w2","address":"10.0.0.2:5801"},{"name":"w1","leaving":true}]}`,
			[]actuators.Worker{{Name: "w2", Address: "10.0.0.2:5801"}, {Name: "w1", Leaving: true}},
			"",
		},
		{"", nil, "it is empty"},
		{"{}", nil, "workers is missing"},
		{`{"workers":null}`, nil, "workers is missing"},
		{`{"workers":["w1"]}`, nil, "string where an object is expected"},
		{`{"workers":[{"called":"w1"}]}`, nil, "unknown field"},
		{`{"workers":[{"name":"w1"},{"address":"w2"}]}`, nil, "workers[1] has no name"},
		{`{"workers":[{"name":"w1"},{"name":"w1"}]}`, nil, `workers[1] is "w1", which is there twice`},
		{`{"workers":[]}{`, nil, "something behind the JSON object"},
	} {
		t.Run(test.in, func(t *testing.T) {
			got, err := parseWorkers([]byte(test.in))
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.want, got)
		})
	}
}

func FuzzParseWorkers(f *testing.F) {
	f.Add([]byte(`{"workers":[{"name":"w2","address":"10.0.0.2:5801"},{"name":"w1","leaving":true}]}`))
	f.Add([]byte(`{"workers":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		workers, err := parseWorkers(b)
		if err != nil {
			require.Nil(t, workers)
			return
		}
		names := map[string]bool{}
		for _, w := range workers {
			require.NotEmpty(t, w.Name)
			names[w.Name] = true
		}
		require.Len(t, names, len(workers), "no name is there twice")
	})
}

func FuzzParseObservation(f *testing.F) {
	f.Add([]byte(`{"desired":3,"ready":2}`))
	f.Add([]byte(`{"desired":1,"ready":1,"fence":{"masterEpoch":3},"otherWriter":"x"}`))
	f.Add([]byte(`{"desired":3,"ready":2}{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseObservation(b)
		if err != nil {
			require.Zero(t, s)
			return
		}
		require.GreaterOrEqual(t, s.Desired, 0)
		require.GreaterOrEqual(t, s.Ready, 0)
		_, err = parseObservation(append(bytes.Clone(b), '0'))
		require.Error(t, err, "nothing may follow")
	})
}

// TestTailKeepsTheEnd compares it with keeping everything.
func TestTailKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got tail
		var all []byte
		for i := range rapid.IntRange(0, 12).Draw(t, "writes") {
			n := rapid.SampledFrom([]int{0, 1, 1000, maxOutput - 1, maxOutput, maxOutput + 1, 3 * maxOutput}).Draw(t, "size")
			p := bytes.Repeat([]byte{byte('a' + i)}, n)
			written, err := got.Write(p)
			require.NoError(t, err)
			require.Equal(t, n, written)
			all = append(all, p...)
		}
		require.Equal(t, len(all) > maxOutput, got.cut())
		require.True(t, bytes.Equal(all[max(0, len(all)-maxOutput):], got.bytes()))
		require.LessOrEqual(t, len(got.buf), 2*maxOutput)
	})
}

func TestExcerptIsOneShortLineOfText(t *testing.T) {
	for name, in := range map[string]string{
		"long": strings.Repeat("é", 1000), "binary": "\xff\xfe\x00\x01", "lines": "a\nb\r\nc\td",
	} {
		t.Run(name, func(t *testing.T) {
			var out tail
			_, err := out.Write([]byte(in))
			require.NoError(t, err)
			got := out.excerpt()
			require.LessOrEqual(t, len(got), maxExcerpt+len("…"))
			require.NotContains(t, got, "\n")
			require.NotContains(t, got, "\x00")
			require.Equal(t, strings.ToValidUTF8(got, ""), got)
		})
	}
}
