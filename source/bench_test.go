package source_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// benchReply serves a vector of n samples.
func benchReply(n int) http.HandlerFunc {
	samples := make([]string, n)
	for i := range samples {
		samples[i] = fmt.Sprintf(`{"metric":{"cluster":"cluster-%d","region":"eu-west-1"},"value":[1790000000.123,"0.%d"]}`, i, i)
	}
	return canned(200, "application/json", `{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(samples, ",")+`]}}`)
}

// BenchmarkRemoteInstant1000 is a query over 1,000 scopes through HTTP.
func BenchmarkRemoteInstant1000(b *testing.B) {
	remote := newRemote(b, source.RemoteOptions{URLs: []string{serve(b, benchReply(1000))}})
	b.ReportAllocs()
	for b.Loop() {
		v, err := remote.Instant(b.Context(), "up", at(0))
		require.NoError(b, err)
		require.Len(b, v.Samples, 1000)
	}
}

// BenchmarkRemoteTick10000 is twelve queries over 10,000 scopes, eight at a
// time: what a large installation asks in one tick.
func BenchmarkRemoteTick10000(b *testing.B) {
	remote := newRemote(b, source.RemoteOptions{URLs: []string{serve(b, benchReply(10_000))}})
	b.ReportAllocs()
	for b.Loop() {
		var g errgroup.Group
		g.SetLimit(8)
		for range 12 {
			g.Go(func() error {
				_, err := remote.Instant(b.Context(), "up", at(0))
				return err
			})
		}
		require.NoError(b, g.Wait())
	}
}

// BenchmarkClientGolangInstant1000 is the same through client_golang's own
// decoder, for comparison.
func BenchmarkClientGolangInstant1000(b *testing.B) {
	c, err := api.NewClient(api.Config{Address: serve(b, benchReply(1000))})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _, _, err := v1.NewAPI(c).Query(b.Context(), "up", at(0))
		require.NoError(b, err)
	}
	c.(api.CloseIdler).CloseIdleConnections()
}

func BenchmarkEngineInstant1000(b *testing.B) {
	db := openTemporary(b)
	all := make([]source.Notation, 1000)
	for i := range all {
		all[i] = source.Notation{Series: fmt.Sprintf(`m{cluster="c%d"}`, i), Values: "1x20"}
	}
	require.NoError(b, db.Load(at(0), 15*time.Second, all...))
	e := newEngine(b, db)
	b.ReportAllocs()
	for b.Loop() {
		_, err := e.Instant(b.Context(), "m", at(60))
		require.NoError(b, err)
	}
}
