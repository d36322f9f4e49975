package source

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// vectorReply is what a server says to a query over n scopes.
func vectorReply(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"cluster":"cluster-%d","region":"eu-west-1"},"value":[1790000000.123,"0.%d"]}`, i, i)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func matrixReply(series, points int) []byte {
	var b strings.Builder
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	for i := range series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"cluster":"cluster-%d"},"values":[`, i)
		for j := range points {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `[%d.5,"0.%d"]`, 1790000000+j*30, j)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func TestDecodeStrings(t *testing.T) {
	e, err := decode([]byte(`{"status":"success","data":{"result":[
		{"metric":{"\u0061":"w\u00f6rt\"er\\","b":"","utf8.näme":"\ud83d\ude00"},"value":[-1.5,"-Inf"]}],"resultType":"vector"}}`))
	require.NoError(t, err)
	require.Len(t, e.samples, 1)
	require.True(t, labels.Equal(labels.FromStrings("a", `wört"er\`, "utf8.näme", "😀"), e.samples[0].Labels), "%s", e.samples[0].Labels)
	require.True(t, math.IsInf(e.samples[0].Value, -1))
}

func TestDecodeTimesAreMilliseconds(t *testing.T) {
	e, err := decode([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[-1.001,"1"],[1790000000.123,"2"],[1.79e9999,"3"]]}]}}`))
	require.ErrorContains(t, err, "out of range")
	require.Equal(t, []Point{{T: -1001, V: 1}, {T: 1_790_000_000_123, V: 2}}, e.series[0].Points[:2])

	_, err = decode([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[2,"1"],[1,"2"]]}]}}`))
	require.ErrorContains(t, err, "do not rise")
}

func TestDecodeRefusesDeepNesting(t *testing.T) {
	_, err := decode([]byte(`{"x":` + strings.Repeat("[", 1<<20)))
	require.ErrorContains(t, err, "nested too deeply")
}

// FuzzDecode: whatever arrives, no panic; and what is accepted is JSON of the
// same meaning to the standard library.
func FuzzDecode(f *testing.F) {
	f.Add(vectorReply(2))
	f.Add(matrixReply(1, 2))
	f.Add([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]},"warnings":["a"],"infos":null}`))
	f.Add([]byte(`{"status":"error","errorType":"bad_data","error":"invalid \"x\""}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`))
	f.Add([]byte(`{"a":[{"b":-1e5},null,true,"\\"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decode(body)
		if err != nil || e.resultType != "vector" || !json.Valid(body) {
			return
		}
		var std struct {
			Data struct {
				Result []struct {
					Value [2]any `json:"value"`
				} `json:"result"`
			} `json:"data"`
		}
		if json.Unmarshal(body, &std) != nil || len(std.Data.Result) != len(e.samples) {
			return // members given twice: the last wins here, fields are merged there
		}
		for i, r := range std.Data.Result {
			text, ok := r.Value[1].(string)
			require.True(t, ok)
			require.NotEmpty(t, text)
			require.False(t, math.IsNaN(e.samples[i].Value) && !strings.EqualFold(strings.TrimLeft(text, "+-"), "nan"))
		}
	})
}

func BenchmarkDecodeVector1000(b *testing.B) {
	body := vectorReply(1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		e, err := decode(body)
		if err != nil || len(e.samples) != 1000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMatrix1000x20(b *testing.B) {
	body := matrixReply(1000, 20)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		e, err := decode(body)
		if err != nil || len(e.series) != 1000 {
			b.Fatal(err)
		}
	}
}

func TestDecodeKeepsWordsShort(t *testing.T) {
	long := strings.Repeat("ü", maxNote)
	e, err := decode([]byte(`{"status":"error","errorType":"bad_data","error":"` + long + `","warnings":["w"` +
		strings.Repeat(`,"`+long+`"`, maxNotes) + `]}`))
	require.NoError(t, err)
	require.Equal(t, long[:maxNote]+"…", e.message)
	require.Len(t, e.warnings, maxNotes)
	require.Equal(t, "w", e.warnings[0])
	require.Equal(t, e.message, e.warnings[1])

	e, err = decode([]byte(`{"status":"error","error":"x` + long + `"}`))
	require.NoError(t, err)
	require.Equal(t, "x"+long[:maxNote-2]+"…", e.message, "no half of a letter")
}

func TestDecodeKeepsAWarningBehindManyInfos(t *testing.T) {
	infos := strings.Repeat(`"PromQL info: metric might not be a counter",`, maxNotes)
	e, err := decode([]byte(`{"status":"success","data":{"resultType":"vector","result":[]},"infos":["of its own"],"warnings":[` +
		infos + `"store 1: unreachable"]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"store 1: unreachable"}, e.warnings)
	require.Len(t, e.infos, maxNotes)
}

func TestDecodeBelievesOneWhoSaysPartial(t *testing.T) {
	for _, body := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[],"isPartial":true}}`,
		`{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[],"isPartial":false}}`,
		`{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[]},"isPartial":false}`,
	} {
		e, err := decode([]byte(body))
		require.NoError(t, err)
		require.True(t, e.partial, body)
	}
}

// Whatever the order of the members, the reply is the same.
func TestDecodeInAnyOrder(t *testing.T) {
	const value = `[{"metric":{"a":"b"},"value":[1,"2"]}]`
	want, err := decode([]byte(`{"status":"success","data":{"resultType":"vector","result":` + value + `}}`))
	require.NoError(t, err)
	require.Len(t, want.samples, 1)
	for _, body := range []string{
		`{"data":{"resultType":"vector","result":` + value + `},"status":"success"}`,
		`{"status":"success","data":{"result":` + value + `,"resultType":"vector"}}`,
		`{"data":{"result":` + value + `,"resultType":"vector"},"status":"success"}`,
		`{"data":{"result":7},"status":"success","data":{"resultType":"vector","result":` + value + `}}`,
	} {
		got, err := decode([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
	for _, body := range []string{
		`{"status":"success","data":{"resultType":"vector","result":` + value + `,"result":` + value + `}}`,
		`{"status":"success","data":{"resultType":"vector","result":` + value + `,"resultType":"matrix"}}`,
		`{"status":"success","data":{"resultType":"vector"}}`,
		`{"status":"success"}`,
	} {
		_, err := decode([]byte(body))
		require.Error(t, err, body)
	}
	refused, err := decode([]byte(`{"data":{"resultType":"vector","result":` + value + `},"status":"error","error":"no"}`))
	require.NoError(t, err)
	require.Empty(t, refused.samples)
}

// Times are read as the standard library reads them.
func TestDecodeNumbers(t *testing.T) {
	for _, text := range []string{"0", "7", "1772323200", "999999999999999", "1000000000000001", "1772323200.123", "-5", "1e3", "12345678901234567890"} {
		s := scanner{buf: []byte(text)}
		got, err := s.number()
		require.NoError(t, err)
		want, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), text)
	}
}
