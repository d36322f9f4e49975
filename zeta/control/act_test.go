package control

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is sent is what a real Zeta took.
func TestRequestsAreAsRecorded(t *testing.T) {
	const id, small = "1179609083162918913", "2001"
	same := func(t *testing.T, r *recorded, file string) {
		t.Helper()
		line, body := asRecorded(t, file)
		method, path, _ := strings.Cut(line, " ")
		gotLine, gotBody, _ := strings.Cut(strings.TrimPrefix(r.last(), method+" "), " ")
		path, query, _ := strings.Cut(path, "?")
		gotPath, gotQuery, _ := strings.Cut(gotLine, "?")
		require.True(t, strings.HasSuffix(gotPath, path), "%s, wanted %s", gotPath, path)
		require.ElementsMatch(t, strings.Split(query, "&"), strings.Split(gotQuery, "&"))
		require.JSONEq(t, body, gotBody)
	}
	e, r := newV1(t, map[string]string{
		v1do + "/stop-job": "stop",
		v1do + "/submit-job?isStartWithSavePoint=true&jobId=" + id + "&jobName=orders": "restore",
	})
	require.NoError(t, e.StopWithSavepoint(t.Context(), id))
	same(t, r, "2.3.8/stop")
	require.NoError(t, e.Cancel(t.Context(), id))
	same(t, r, "2.3.8/cancel")
	_, text := asRecorded(t, "2.3.8/restore")
	require.NoError(t, e.Restore(t.Context(), id, "orders", Config{Format: "json", Text: []byte(text)}))
	same(t, r, "2.3.8/restore")
	r.set(map[string]string{v1do + "/stop-job": "stop-small-id"})
	require.NoError(t, e.StopWithSavepoint(t.Context(), small), "an id below 2^31")
	same(t, r, "2.3.8/stop-small-id")

	e, r = newV2(t, map[string]string{v2do + "/stop-job": "stop", v2do + "/submit-job?isStartWithSavePoint=true&jobId=2001&jobName=s": "restore"})
	require.NoError(t, e.StopWithSavepoint(t.Context(), small))
	same(t, r, "2.3.13/stop")
	_, text = asRecorded(t, "2.3.13/restore")
	require.NoError(t, e.Restore(t.Context(), small, "s", Config{Text: []byte(text)}))
	same(t, r, "2.3.13/restore")
	r.set(map[string]string{v2do + "/stop-job": "cancel-pending"})
	require.NoError(t, e.Cancel(t.Context(), "7700"))
}

func TestHold(t *testing.T) {
	e, r := newV1(t, map[string]string{v1do + "/submit-job?jobId=900001&jobName=zeta-scaler-hold-w1": "hold"})
	require.NoError(t, e.Hold(t.Context(), "900001", "w1", 4))
	_, body, _ := strings.Cut(r.last(), " {")
	_, want := asRecorded(t, "2.3.8/hold")
	const table = "slots_held_by_zeta_scaler_until_the_worker_is_gone"
	require.JSONEq(t, strings.ReplaceAll(want, `"hold"`, `"`+table+`"`), "{"+body)
	for _, slots := range []int{-1, 0, 1} {
		require.ErrorIs(t, e.Hold(t.Context(), "900001", "w1", slots), ErrUnsupported)
	}
	e.attribute = ""
	require.ErrorIs(t, e.Hold(t.Context(), "900001", "w1", 4), ErrUnsupported)
}

// Names are anybody's choice and become neither a part of the query nor of JSON.
func TestNamesAreQuoted(t *testing.T) {
	e, r := newV1(t, map[string]string{
		v1do + "/submit-job?isStartWithSavePoint=true&jobId=7&jobName=a%22b%27c%26jobId%3D8%20%2B%C3%BC%0A": ok(`{"jobId":"7"}`),
		v1do + "/submit-job?jobId=8&jobName=zeta-scaler-hold-w%22%7D%2C":                                    ok(`{"jobId":8}`),
	})
	require.NoError(t, e.Restore(t.Context(), "7", "a\"b'c&jobId=8 +ü\n", Config{Text: []byte(`{}`)}))
	require.NoError(t, e.Hold(t.Context(), "8", `w"},`, 2))
	_, body, _ := strings.Cut(r.last(), " {")
	var job struct {
		Env struct {
			Tags map[string]string `json:"tag_filter"`
		} `json:"env"`
	}
	require.NoError(t, json.Unmarshal([]byte("{"+body), &job))
	require.Equal(t, map[string]string{"worker": `w"},`}, job.Env.Tags)
}

func TestFormats(t *testing.T) {
	e, r := newV1(t, nil)
	for _, format := range []string{"hocon", "sql"} {
		require.ErrorIs(t, e.Restore(t.Context(), "7", "n", Config{Format: format}), ErrUnsupported)
	}
	for _, line := range r.all() {
		require.False(t, strings.HasPrefix(line, "POST"), line)
	}
	e, _ = newV2(t, map[string]string{v2do + "/submit-job?format=hocon&isStartWithSavePoint=true&jobId=7&jobName=n": ok(`{"jobId":"7"}`)})
	require.NoError(t, e.Restore(t.Context(), "7", "n", Config{Format: "hocon", Text: []byte("env {}")}))
}

// A yes says nothing: Zeta gives it for jobs that it does not know, and to
// restores that it ignores.
func TestSilentYes(t *testing.T) {
	e, _ := newV1(t, map[string]string{
		v1do + "/stop-job": "stop-unknown",
		v1do + "/submit-job?isStartWithSavePoint=true&jobId=1179609680058515457&jobName=race": "restore-ignored",
		v1do + "/submit-job?isStartWithSavePoint=true&jobId=4242&jobName=unknown":             "restore-unknown",
	})
	require.NoError(t, e.StopWithSavepoint(t.Context(), "123456"))
	require.NoError(t, e.Restore(t.Context(), "1179609680058515457", "race", Config{Text: []byte(`{}`)}))
	require.NoError(t, e.Restore(t.Context(), "4242", "unknown", Config{Text: []byte(`{}`)}))
}

func TestOutcomes(t *testing.T) {
	const restore = v1do + "/submit-job?isStartWithSavePoint=true&jobId=7&jobName=n"
	for name, tt := range map[string]struct {
		reply string
		want  error // nil: neither refused nor unknown
		says  string
	}{
		"savepoint damaged":  {"restore-damaged", ErrRefused, "JobException: CheckpointStorageException: Failed to read checkpoint data, file name is /srv/checkpoints/"},
		"savepoint empty":    {"restore-empty", ErrRefused, `Cannot read the array length because "data" is null`},
		"submitted before":   {"resubmit", ErrRefused, "has already been submitted and is not starting with a savepoint"},
		"no id":              {"restore-no-id", ErrRefused, "Please provide jobId"},
		"no body":            {fails("400", "Request body is empty."), ErrRefused, "Request body is empty"},
		"not allowed":        {"=HTTP/1.1 401\n\n", ErrRefused, "401"},
		"fails with 200":     {fails("200", "no"), ErrRefused, "it failed: no"},
		"member leaves":      {fails("500", "com.hazelcast.core.MemberLeftException: gone"), ErrUnknownOutcome, "MemberLeftException"},
		"master starts":      {fails("500", "Target cannot be null!"), ErrUnknownOutcome, "Target cannot be null!"},
		"cause named late":   {fails("500", `x.y.Z: a\n\tat b\nCaused by: com.hazelcast.spi.exception.TargetNotMemberException: x`), ErrUnknownOutcome, ""},
		"proxy":              {"=HTTP/1.1 502\n\n", ErrUnknownOutcome, "502"},
		"no content":         {"resource-workers", ErrUnknownOutcome, "204"},
		"lost":               {"=(no reply)", ErrUnknownOutcome, ""},
		"other job":          {ok(`{"jobId":"8"}`), ErrUnknownOutcome, `it is about job "8"`},
		"nothing":            {ok(`{}`), ErrUnknownOutcome, ""},
		"page":               {"=HTTP/1.1 200\nContent-Type: text/html\n\n<html>", ErrUnknownOutcome, "text/html"},
		"too many":           {"=HTTP/1.1 429\n\n", nil, "429"},
		"savepoint, no body": {"=HTTP/1.1 200\n\n", ErrUnknownOutcome, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newV1(t, map[string]string{restore: tt.reply})
			err := e.Restore(t.Context(), "7", "n", Config{Text: []byte(`{}`)})
			require.ErrorContains(t, err, tt.says)
			for _, kind := range []error{ErrRefused, ErrUnknownOutcome} {
				if errors.Is(tt.want, kind) {
					require.ErrorIs(t, err, kind)
				} else {
					require.NotErrorIs(t, err, kind)
				}
			}
			require.Less(t, len(err.Error()), 600)
		})
	}
}
