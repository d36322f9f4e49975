package jobs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

func TestCompareJSON(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(orders, old, with, 1) }
	for name, test := range map[string]struct {
		text string
		job  func(*control.Job)
		err  string
	}{
		"the same":          {text: orders},
		"names in any case": {text: replace("FakeSource", "fakesource")},
		"nested options":    {text: replace(`"job.mode": "STREAMING"`, `"job": {"mode": "STREAMING"}`)},
		"plugins as keys":   {text: replace(`[{"plugin_name": "Console", "source_table_name": "fake"}]`, `{"Console": {"source_table_name": "fake"}}`)},
		"a filter": {
			text: replace(`"parallelism": 2,`, `"parallelism": 2, "tag_filter": {"zone": "a", "pool": "x"},`),
			job:  func(j *control.Job) { j.Env["tag_filter"] = "{zone=a, pool=x}" },
		},
		"another filter": {
			text: replace(`"parallelism": 2,`, `"parallelism": 2, "tag_filter": {"zone": "a"},`),
			job:  func(j *control.Job) { j.Env["tag_filter"] = "{zone=b}" },
			err:  `its tag_filter is "{zone=a}", the job's is "{zone=b}"`,
		},
		"an option more":      {text: replace(`"parallelism": 2,`, `"parallelism": 2, "job.retry.times": 0,`), err: `its job.retry.times is "0", the job has none`},
		"an option less":      {text: replace(`, "checkpoint.interval": 5000`, ``), err: `it has no checkpoint.interval, the job has "5000"`},
		"a secret option":     {text: replace(`"parallelism": 2,`, `"parallelism": 2, "token": "hunter2",`), err: `its token is another, the job has none`},
		"two differences":     {text: replace(`"parallelism": 2, "checkpoint.interval": 5000`, `"parallelism": 3, "checkpoint.interval": 1`), err: `its checkpoint.interval is "1", the job's is "5000"; its parallelism is "3", the job's is "2"`},
		"another mode":        {text: replace("STREAMING", "BATCH"), job: func(j *control.Job) { j.Env = nil }, err: "its job.mode is BATCH, the job's is STREAMING"},
		"no mode":             {text: replace(`"job.mode": "STREAMING", `, ``), err: "env has no job.mode"},
		"another source":      {text: replace("FakeSource", "Kafka"), err: "its sources are Kafka, the job's are FakeSource"},
		"a sink more":         {text: replace(`"sink": [`, `"sink": [{"plugin_name": "Kafka"}, `), err: "its sinks are Kafka, Console, the job's are Console"},
		"a sink without name": {text: replace(`"plugin_name": "Console", `, ``), err: "sink 1 has no plugin_name"},
		"no sink":             {text: replace(`"sink"`, `"sunk"`), err: "it has no sink"},
		"a text":              {text: `"env"`, err: `it is not a job's config in JSON: "" is a JSON string`},
		"cut off":             {text: orders[:40], err: "it is not a job's config in JSON: it ends too early"},
		"two":                 {text: orders + orders, err: "it is not a job's config in JSON: there is something behind the object"},
	} {
		t.Run(name, func(t *testing.T) {
			j := running("4501", "orders")
			if test.job != nil {
				test.job(&j)
			}
			err := compare(control.Config{Format: "json", Text: []byte(test.text)}, j)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}

func TestCompareText(t *testing.T) {
	const hocon = `env {
  job.mode = "STREAMING" # as ever
}
source {
  FakeSource { row.num = 1 }
}
# sink { Kafka {} }
sink {
  Console {}
}`
	const sql = `/* config
env { parallelism = 2, "job.mode" = "STREAMING" }
*/
CREATE TABLE a WITH ('connector' = 'FakeSource', 'type' = 'source');
CREATE TABLE b WITH ('connector' = 'Console', 'type' = 'sink');
INSERT INTO b SELECT * FROM a;`
	for name, test := range map[string]struct{ format, text, err string }{
		"HOCON":           {format: "hocon", text: hocon},
		"SQL":             {format: "sql", text: sql},
		"another mode":    {format: "hocon", text: strings.Replace(hocon, "STREAMING", "BATCH", 1), err: "its job.mode is BATCH, the job's is STREAMING"},
		"no mode":         {format: "sql", text: strings.Replace(sql, "job.mode", "mode", 1), err: "no job.mode is in it"},
		"two modes":       {format: "hocon", text: hocon + "\njob.mode = BATCH", err: "no job.mode is in it"},
		"another sink":    {format: "hocon", text: strings.Replace(hocon, "Console", "Console-2", 1), err: "Console, which the job has, is not in it"},
		"a sink in words": {format: "hocon", text: strings.Replace(hocon, "  Console", "// Console", 1), err: "Console, which the job has, is not in it"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compare(control.Config{Format: test.format, Text: []byte(test.text)}, running("4501", "orders"))
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("json", orders)
	f.Add("hocon", "env { job.mode = STREAMING }\nsource { FakeSource {} }\nsink { Console {} }")
	f.Add("sql", `/* env { "job.mode"="STREAMING" } */ 'FakeSource' 'Console'`)
	f.Add("json", `{"env":{"job":{"mode":[{"a":null}]}},"source":{"":0},"sink":[{}]}`)
	f.Fuzz(func(t *testing.T, format, text string) {
		c := control.Config{Format: format, Text: []byte(text)}
		err := compare(c, running("4501", "orders"))
		if err != nil && len(err.Error()) > 20_000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		s := Submission{Name: "orders", Config: c}
		if _, invalid := s.check(); invalid == nil && format == "json" && err == nil {
			o, _ := readOutline(c.Text)
			require.NotEmpty(t, o.sources)
			require.NotEmpty(t, o.sinks)
			require.True(t, strings.EqualFold(o.mode(), "STREAMING"))
		}
	})
}
