package source_test

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

func TestTargetScrapesLikePrometheus(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	target := db.Target(labels.FromStrings("job", "zeta", "instance", "sim"))

	n, err := target.AppendText("", []byte("# TYPE w gauge\nw{worker=\"a\"} 1\nw{worker=\"b\"} 2\n# TYPE c counter\nc_total{job=\"mine\",exported_job=\"taken\"} 7\n"), at(1000), 20*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.InDelta(t, 1, value(t, e, `up{job="zeta",instance="sim"}`, at(1000)), 0)
	require.InDelta(t, 3, value(t, e, `scrape_samples_scraped`, at(1000)), 0)
	require.InDelta(t, 0.02, value(t, e, `scrape_duration_seconds`, at(1000)), 0)
	require.InDelta(t, 2, value(t, e, `w{worker="b",job="zeta"}`, at(1000)), 0)
	require.InDelta(t, 7, value(t, e, `c_total{job="zeta",exported_job="taken",exported_exported_job="mine"}`, at(1000)), 0,
		"a target label wins over an exposed one")

	_, err = target.AppendText("text/plain; version=0.0.4", []byte("w{worker=\"a\"} 5\n"), at(1015), 0)
	require.NoError(t, err)
	require.InDelta(t, 5, value(t, e, `w`, at(1015)), 0, "worker b vanished and is stale at once")
	absent(t, e, `c_total`, at(1015))

	require.NoError(t, target.AppendFailure(at(1030), 0))
	absent(t, e, `w`, at(1030))
	require.InDelta(t, 0, value(t, e, `up`, at(1030)), 0)

	_, err = target.AppendText("", []byte("w{worker=\"a\"} 6\n"), at(1045), 0)
	require.NoError(t, err)
	require.InDelta(t, 6, value(t, e, `w`, at(1045)), 0)
	require.InDelta(t, 1, value(t, e, `up`, at(1045)), 0)

	require.NoError(t, target.End(at(1060)))
	absent(t, e, `{job="zeta"}`, at(1060))
	require.InDelta(t, 1, value(t, e, `up`, at(1059)), 0)
}

func TestTargetOpenMetrics(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	target := db.Target(labels.FromStrings("job", "zeta"))
	const openMetrics = "application/openmetrics-text; version=1.0.0"
	n, err := target.AppendText(openMetrics, []byte("# TYPE c counter\nc_total 3 # {trace=\"x\"} 1\n# TYPE t gauge\nt 4 990\n# EOF\n"), at(1000), 0)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.InDelta(t, 3, value(t, e, "c_total", at(1000)), 0)
	require.InDelta(t, 4, value(t, e, "t", at(995)), 0, "a timestamp of its own is kept")

	_, err = target.AppendText(openMetrics, []byte("# EOF\n"), at(1015), 0)
	require.NoError(t, err)
	absent(t, e, "c_total", at(1015))
	require.InDelta(t, 4, value(t, e, "t", at(1015)), 0, "and excludes the series from stale markers, as in Prometheus")
}

func TestTargetBadScrapes(t *testing.T) {
	tests := []struct{ name, contentType, body, want string }{
		{"not an exposition", "", "<html>502</html>\n", `reading the exposition of {job="zeta"}`},
		{"truncated", "application/openmetrics-text", "# TYPE c counter\nc_total 3\n", "does not end with # EOF"},
		{"wrong content type", "application/json", "{}", "application/json"},
		{"twice", "", "m 1\nm 2\n", `series {__name__="m", job="zeta"} is exposed twice`},
		{"half good", "", "good 1\nbad{\n", "reading the exposition"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openTemporary(t)
			e := newEngine(t, db)
			target := db.Target(labels.FromStrings("job", "zeta"))
			_, err := target.AppendText("", []byte("m 1\n"), at(0), 0)
			require.NoError(t, err)

			_, err = target.AppendText(tt.contentType, []byte(tt.body), at(15), 0)
			require.ErrorContains(t, err, tt.want)
			require.NotErrorIs(t, err, source.ErrNotWritten)
			require.InDelta(t, 0, value(t, e, "up", at(15)), 0)
			absent(t, e, "m", at(15))
			absent(t, e, "good", at(15))
		})
	}
}

func TestTargetRefusesTimeThatDoesNotRise(t *testing.T) {
	db := openTemporary(t)
	target := db.Target(labels.FromStrings("job", "zeta"))
	_, err := target.AppendText("", []byte("m 1\n"), at(0), 0)
	require.NoError(t, err)
	for _, when := range []time.Time{at(0), at(-15)} {
		_, err = target.AppendText("", []byte("m 2\n"), when, 0)
		require.ErrorIs(t, err, source.ErrNotWritten)
		require.ErrorContains(t, err, "does not come after the last scrape")
		require.ErrorIs(t, target.AppendFailure(when, 0), source.ErrNotWritten)
		require.ErrorIs(t, target.End(when), source.ErrNotWritten)
	}
	// Another target with the same labels collides in the database itself.
	_, err = db.Target(labels.FromStrings("job", "zeta")).AppendText("", []byte("m 2\n"), at(0), 0)
	require.ErrorIs(t, err, source.ErrNotWritten)
	require.ErrorContains(t, err, "another value was written")
	require.InDelta(t, 1, value(t, newEngine(t, db), "m", at(0)), 0)
}

func FuzzAppendText(f *testing.F) {
	f.Add("", []byte("# HELP m x\n# TYPE m gauge\nm{a=\"b\"} 1 1000\n"))
	f.Add("application/openmetrics-text", []byte("m 1\n# EOF\n"))
	f.Add("", []byte("{\"a b\",c=\"d\"} NaN\n"))
	f.Add("application/vnd.google.protobuf", []byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		db := openTemporary(t)
		target := db.Target(labels.FromStrings("job", "zeta"))
		if _, err := target.AppendText(contentType, body, at(100), 0); errors.Is(err, source.ErrNotWritten) {
			return
		}
		value(t, newEngine(t, db), `up{job="zeta"}`, at(100))
	})
}

// A target remembers the series of a text: it must be the right one when it comes
// back after it was gone, after the database has forgotten it, and in another text.
func TestTargetKnowsItsSeriesAgain(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	target := db.Target(labels.FromStrings("job", "zeta"))
	scrape := func(second int64, body string) {
		t.Helper()
		_, err := target.AppendText("", []byte(body), at(second), 0)
		require.NoError(t, err)
	}
	scrape(0, "m{a=\"1\",b=\"2\"} 1\nn 1\n")
	scrape(15, "n 2\n")
	absent(t, e, "m", at(15))
	scrape(30, "m{b=\"2\", a=\"1\"} 3\nn 3\n")
	require.InDelta(t, 3, value(t, e, `m{a="1",b="2"}`, at(30)), 0)
	scrape(45, "m{a=\"1\",b=\"2\"} 4\nn 4\n")
	require.InDelta(t, 4, value(t, e, `m`, at(45)), 0, "the other text is no other series, so nothing has vanished")

	_, err := target.AppendText("", []byte("m{a=\"1\",b=\"2\"} 5\nm{b=\"2\",a=\"1\"} 5\n"), at(60), 0)
	require.ErrorContains(t, err, `series {__name__="m", a="1", b="2", job="zeta"} is exposed twice`)
	absent(t, e, "m", at(60))

	require.NoError(t, db.Forget(at(70)))
	scrape(75, "m{a=\"1\",b=\"2\"} 6\n")
	require.InDelta(t, 6, value(t, e, "m", at(75)), 0, "the database has dropped the series and begins it anew")

	scrape(90, "m{a=\"1\",b=\"2\"} 7 80000\n")
	require.InDelta(t, 7, value(t, e, "m", at(85)), 0)
	absent(t, e, "m", at(90)) // with a time of its own it is watched no longer, and ends where it was
}
