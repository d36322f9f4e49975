package alerts_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/alerts"
)

// Prometheus issue 5277: a reload must not skip a send.
func TestReloadSendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a", "b"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		w.ams["b"].take()
		w.ams["c"] = newAlertmanager()
		change, err := w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "c")})
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, w.ams["c"].take(), "a check changes nothing")
		change.Apply()
		synctest.Wait()
		for _, name := range []string{"a", "c"} {
			got := one(t, w.ams[name].take())
			require.True(t, got.EndsAt.Equal(time.Now().Add(4*time.Minute)))
			require.Empty(t, got.GeneratorURL, "the new settings have no external URL")
		}
		require.Empty(t, w.ams["b"].take())
		w.ticks(3, scaleOut(2))
		require.Empty(t, w.ams["b"].take())
		require.NotEmpty(t, w.ams["c"].take())
		require.NotContains(t, labelValues(t, w), "http://b/am/", "its series are gone")

		time.Sleep(time.Hour) // no tick in that time
		change, err = w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "c")})
		require.NoError(t, err)
		change.Apply()
		synctest.Wait()
		require.Empty(t, w.ams["c"].take(), "a reload does not wake what no tick speaks for")
	})
}

func labelValues(t *testing.T, w *world) []string {
	t.Helper()
	list, err := w.reg.Gather()
	require.NoError(t, err)
	var out []string
	for _, f := range list {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				out = append(out, l.GetValue())
			}
		}
	}
	return out
}

func TestReloadThatEndsAlerting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		w.ticks(1, scaleOut(2))
		w.ams["a"].take()
		change, err := w.n.Prepare(alerts.Settings{})
		require.NoError(t, err)
		change.Apply()
		synctest.Wait()
		w.ticks(5, scaleOut(2))
		require.Empty(t, w.ams["a"].take())
		require.NoError(t, check(w.store, 0))

		change, err = w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a")})
		require.NoError(t, err)
		change.Apply()
		w.tick(scaleOut(2))
		one(t, w.ams["a"].take())
	})
}

func TestSettingsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, nil)
		defer w.end()
		_, err := w.n.Prepare(alerts.Settings{Alertmanagers: endpoints("a", "b", "a")})
		require.ErrorContains(t, err, "alertmanager http://a/am/ is listed twice")
		bad := endpoints("a")
		bad[0].HTTPClientConfig.TLSConfig.CAFile = filepath.Join(t.TempDir(), "missing.pem")
		_, err = w.n.Prepare(alerts.Settings{Alertmanagers: bad})
		require.ErrorContains(t, err, "missing.pem")
		bad[0] = alerts.Endpoint{URL: "http://user:secret@a:b"}
		_, err = w.n.Prepare(alerts.Settings{Alertmanagers: bad})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
		w.tick(scaleOut(2))
		one(t, w.ams["a"].take())
	})
}

// Credentials come from files, are read again when they rotate, and are shown
// nowhere.
func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("first"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) {
			o.Alertmanagers[0].HTTPClientConfig.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: file}
		})
		defer w.end()
		w.ticks(2, scaleOut(2))
		require.NoError(t, os.WriteFile(file, []byte("second"), 0o600))
		w.tick(scaleOut(2))
		require.Equal(t, "Bearer first", w.ams["a"].headers[0].Get("Authorization"))
		require.Equal(t, "Bearer second", w.ams["a"].headers[1].Get("Authorization"))
	})
	synctest.Test(t, func(t *testing.T) {
		w := build(t, []string{"a"}, func(o *alerts.Options) { o.Alertmanagers[0].URL = "http://user:hidden@a/am" })
		defer w.end()
		w.ams["a"].answer(http.StatusForbidden, false)
		w.ticks(4, scaleOut(3))
		require.Contains(t, w.log.String(), "403")
		require.NotContains(t, w.log.String(), "hidden")
		require.NotContains(t, strings.Join(labelValues(t, w), " "), "hidden")
	})
}
