package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// overview asks the cluster as the exporter would.
func overview(t *testing.T, h http.Handler) map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/overview", nil))
	require.Equal(t, http.StatusOK, w.Code)
	var reply map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
	return reply
}

func post(h http.Handler, path, body string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code
}

func TestStoryHappensInTime(t *testing.T) {
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	now := start
	s, err := newStory("burst", start, quiet())
	require.NoError(t, err)
	h := s.handler(func() time.Time { return now })
	require.Equal(t, "2", overview(t, h)["workers"])

	now = start.Add(3 * time.Minute)
	require.Equal(t, "2", overview(t, h)["pendingJobs"], "two jobs wait after two minutes")

	require.Equal(t, http.StatusOK, post(h, "/simulator/workers?target=4", ""))
	require.Equal(t, http.StatusOK, post(h, "/simulator/workers?target=1&at_least=true", ""), "the greater number stays")
	now = now.Add(time.Minute)
	after := overview(t, h)
	require.Equal(t, "4", after["workers"])
	require.Equal(t, "0", after["pendingJobs"])

	now = start.Add(s.scenario.Length + 3*time.Minute)
	require.Equal(t, "4", overview(t, h)["workers"], "the cluster goes on when its story begins again")
	require.Equal(t, "4", overview(t, h)["runningJobs"])
}

func TestWorkersAreAskedForByNumber(t *testing.T) {
	s, err := newStory("burst", time.Now(), quiet())
	require.NoError(t, err)
	h := s.handler(time.Now)
	for _, target := range []string{"", "-1", "51", "many"} {
		require.Equal(t, http.StatusBadRequest, post(h, "/simulator/workers?target="+target, ""), target)
	}
	_, err = newStory("nonsense", time.Now(), quiet())
	require.ErrorContains(t, err, "expected one of")
}

func TestSinkScalesWhatARecommendationNames(t *testing.T) {
	var asked []string
	status := http.StatusOK
	zeta := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.WriteHeader(status)
	}))
	defer zeta.Close()
	h := newReceiver(zeta.URL, quiet())
	body := func(alertStatus, recommendation string) string {
		return fmt.Sprintf(`{"version":"4","alerts":[{"status":%q,"labels":{"alertname":"ZetaScaleOutRecommended","recommendation":%q},"annotations":{"recommended_workers":"3"}}]}`,
			alertStatus, recommendation)
	}
	require.Equal(t, http.StatusOK, post(h, "/scale", body("resolved", "1-2-prod")))
	require.Equal(t, http.StatusOK, post(h, "/scale", body("firing", "")))
	require.Empty(t, asked)
	require.Equal(t, http.StatusOK, post(h, "/scale", body("firing", "1-2-prod")))
	require.Equal(t, []string{"/simulator/workers?at_least=true&target=3"}, asked)
	status = http.StatusInternalServerError
	require.Equal(t, http.StatusServiceUnavailable, post(h, "/scale", body("firing", "1-2-prod")))
	require.Equal(t, http.StatusBadRequest, post(h, "/scale", `{"version":"3"}`))
}

func TestHealthAndUsage(t *testing.T) {
	server := httptest.NewServer(newReceiver("", quiet()))
	defer server.Close()
	require.NoError(t, run(t.Context(), []string{"health", server.URL + "/healthy"}, quiet()))
	require.ErrorContains(t, run(t.Context(), []string{"health", server.URL + "/unknown"}, quiet()), "405")
	for _, args := range [][]string{nil, {"nonsense"}, {"health"}, {"cluster", "--nonsense"}, {"cluster", "--scenario=nonsense"}} {
		require.Error(t, run(t.Context(), args, quiet()), args)
	}
}
