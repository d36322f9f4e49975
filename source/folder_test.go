package source

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// written is a TSDB that a test writes, as a Prometheus does.
type written struct {
	*tsdb.DB
	dir string
}

func newWritten(t *testing.T) *written {
	t.Helper()
	w := &written{dir: t.TempDir()}
	o := tsdb.DefaultOptions()
	o.RetentionDuration = 0
	var err error
	w.DB, err = tsdb.Open(w.dir, nil, nil, o, nil)
	require.NoError(t, err)
	w.DisableCompactions()
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// append writes the minute of each sample as its value.
func (w *written) append(t *testing.T, from, to time.Time) {
	t.Helper()
	app := w.AppenderV2(context.Background())
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		_, err := app.Append(0, labels.FromStrings("__name__", "minute"), 0, at.UnixMilli(), float64(at.Sub(epoch)/time.Minute), nil, nil, storage.AOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
}

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func openedEngine(t *testing.T, dir string, until time.Time) (*Folder, *Engine) {
	t.Helper()
	f, err := OpenFolder(t.Context(), dir, until, nil)
	require.NoError(t, err)
	e, err := NewEngine(EngineOptions{}, f)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(e.Close(), f.Close())) })
	return f, e
}

func TestFolderWhileItIsWritten(t *testing.T) {
	w := newWritten(t)
	w.append(t, epoch, epoch.Add(9*time.Hour))
	require.NoError(t, w.Compact(t.Context()))
	require.NotEmpty(t, w.Blocks(), "some are in blocks, some in the log")
	before := tree(t, w.dir)
	f, e := openedEngine(t, w.dir, epoch.Add(24*time.Hour))
	oldest, newest, ok := f.Span()
	require.True(t, ok)
	require.Equal(t, epoch, oldest)
	require.Equal(t, epoch.Add(9*time.Hour), newest)

	m, err := e.Range(t.Context(), "minute", Window{Start: epoch, End: epoch.Add(9 * time.Hour), Step: time.Minute})
	require.NoError(t, err)
	require.Len(t, m.Series, 1)
	require.Len(t, m.Series[0].Points, 541)
	for i, p := range m.Series[0].Points {
		require.InDelta(t, i, p.V, 0)
	}
	require.Equal(t, before, tree(t, w.dir), "nothing in the folder is changed")

	// The writer goes on and deletes blocks; what was opened stays as it was.
	w.append(t, epoch.Add(9*time.Hour+time.Minute), epoch.Add(10*time.Hour))
	for _, b := range w.Blocks() {
		require.NoError(t, os.RemoveAll(b.Dir()))
	}
	m, err = e.Range(t.Context(), "minute", Window{Start: epoch, End: epoch.Add(10 * time.Hour), Step: time.Minute})
	require.NoError(t, err)
	require.Len(t, m.Series[0].Points, 541+4, "the lookback of five minutes behind the last sample")
}

// tree lists a folder's files with their sizes.
func tree(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out[path] = info.Size()
		}
		return err
	}))
	return out
}

func TestFolderWithoutItsLog(t *testing.T) {
	w := newWritten(t)
	w.append(t, epoch, epoch.Add(9*time.Hour))
	require.NoError(t, w.Compact(t.Context()))
	f, _ := openedEngine(t, w.dir, epoch.Add(time.Hour))
	require.Nil(t, f.head, "what is in blocks needs no log")
}

func TestFolderBrokenOff(t *testing.T) {
	w := newWritten(t)
	w.append(t, epoch, epoch.Add(time.Hour))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(w.dir)))
	segment := filepath.Join(dir, "wal", "00000000")
	content, err := os.ReadFile(segment)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(segment, append(content, "\x01 garbage"...), 0o600))
	_, e := openedEngine(t, dir, epoch.Add(24*time.Hour))
	v, err := e.Instant(t.Context(), "minute", epoch.Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, v.Samples, 1)
}

func TestFolderOfSomethingElse(t *testing.T) {
	_, err := OpenFolder(t.Context(), t.TempDir(), epoch, nil)
	require.ErrorContains(t, err, "has neither blocks nor a wal")
	_, err = OpenFolder(t.Context(), filepath.Join(t.TempDir(), "nowhere"), epoch, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestImport(t *testing.T) {
	for name, c := range map[string]struct{ text, fails string }{
		"series by series": {text: "# TYPE up gauge\nup{job=\"a\"} 1 1772323200\nup{job=\"a\"} 0 1772323260\nup{job=\"b\"} 1 1772323200\n# EOF\n"},
		"no timestamp":     {text: "up 1\n# EOF\n", fails: "without a timestamp"},
		"not rising":       {text: "up 1 1772323260\nup 1 1772323200\n# EOF\n", fails: "does not come after"},
		"another format":   {text: "{\"a\": 1}\n", fails: "not the OpenMetrics text format"},
		"nothing":          {text: "# EOF\n", fails: "it has no samples"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "samples")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			db, err := OpenTemporary("", nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			oldest, newest, err := db.Import(path)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, epoch, oldest)
			require.Equal(t, epoch.Add(time.Minute), newest)
			e, err := NewEngine(EngineOptions{}, db)
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			v, err := e.Instant(t.Context(), "sum(up)", epoch)
			require.NoError(t, err)
			require.InDelta(t, 2, v.Samples[0].Value, 0)
		})
	}
}

func TestTooMuch(t *testing.T) {
	for _, message := range []string{
		"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
		"query processing would load too many samples into memory in query execution",
		"the query time range exceeds the limit (query length: 720h0m0s, limit: 168h0m0s)",
		"too many points for the given start=1, end=2 and step=3: 4; the maximum number of points is 30000 (controlled by -search.maxPointsPerTimeseries)",
	} {
		require.True(t, TooMuch(apiError(http.StatusUnprocessableEntity, envelope{errorType: "execution", message: message})), message)
	}
	require.False(t, TooMuch(&QueryError{Type: execution, Message: "many-to-many matching not allowed"}))
	require.False(t, TooMuch(nil))
	require.False(t, TooMuch(noAnswerf(reasonConnection, "connection refused")))
	require.True(t, TooMuch(noAnswerf(reasonTooLarge, "the reply has more than 64 MiB")))
}
