package alerts_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
)

// A redirect that turns the POST into a GET is answered 200 by an Alertmanager,
// and no alert is taken.
func TestRedirects(t *testing.T) {
	for _, tc := range []struct {
		name, to string
		status   int
		here     int
		log      string
	}{
		{"kept method, same host", "/moved", http.StatusPermanentRedirect, 1, ""},
		{"kept method, another host", "http://b/am/api/v2/alerts", http.StatusTemporaryRedirect, 0, "redirected to another server, http://b/am/api/v2/alerts"},
		{"lost method", "/moved", http.StatusMovedPermanently, 0, "in a way that loses the alerts"},
		{"loop", "/am/api/v2/alerts", http.StatusTemporaryRedirect, 0, "stopped after 5 redirects"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := build(t, []string{"a", "b"}, nil)
				defer w.end()
				w.ams["a"].elsewhere = tc.to
				w.ams["a"].answer(tc.status, false)
				w.tick(scaleOut(2))
				require.Len(t, w.ams["a"].take(), tc.here)
				require.Len(t, w.ams["b"].take(), 1, "its own")
				require.Contains(t, w.log.String(), tc.log)
				require.Equal(t, tc.here == 0, w.value("errors_total") > 0)
			})
		})
	}
}

// There are servers that tell an error by showing the request, and what they say
// is logged.
func TestEchoedCredentialsAreTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) {
			o.Alertmanagers[0].HTTPClientConfig.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "hunter2"}
		})
		defer w.end()
		w.ams["a"].answer(http.StatusInternalServerError, false)
		w.tick(scaleOut(2))
		require.Contains(t, w.log.String(), "500 Internal Server Error: not for <secret>")
		require.NotContains(t, w.log.String(), "hunter2")
	})
}

// An Alertmanager that says when it can be asked again is not asked before.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ams["a"].answer(http.StatusTooEarly, false)
		w.tick(scaleOut(2))
		w.ams["a"].answer(http.StatusOK, false)
		time.Sleep(20*time.Second - time.Millisecond)
		require.Empty(t, w.ams["a"].take())
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Len(t, w.ams["a"].take(), 1)
	})
}
