package webhook_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// BenchmarkGroups is what the webhook costs without the acceptor and the
// network, by the number of alerts in a notification.
func BenchmarkGroups(b *testing.B) {
	for _, alerts := range []int{1, 20, 256} {
		b.Run("alerts="+strconv.Itoa(alerts), func(b *testing.B) {
			a := &acceptor{executed: map[string]int{}}
			h := webhook.New(webhook.Options{Acceptor: a, Logger: slog.New(slog.DiscardHandler)})
			var list []map[string]any
			for i := range alerts {
				key := fmt.Sprintf("cluster-%05d", i)
				id := scaling.RecommendationID(7, 3, key)
				a.executed[id] = 1
				list = append(list, map[string]any{
					"status": "firing", "fingerprint": "0123456789abcdef",
					"labels":      map[string]string{"alertname": "ZetaScaleOut", "cluster": key, "recommendation": id},
					"annotations": map[string]string{"description": "blocked jobs 2 > 0 for 5m30s (window 5m); 4 → 5 workers"},
				})
			}
			body, err := json.Marshal(map[string]any{"version": "4", "groupKey": "{}", "alerts": list})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.asked = a.asked[:0]
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/webhook/alertmanager", strings.NewReader(string(body))))
				if rec.Code != http.StatusOK {
					b.Fatal(rec.Body.String())
				}
			}
		})
	}
}
