package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestClientReadsWhatTheServerSays(t *testing.T) {
	srv := httptest.NewServer(http.StripPrefix("/prefix", newHandler(t, options(t))))
	defer srv.Close()
	ctx := t.Context()
	c := &Client{BaseURL: srv.URL + "/prefix/"}

	status, err := c.Status(ctx, "")
	require.NoError(t, err)
	require.True(t, status.Leader)
	require.Equal(t, uint64(7), status.MasterEpoch)
	require.Len(t, status.Scopes, 3)

	status, err = c.Status(ctx, hostile)
	require.NoError(t, err)
	require.Len(t, status.Scopes, 1)
	require.Equal(t, hostile, status.Scopes[0].Recommendation.Scope)
	require.Equal(t, new(3), status.Scopes[0].Recommendation.RecommendedWorkers)

	metrics, err := c.Metrics(ctx, "prod")
	require.NoError(t, err)
	require.Equal(t, scaling.Known(0.2712), metrics.Scopes[0].Inputs[1].Value)
	require.Equal(t, scaling.Value{}, metrics.Scopes[0].Inputs[2].Value)

	table, err := c.DecisionTable(ctx, "empty")
	require.NoError(t, err)
	require.Equal(t, rows(), table.Rows)
	require.Equal(t, []ScopeRow{{Scope: "empty", Row: scaling.RowWorkersUnknown, Action: scaling.NoAction}}, table.Scopes)

	params := GetHistoryParams{Scope: "prod", Limit: 1, Until: tick.In(time.FixedZone("CET", 3600))}
	page, err := c.History(ctx, params)
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
	require.Equal(t, scaling.ScaleOut, page.Entries[0].Recommendation.Action)
	require.NotNil(t, page.NextCursor)
	params.Cursor = *page.NextCursor
	page, err = c.History(ctx, params)
	require.NoError(t, err)
	require.Equal(t, scaling.NoAction, page.Entries[0].Recommendation.Action)
	page, err = c.History(ctx, GetHistoryParams{Action: scaling.ScaleOut, Since: tick})
	require.NoError(t, err)
	require.Empty(t, page.Entries)
}

func TestClientChangesAndExplains(t *testing.T) {
	srv := httptest.NewServer(newHandler(t, options(t)))
	defer srv.Close()
	ctx := t.Context()
	c := &Client{BaseURL: srv.URL}

	page, err := c.Actions(ctx, GetActionsParams{
		Scope: "acting", State: scaling.ActionFailed, Since: tick.Add(-2 * time.Hour), Until: tick, Limit: 1,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"7-1-over"}, ids(page))
	page, err = c.Actions(ctx, GetActionsParams{Cursor: *page.NextCursor})
	require.NoError(t, err)
	require.Empty(t, page.Actions)

	paused, err := c.Pause(ctx, PauseRequest{Scope: Some("prod"), Reason: "upgrade", Until: Some(tick.Add(time.Hour))})
	require.NoError(t, err)
	require.Equal(t, []string{"prod"}, paused.PausedScopes)
	require.Equal(t, tick.Add(time.Hour), *paused.Control.Until)
	config, err := c.Config(ctx, "prod")
	require.NoError(t, err)
	require.Equal(t, "upgrade", config.Scopes[0].Control.Reason)
	resumed, err := c.Resume(ctx, ResumeRequest{Scope: Some("prod")})
	require.NoError(t, err)
	require.Empty(t, resumed.PausedScopes)
	_, err = c.Pause(ctx, PauseRequest{})
	require.ErrorContains(t, err, `answered 400 bad request: invalid body: "reason" is missing`)

	x, err := c.Explain(ctx, GetExplainParams{Scope: "prod", At: tick.Add(-30 * time.Minute)})
	require.NoError(t, err)
	require.Equal(t, scaling.RowWorkersUnknown, x.Recommendation.Row)
	again, err := c.Explain(ctx, GetExplainParams{Scope: "prod", Id: strconv.FormatInt(*x.Id, 10)})
	require.NoError(t, err)
	require.Contains(t, x.Notes[len(x.Notes)-1], "cannot be computed for that very time")
	x.Notes = x.Notes[:len(x.Notes)-1]
	require.Equal(t, x, again)
}

func TestClientReportsProblems(t *testing.T) {
	srv := httptest.NewServer(newHandler(t, options(t)))
	defer srv.Close()
	c := &Client{BaseURL: srv.URL}
	_, err := c.Status(t.Context(), "none")
	require.ErrorContains(t, err, srv.URL+`/autoscaler/status?scope=none answered 404 not found: there is no scope "none"; there is `)
	_, err = c.History(t.Context(), GetHistoryParams{Limit: 5000})
	require.ErrorContains(t, err, `"limit": "5000" is not a whole number from 1 to 1000`)
}

func TestClientMeetsOtherPrograms(t *testing.T) {
	for _, tt := range []struct {
		name      string
		status    int
		mediaType string
		body      string
		want      string
	}{
		{"proxy error", 502, "text/html", "<h1>Bad\n gateway</h1>", `answered 502 Bad Gateway (text/html): "<h1>Bad gateway</h1>"`},
		{"another page", 200, "text/html; charset=utf-8", "<html>", "instead of JSON; is it a zeta-scaler?"},
		{"no type", 200, "", "{}", "instead of JSON"},
		{"truncated", 200, "application/json", `{"leader":tr`, "decoding the reply"},
		{"other JSON", 200, "application/json", `[1]`, "decoding the reply"},
		{"login needed", 401, "text/plain", "Unauthorized", "a valid token is needed"},
		{"empty error", 500, "application/json", "", "empty body"},
		{"broken problem", 500, "application/problem+json", "{", `answered 500 Internal Server Error (application/problem+json): "{"`},
		{"long body", 500, "text/plain", strings.Repeat("\xff", 1000), "answered 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.mediaType != "" {
					w.Header().Set("Content-Type", tt.mediaType)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer srv.Close()
			_, err := (&Client{BaseURL: srv.URL}).Status(t.Context(), "")
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestClientCredentials(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	_, err := (&Client{BaseURL: srv.URL, Token: "s3cret"}).Status(t.Context(), "")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")
	require.Equal(t, "Bearer s3cret", got)

	withPassword := strings.Replace(srv.URL, "http://", "http://user:s3cret@", 1)
	_, err = (&Client{BaseURL: withPassword}).Status(t.Context(), "")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")
	require.True(t, strings.HasPrefix(got, "Basic "))
}

func TestClientAddresses(t *testing.T) {
	for _, address := range []string{"", "localhost:9880", "ftp://host", "http://", "http://user:s3cret@host:port"} {
		_, err := (&Client{BaseURL: address}).Status(t.Context(), "")
		require.ErrorContains(t, err, "server address", address)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := (&Client{BaseURL: "http://127.0.0.1:1"}).Status(t.Context(), "")
	require.ErrorContains(t, err, "asking zeta-scaler: GET http://127.0.0.1:1/autoscaler/status: dial tcp 127.0.0.1:1")
	require.ErrorContains(t, err, "is it running, and at this address?")
}

func TestClientDoesNotWaitForever(t *testing.T) {
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	defer srv.Close()
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := (&Client{BaseURL: srv.URL}).Status(ctx, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = (&Client{BaseURL: srv.URL, Timeout: 20 * time.Millisecond}).Status(t.Context(), "")
	require.True(t, os.IsTimeout(unwrapped(err)), err)
}

func unwrapped(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return err
}

// Whatever answers, the client returns a value or a readable error.
func FuzzClientReply(f *testing.F) {
	f.Add(200, "application/json", `{"leader":true,"scopes":[{"scope":"a"}]}`)
	f.Add(404, "application/problem+json", `{"detail":"there is no scope"}`)
	f.Add(200, "application/problem+json", `{"status":"x"}`)
	f.Fuzz(func(t *testing.T, status int, mediaType, body string) {
		if status < 200 || status > 599 {
			return
		}
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", mediaType)
		rec.WriteHeader(status)
		_, _ = rec.WriteString(body)
		c := &Client{BaseURL: "http://host", transport: roundTripper(func(*http.Request) (*http.Response, error) { return rec.Result(), nil })}
		reply, err := c.Status(t.Context(), "")
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, http.StatusOK, status)
		_, err = json.Marshal(reply)
		require.NoError(t, err)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The token stays with the service: another server, be it another port of the
// same host, or another application behind the same proxy, does not get it.
func TestTokenStaysWithTheService(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/scaler/autoscaler/status":
			http.Redirect(w, r, other.URL+"/autoscaler/status", http.StatusTemporaryRedirect)
		case "/scaler/autoscaler/metrics":
			http.Redirect(w, r, "/other/autoscaler/metrics", http.StatusTemporaryRedirect)
		case "/scaler/autoscaler/pause":
			http.Redirect(w, r, "/scaler/autoscaler/config", http.StatusFound)
		case "/scaler/autoscaler/config":
			http.Redirect(w, r, "/scaler/moved", http.StatusFound)
		case "/scaler/moved":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
		default:
			asked.Add(1)
		}
	}))
	defer srv.Close()
	c := &Client{BaseURL: srv.URL + "/scaler", Token: "t0ken"}
	_, err := c.Status(t.Context(), "")
	require.ErrorContains(t, err, "redirected to another server, "+other.URL)
	_, err = c.Metrics(t.Context(), "")
	require.ErrorContains(t, err, "not below the configured URL")
	_, err = c.Pause(t.Context(), PauseRequest{})
	require.ErrorContains(t, err, "loses the request")
	_, err = c.Config(t.Context(), "")
	require.NoError(t, err, "below the service redirects are followed")
	require.Zero(t, asked.Load())
}

func TestEchoedTokenIsTakenOut(t *testing.T) {
	for _, mediaType := range []string{"text/html", "application/json", "application/problem+json"} {
		for _, status := range []int{200, 400, 401} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", mediaType)
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, `{"title":%[1]q,"status":400,"detail":%[1]q`, r.Header.Get("Authorization"))
				if mediaType != "application/json" {
					_, _ = io.WriteString(w, "}")
				}
			}))
			_, err := (&Client{BaseURL: srv.URL, Token: "t0ken-of-ours"}).Status(t.Context(), "")
			srv.Close()
			require.Error(t, err)
			require.NotContains(t, err.Error(), "t0ken", "%s %d", mediaType, status)
		}
	}
}
