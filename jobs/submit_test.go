package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// cluster is a Zeta that starts what it is given, unless it is told otherwise.
type cluster struct {
	jobs map[string]control.Job
	// texts are what was submitted, by id.
	texts map[string][]string
	// submit replaces the answer of the next submission; look that of every look.
	submit func(start func()) error
	look   error
}

func newCluster() *cluster {
	return &cluster{jobs: map[string]control.Job{}, texts: map[string][]string{}}
}

func (z *cluster) Job(_ context.Context, id string) (control.Job, error) {
	if z.look != nil {
		return control.Job{}, z.look
	}
	j, ok := z.jobs[id]
	if !ok {
		return j, control.ErrNoJob
	}
	return j, nil
}

func (z *cluster) Submit(_ context.Context, id, name string, c control.Config) error {
	start := func() {
		j := running(id, name)
		if strings.Contains(string(c.Text), "BATCH") {
			j.Mode, j.Env["job.mode"] = control.Batch, "BATCH"
		}
		z.jobs[id] = j
		z.texts[id] = append(z.texts[id], string(c.Text))
	}
	if answer := z.submit; answer != nil {
		z.submit = nil
		return answer(start)
	}
	start()
	return nil
}

// library is one whose submissions are kept.
func library(t *testing.T) *Library {
	t.Helper()
	return New(Options{
		Store: memory.New(), Keys: func() (*Keys, error) { return ParseKeys(key(1)) },
		Secrets: folder(t, map[string]string{"pw": "hunter2"}),
		Now:     func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) },
	})
}

func submission(id string) Submission {
	return Submission{ID: id, Name: "orders", By: "ann", Config: control.Config{Format: "json", Text: []byte(orders)}}
}

func TestSubmit(t *testing.T) {
	l, z := library(t), newCluster()
	c := l.Cluster("prod")
	got, err := c.Submit(t.Context(), z, submission(""))
	require.NoError(t, err)
	id, err := strconv.ParseInt(got.ID, 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, id, int64(1)<<62, "an id that Zeta could have given itself")
	require.Equal(t, Submitted{ID: got.ID, Name: "orders", Kept: true}, got)
	require.Equal(t, []string{orders}, z.texts[got.ID])

	config, err := c.Config(t.Context(), z.jobs[got.ID])
	require.NoError(t, err)
	require.JSONEq(t, orders, string(config.Text))
	kept, _, err := l.Kept(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Kept{{Cluster: "prod", ID: got.ID, Name: "orders", Format: "json", At: l.Now(), By: "ann"}}, kept)

	_, err = l.Cluster("test").Config(t.Context(), z.jobs[got.ID])
	require.ErrorIs(t, err, ErrNotRegistered, "a job of another cluster")
}

// What is kept has no secret that can be read, and Zeta gets what the references
// stand for.
func TestSubmitSealsAndResolves(t *testing.T) {
	l, z := library(t), newCluster()
	s := submission("7")
	s.Config.Text = []byte(strings.Replace(orders, `"result_table_name"`, `"user": "ann-the-user", "password": "${file:pw}", "result_table_name"`, 1))
	_, err := l.Cluster("prod").Submit(t.Context(), z, s)
	require.NoError(t, err)
	require.Contains(t, z.texts["7"][0], `"password": "hunter2"`)
	r, err := l.Store.Get(t.Context(), state.Job, "prod/7")
	require.NoError(t, err)
	require.NotContains(t, string(r.Value), "ann-the-user")
	require.NotContains(t, string(r.Value), "hunter2")
}

// Who asks again starts no second job, whatever was lost.
func TestSubmitTwice(t *testing.T) {
	for name, mode := range map[string]string{"streaming": "STREAMING", "batch": "BATCH"} {
		t.Run(name, func(t *testing.T) {
			l, z := library(t), newCluster()
			s := submission("7")
			s.Config.Text = []byte(strings.Replace(orders, "STREAMING", mode, 1))
			for again := range 3 {
				got, err := l.Cluster("prod").Submit(t.Context(), z, s)
				require.NoError(t, err)
				require.Equal(t, Submitted{ID: "7", Name: "orders", Kept: mode == "STREAMING", Again: again > 0}, got)
			}
			require.Len(t, z.texts["7"], 1)

			other := s
			other.Config.Text = []byte(strings.Replace(string(s.Config.Text), "FakeSource", "Kafka", 1))
			_, err := l.Cluster("prod").Submit(t.Context(), z, other)
			require.ErrorIs(t, err, ErrTaken)
		})
	}
}

// Zeta's own jobs are not taken over.
func TestSubmitUnderAnIDThatZetaHas(t *testing.T) {
	l, z := library(t), newCluster()
	z.jobs["7"] = running("7", "orders")
	_, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
	require.ErrorIs(t, err, ErrTaken)
	kept, _, err := l.Kept(t.Context())
	require.NoError(t, err)
	require.Empty(t, kept)
}

func TestSubmitRefused(t *testing.T) {
	for name, answer := range map[string]error{
		"refused":  fmt.Errorf("%w: no such plugin", control.ErrRefused),
		"not sent": errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			l, z := library(t), newCluster()
			z.submit = func(func()) error { return answer }
			_, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
			require.ErrorIs(t, err, answer)
			require.EqualError(t, err, `submitting job "orders" under id 7: `+answer.Error())
			kept, _, err := l.Kept(t.Context())
			require.NoError(t, err)
			require.Empty(t, kept, "kept what is no job")
		})
	}
}

// An answer that is lost is made up for by a look at Zeta.
func TestSubmitWithoutAnswer(t *testing.T) {
	lost := fmt.Errorf("%w: connection reset", control.ErrUnknownOutcome)
	t.Run("it started", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, z := library(t), newCluster()
			z.submit = func(start func()) error { start(); return lost }
			got, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
			require.NoError(t, err)
			require.Equal(t, Submitted{ID: "7", Name: "orders", Kept: true}, got)
		})
	})
	t.Run("nobody knows", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, z := library(t), newCluster()
			z.submit = func(func()) error { z.look = errors.New("no answer"); return lost }
			_, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
			require.ErrorIs(t, err, control.ErrUnknownOutcome)
			z.look = nil
			got, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
			require.NoError(t, err)
			require.False(t, got.Again)
			require.Len(t, z.texts["7"], 1)
		})
	})
}

// A process that dies right after a step leaves what the next attempt finishes.
func TestSubmitAfterACrash(t *testing.T) {
	for name, before := range map[string]func(*Library, *cluster) error{
		"before Zeta was asked": func(l *Library, z *cluster) error {
			return l.Cluster("prod").store(context.Background(), z, submission("7"))
		},
		"after Zeta has started it": func(l *Library, z *cluster) error {
			return errors.Join(l.Cluster("prod").store(context.Background(), z, submission("7")),
				z.Submit(context.Background(), "7", "orders", submission("7").Config))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, z := library(t), newCluster()
			require.NoError(t, before(l, z))
			got, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
			require.NoError(t, err)
			require.True(t, got.Kept)
			require.Len(t, z.texts["7"], 1)
		})
	}
}

func TestSubmitWithoutKeys(t *testing.T) {
	z := newCluster()
	l := New(Options{Store: memory.New()})
	_, err := l.Cluster("prod").Submit(t.Context(), z, submission(""))
	require.ErrorIs(t, err, ErrNoKeys)
	require.Empty(t, z.jobs, "started a job whose config is not kept")

	batch := submission("")
	batch.Config.Text = []byte(strings.Replace(orders, "STREAMING", "BATCH", 1))
	got, err := l.Cluster("prod").Submit(t.Context(), z, batch)
	require.NoError(t, err)
	require.False(t, got.Kept)
}

func TestSubmitInvalid(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*Submission)
		err  string
	}{
		"no name":       {func(s *Submission) { s.Name = " " }, "the name of the job is missing"},
		"long name":     {func(s *Submission) { s.Name = strings.Repeat("x", 201) }, "the name of the job has 201 characters, at most 200 are possible"},
		"odd name":      {func(s *Submission) { s.Name = "a\nb" }, "the name of the job has control characters in it or is not UTF-8"},
		"a hold":        {func(s *Submission) { s.Name = "zeta-scaler-hold-w1" }, "names that begin with zeta-scaler-hold- are those of jobs that hold a worker's slots"},
		"a word for id": {func(s *Submission) { s.ID = "abc" }, "the id is not a whole number from 1 to 9223372036854775807"},
		"zero for id":   {func(s *Submission) { s.ID = "0" }, "the id is not a whole number from 1 to 9223372036854775807"},
		"too great":     {func(s *Submission) { s.ID = "9223372036854775808" }, "the id is not a whole number from 1 to 9223372036854775807"},
		"format":        {func(s *Submission) { s.Config.Format = "yaml" }, `the format "yaml" is not known, expected one of hocon, json, sql`},
		"empty":         {func(s *Submission) { s.Config.Text = nil }, "the config is empty"},
		"too long":      {func(s *Submission) { s.Config.Text = make([]byte, MaxConfig+1) }, "the config is longer than 512 KiB"},
		"bytes":         {func(s *Submission) { s.Config.Text = []byte("\xff") }, "the config is not UTF-8"},
		"no JSON":       {func(s *Submission) { s.Config.Text = []byte("env {}") }, "it is not a job's config in JSON: at byte 1"},
		"mode":          {func(s *Submission) { s.Config.Text = []byte(strings.Replace(orders, "STREAMING", "X", 1)) }, `its job.mode is "X", expected BATCH or STREAMING`},
		"no secret":     {func(s *Submission) { s.Config.Text = []byte(strings.Replace(orders, "fake", "${file:x}", 1)) }, "${file:x}: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			l, z := library(t), newCluster()
			s := submission("")
			test.edit(&s)
			_, err := l.Cluster("prod").Submit(t.Context(), z, s)
			require.ErrorIs(t, err, ErrInvalid)
			require.EqualError(t, err, "invalid submission: "+test.err)
			require.Empty(t, z.jobs)
		})
	}
}

// When too much is kept the oldest job that is over gives way, and one that could
// be restored never does.
func TestKeptIsBounded(t *testing.T) {
	l, z := library(t), newCluster()
	c := l.Cluster("prod")
	var b state.Batch
	for i := range maxKept {
		id := strconv.Itoa(i + 1)
		j := running(id, "job")
		j.Status = control.SavepointDone
		z.jobs[id] = j
		p, err := state.NewPut(state.Job, recordKey("prod", id), 0, state.JobRecord{Cluster: "prod", Job: id, At: time.Unix(int64(i), 0)})
		require.NoError(t, err)
		b.Puts = append(b.Puts, p)
	}
	_, err := l.Store.Apply(t.Context(), state.NoFence, b)
	require.NoError(t, err)
	_, err = c.Submit(t.Context(), z, submission("5000"))
	require.ErrorIs(t, err, ErrFull)
	require.NotContains(t, z.jobs, "5000", "started a job whose config is not kept")

	over := z.jobs["3"]
	over.Status = control.Finished
	z.jobs["3"] = over
	_, err = c.Submit(t.Context(), z, submission("5000"))
	require.NoError(t, err)
	kept, _, err := l.Kept(t.Context())
	require.NoError(t, err)
	require.Len(t, kept, maxKept)
	_, err = l.Store.Get(t.Context(), state.Job, "prod/3")
	require.ErrorIs(t, err, state.ErrNotFound)
}

// A record that cannot be read touches its own job: the others are listed, submitted
// and found, and it is told of by name.
func TestARecordThatCannotBeRead(t *testing.T) {
	l, z, log := library(t), newCluster(), &strings.Builder{}
	l.Logger = slog.New(slog.NewTextHandler(log, nil))
	l = New(l.Options)
	c := l.Cluster("prod")
	for _, id := range []string{"7", "8"} {
		_, err := c.Submit(t.Context(), z, submission(id))
		require.NoError(t, err)
	}
	row, err := l.Store.Get(t.Context(), state.Job, "prod/7")
	require.NoError(t, err)
	_, err = l.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Job, Key: "prod/7", Version: row.Version, Value: []byte(`[1]`)}}})
	require.NoError(t, err)

	_, err = c.Submit(t.Context(), z, submission("9"))
	require.NoError(t, err, "another is submitted")
	kept, unreadable, err := l.Kept(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, unreadable)
	require.Equal(t, []string{"8", "9"}, []string{kept[0].ID, kept[1].ID})
	require.Contains(t, log.String(), "submitted configs cannot be read")
	require.Contains(t, log.String(), "records=[prod/7]")
	_, _, err = l.Kept(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(log.String(), "submitted configs cannot be read"), "once, however often it is listed")
	_, err = c.Config(t.Context(), z.jobs["8"])
	require.NoError(t, err)

	_, err = c.Config(t.Context(), z.jobs["7"])
	require.ErrorIs(t, err, state.ErrUnreadable)
	require.NotErrorIs(t, err, ErrNotRegistered)
	require.ErrorContains(t, err, `job "orders" (7)`)
	require.ErrorContains(t, err, `remove the record of kind job with the key "prod/7" from the state store (docs/state.md), and put the config that it was submitted with into jobs.folder`)
	_, err = c.Submit(t.Context(), z, submission("7"))
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorContains(t, err, `the key "prod/7"`)
	require.Len(t, z.texts["7"], 1, "it is not started twice")

	// What is said to be done helps.
	w := state.NewWrite(l.Store, state.NoFence)
	l.records.Remove(w, "prod/7")
	require.NoError(t, w.Commit(t.Context()))
	l.Folder = folder(t, map[string]string{"7.json": orders})
	_, err = c.Config(t.Context(), z.jobs["7"])
	require.NoError(t, err)
	_, _, err = l.Kept(t.Context())
	require.NoError(t, err)
	require.Contains(t, log.String(), "all submitted configs can be read again")
}

// What cannot be read counts among what is kept, so that it is bounded all the same.
func TestRecordsThatCannotBeReadAreBounded(t *testing.T) {
	l, z := library(t), newCluster()
	l.Logger = slog.New(slog.DiscardHandler)
	long := []byte(`"` + strings.Repeat("x", maxKeptBytes) + `"`)
	_, err := l.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Job, Key: "prod/1", Value: long}}})
	require.NoError(t, err)
	_, err = l.Cluster("prod").Submit(t.Context(), z, submission("7"))
	require.ErrorIs(t, err, ErrFull)
}

// A config that was submitted and another one in the folder are two for one job.
func TestSubmittedAndInTheFolder(t *testing.T) {
	l, z := library(t), newCluster()
	l.Folder = folder(t, map[string]string{"orders.json": orders + "\n"})
	_, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
	require.NoError(t, err)
	_, err = l.Cluster("prod").Config(t.Context(), z.jobs["7"])
	require.ErrorIs(t, err, ErrAmbiguous)
	require.ErrorContains(t, err, "orders.json and what was submitted at 2026-11-30T09:00:00Z differ")
}

// A key that is gone is told, and is not taken for a config that was never there.
func TestALostKey(t *testing.T) {
	l, z := library(t), newCluster()
	_, err := l.Cluster("prod").Submit(t.Context(), z, submission("7"))
	require.NoError(t, err)
	l.Keys = func() (*Keys, error) { return ParseKeys(key(2)) }
	_, err = l.Cluster("prod").Config(t.Context(), z.jobs["7"])
	require.ErrorIs(t, err, errNoKey)
	require.NotErrorIs(t, err, ErrNotRegistered)
	_, err = l.Cluster("prod").Submit(t.Context(), z, submission("7"))
	require.ErrorIs(t, err, errNoKey)
	require.ErrorIs(t, err, ErrTaken, "Zeta has not failed")
}

// What Zeta says of a config that it refuses has no secret of it.
func TestSecretsOfAConfigAreNamed(t *testing.T) {
	text := strings.Replace(orders, `"result_table_name"`, `"password": "${file:pw}", "api_token": "inline-one", "result_table_name"`, 1)
	l := New(Options{Folder: folder(t, map[string]string{"orders.json": text}), Secrets: folder(t, map[string]string{"pw": "hun\"ter2\n"})})
	c, err := l.Cluster("prod").Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
	require.Subset(t, c.Secrets, []string{`hun"ter2`, `hun\"ter2`, "inline-one"})
	require.NotContains(t, c.Secrets, "fake")
	for format, text := range map[string]string{"hocon": "source { Jdbc { password = \"p4ss\" } }", "sql": "CREATE TABLE a WITH ('password' = 'p4ss')"} {
		_, secrets, err := l.resolve(control.Config{Format: format, Text: []byte(text)})
		require.NoError(t, err)
		require.Equal(t, []string{"p4ss"}, secrets)
	}
}

// A config under the job's id is that job's, one under its name could be another's.
func TestNamed(t *testing.T) {
	for file, want := range map[string]bool{"orders.json": true, "4501.json": false} {
		c, err := New(Options{Folder: folder(t, map[string]string{file: orders})}).Cluster("prod").Config(t.Context(), running("4501", "orders"))
		require.NoError(t, err)
		require.Equal(t, want, c.Named)
	}
	both := folder(t, map[string]string{"a.json": orders, "4501.json": orders})
	c, err := New(Options{Folder: both}).Cluster("prod").Config(t.Context(), running("4501", "a"))
	require.NoError(t, err)
	require.False(t, c.Named)
	c, err = New(Options{Folder: folder(t, map[string]string{"loop.json": "-> loop.json"})}).Cluster("prod").Config(t.Context(), running("1", "loop"))
	require.ErrorContains(t, err, "loop.json: ")
	require.Empty(t, c)
}
