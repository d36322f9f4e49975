package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// A reply with 1 000 scopes should take at most 50 ms, compressed or not.
func BenchmarkThousandScopes(b *testing.B) {
	board := &fakeBoard{}
	for i := range 1000 {
		key := fmt.Sprintf("scope-%04d", i)
		board.evaluations = append(board.evaluations, scaleOut(key, scaling.Label{Name: "cluster", Value: key}))
	}
	store := memory.New()
	for i := range 1000 {
		record(b, store, board.evaluations[i], tick.Add(seconds(i)))
	}
	o := options(b)
	o.Board, o.History = board, store
	h := handler(b, o)
	for _, target := range []string{"/autoscaler/status", "/autoscaler/metrics", "/autoscaler/decision-table", "/autoscaler/history?limit=1000", "/"} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(target+"/"+encoding, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := httptest.NewRequest(http.MethodGet, target, http.NoBody)
					req.Header.Set("Accept-Encoding", encoding)
					rec := serve(h, req)
					if rec.Code != http.StatusOK {
						b.Fatal(rec.Body.String())
					}
					b.SetBytes(int64(rec.Body.Len()))
				}
			})
		}
	}
}
