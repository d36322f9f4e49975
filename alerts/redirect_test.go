package alerts_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
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
		{"kept method, another host", "http://b/am/api/v2/alerts", http.StatusTemporaryRedirect, 0, "redirected to another host, http://b/am/api/v2/alerts"},
		{"lost method", "/moved", http.StatusMovedPermanently, 0, "by a status that loses the alerts"},
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
