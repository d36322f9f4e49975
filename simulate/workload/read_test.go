package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadCSV(t *testing.T) {
	w, err := Read(strings.NewReader("\xef\xbb\xbfsubmitted_at,slots,seconds,kind,cpu\r\n"+
		"2026-03-29T01:59:00+01:00,2,90.5,batch,0.3\r\n"+
		"2026-03-29T03:01:00+02:00, 4 ,,STREAM,\r\n"+
		"\"2026-03-29T01:05:00Z\",1,60,,\r\n"), "night.csv")
	require.NoError(t, err)
	require.NoError(t, w.Check())
	require.Equal(t, "night.csv", w.Name)
	require.Equal(t, []Job{
		{At: 0, Run: 90*time.Second + 500*time.Millisecond, Slots: 2, Kind: Batch, CPU: 0.3},
		{At: 2 * time.Minute, Slots: 4, Kind: Stream, CPU: 0.1}, // the clocks went forward between the two
		{At: 6 * time.Minute, Run: time.Minute, Slots: 1, Kind: Batch, CPU: 0.1},
	}, w.Jobs)
	require.Equal(t, 16*time.Minute, w.Length)
	require.Equal(t, DefaultConditions(), w.Conditions)
}

func TestReadJSONLines(t *testing.T) {
	w, err := Read(strings.NewReader(`{"submitted_at": 1772323200, "slots": 2, "seconds": 30}
{"kind":"streaming","slots":"3","submitted_at":1772323260.5,"seconds":null}

{"submitted_at":1772323300,"slots":1,"seconds":7,"cpu":1}`), "jobs.jsonl")
	require.NoError(t, err)
	require.NoError(t, w.Check())
	require.Equal(t, []Job{
		{At: 0, Run: 30 * time.Second, Slots: 2, Kind: Batch, CPU: 0.1},
		{At: 60*time.Second + 500*time.Millisecond, Slots: 3, Kind: Stream, CPU: 0.1},
		{At: 100 * time.Second, Run: 7 * time.Second, Slots: 1, Kind: Batch, CPU: 1},
	}, w.Jobs)
}

func TestSecondsSinceTheBeginningKeepTheirDistanceToIt(t *testing.T) {
	w, err := Read(strings.NewReader("submitted_at,slots,seconds\n3600,1,60\n"), "later.csv")
	require.NoError(t, err)
	require.Equal(t, time.Hour, w.Jobs[0].At)
}

func TestWhatIsWrongWithAFileIsSaidWithItsPlace(t *testing.T) {
	const header = "submitted_at,slots,seconds,kind\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f: no jobs in it"},
		{"only a header", header, "f: no jobs in it"},
		{"misspelt column", "submited_at,slots,seconds\n", `f:1:1: there is no column "submited_at": did you mean submitted_at?`},
		{"column twice", "submitted_at,slots,seconds,slots\n", "f:1:28: slots a second time"},
		{"column missing", "submitted_at,slots\n", "f:1:1: the header has no column seconds"},
		{"too few values", header + "0,1\n", "f:2:1: 2 values, expected 4"},
		{"quote", header + "0,\"1,2,3\n", "f:2:10: extraneous or missing \" in quoted-field"},
		{"out of order", header + "0,1,1,batch\n90,1,1,batch\n30,1,1,batch\n", "f:4:1: submitted_at is 1m0s before that of line 3: sort the jobs by it"},
		{"out of order at once", header + "2026-03-01T10:00:00Z,0,1,batch\n2026-03-01T09:00:00Z,1,1,batch\n", "f:3:1: submitted_at is 1h0m0s before that of the first line"},
		{"negative time", header + "-1,1,1,batch\n", "f:2:1: submitted_at is -1, expected 0 or more"},
		{"milliseconds", header + "1772323200000,1,1,batch\n", "f:2:1: submitted_at is 1772323200000, expected seconds (milliseconds, perhaps?)"},
		{"no zone", header + "2026-03-01T10:00:00,1,1,batch\n", "has no zone: expected RFC 3339"},
		{"no zone and a space", header + "2026-03-01 10:00:00,1,1,batch\n", "has no zone: expected RFC 3339"},
		{"no time", header + "yesterday,1,1,batch\n", `f:2:1: submitted_at is "yesterday", expected RFC 3339`},
		{"no such day", header + "2026-02-30T10:00:00Z,1,1,batch\n", `f:2:1: submitted_at is "2026-02-30T10:00:00Z", expected RFC 3339`},
		{"clocks mixed", header + "0,1,1,batch\n2026-03-01T10:00:00Z,1,1,batch\n", "f:3:1: submitted_at is in RFC 3339, expected it in seconds since the beginning as that of the first job"},
		{"beginning and 1970", header + "5,1,1,batch\n1772323200,1,1,batch\n", "f:3:1: submitted_at is in seconds since 1970, expected it in seconds since the beginning"},
		{"years apart", header + "0,1,1,batch\n99999999,1,1,batch\n", "f:3:1: submitted_at is 27777h46m39s after the beginning, expected at most 8784h0m0s"},
		{"no slots", header + "0,0,1,batch\n", `f:2:3: slots is "0", expected a whole number from 1 to 100000`},
		{"part of a slot", header + "0,1.5,1,batch\n", `f:2:3: slots is "1.5"`},
		{"slots beyond numbers", header + "0,99999999999999999999,1,batch\n", `f:2:3: slots is "99999999999999999999"`},
		{"negative run", header + "0,1,-4,batch\n", `f:2:5: seconds is "-4", expected a number from 0 to 31622400`},
		{"endless batch", header + "0,1,,batch\n", "f:2:5: seconds is 0 or missing, expected how long the job runs"},
		{"run of ages", header + "0,1,1e99,batch\n", `f:2:5: seconds is "1e99"`},
		{"not a number", header + "0,1,NaN,batch\n", `f:2:5: seconds is "NaN"`},
		{"infinite", header + "0,1,1e999,batch\n", `f:2:5: seconds is "1e999"`},
		{"hexadecimal", header + "0,1,0x10,batch\n", `f:2:5: seconds is "0x10"`},
		{"unknown kind", header + "0,1,1,bach\n", `f:2:7: kind is "bach", expected batch or stream: did you mean batch?`},
		{"cpu beyond 1", "submitted_at,slots,seconds,cpu\n0,1,1,20\n", `f:2:7: cpu is "20", expected a ratio from 0 to 1`},
		{"json without an end", `{"submitted_at":0,"slots":1`, "f:1:28: the line ends within its JSON object"},
		{"json over several lines", "{\n \"submitted_at\": 0,\n \"slots\": 1\n}\n", "f:1:3: the line ends within its JSON object, expected a whole one in each line"},
		{"json array", " [{\"submitted_at\":0}]", "f:1:1: a JSON array, expected an object in each line"},
		{"UTF-16", "\xff\xfes\x00u\x00", "f:1:1: text in UTF-16, expected UTF-8"},
		{"no header", "0,1,60,batch\n", "f:1:1: no header, expected a line with the names of the columns, separated by commas: submitted_at, slots, seconds"},
		{"semicolons", "submitted_at;slots;seconds\n0;1;60\n", "f:1:1: no header, expected a line with the names of the columns, separated by commas"},
		{"kind like nothing", header + "0,1,1,42\n", `f:2:7: kind is "42", expected batch or stream`},
		{"json with more", `{"submitted_at":0,"slots":1,"seconds":1} {}`, "f:1:42: more than one JSON object in a line"},
		{"json list", "{\"submitted_at\":0,\"slots\":1,\"seconds\":1}\n[1]", "f:2:1: no JSON object"},
		{"json key", `{"submitted_at":0,"slot":1}`, `f:1:19: there is no column "slot": did you mean slots?`},
		{"json key twice", `{"slots":1,"slots":1}`, "f:1:12: slots a second time"},
		{"json key missing", `{"slots":1,"seconds":1}`, "f:1:1: submitted_at is missing"},
		{"json value", `{"submitted_at":0,"slots":[1]}`, "f:1:27: slots is [, expected a number or a text"},
		{"json truth", `{"submitted_at":true}`, "f:1:17: submitted_at is true, expected a number or a text"},
		{"json after characters", `{"kind":"größe","slots":0}`, `f:1:25: slots is "0"`},
		{"long line of csv", header + "0,1,1,batch\n" + strings.Repeat("x", 3*maxLine), "f:3:1: a line, or a quoted value, longer than 64 KiB"},
		{"no line at all", strings.Repeat("\x00", 3*maxLine), "f:1:1: a line, or a quoted value, longer than 64 KiB"},
		{"quote without an end", header + "\"" + strings.Repeat("0,1,1,batch\n", maxLine), "f:2:1: a line, or a quoted value, longer than 64 KiB"},
		{"long line", `{"kind":"` + strings.Repeat("x", maxLine), "f:1:1: longer than 64 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "f")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "reading a workload: ")
		})
	}
}

// What is bounded is a line, and not a file.
func TestReadManyLines(t *testing.T) {
	w, err := Read(strings.NewReader("submitted_at,slots,seconds\n"+strings.Repeat("\"5\",1,60\n", maxLine)), "f")
	require.NoError(t, err)
	require.Len(t, w.Jobs, maxLine)
}

func TestAllThatIsWrongIsSaidUpToABound(t *testing.T) {
	_, err := Read(strings.NewReader("submitted_at,slots,seconds\n0,0,-1\nx,1,1\n"), "f")
	require.ErrorContains(t, err, "f:2:3: slots")
	require.ErrorContains(t, err, "f:2:5: seconds")
	require.ErrorContains(t, err, "f:3:1: submitted_at")

	_, err = Read(strings.NewReader("submitted_at,slots,seconds\n"+strings.Repeat("0,0,1\n", 1000)), "f")
	require.ErrorContains(t, err, "f: the rest was not read after 10 problems")
	require.Len(t, strings.Split(err.Error(), "\n"), maxProblems+1)
}

// What can be read is a workload that can be played, and what cannot has an error
// that says where.
func FuzzRead(f *testing.F) {
	f.Add("submitted_at,slots,seconds,kind,cpu\n2026-03-01T10:00:00Z,1,2.5,batch,0.1\n2026-03-01T10:00:01+00:00,2,,stream,\n")
	f.Add(`{"submitted_at":0,"slots":1,"seconds":1e3,"kind":"batch"}` + "\n" + `{"submitted_at":"5","slots":2,"seconds":1}`)
	f.Add("submitted_at,slots,seconds\n1e9,1,1\n\"1e9\n\",1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Read(strings.NewReader(text), "fuzz")
		if err != nil {
			require.Nil(t, w)
			require.Contains(t, err.Error(), "fuzz")
			require.Less(t, len(err.Error()), 4096)
			return
		}
		require.NoError(t, w.Check())
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString("submitted_at,slots,seconds,kind\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "%s,%d,%d,batch\n", time.Unix(1772323200+int64(i), 0).UTC().Format(time.RFC3339), 1+i%8, 30+i%900)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(text.String()), "bench"); err != nil {
			b.Fatal(err)
		}
	}
}
