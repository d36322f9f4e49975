package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
)

// BenchmarkManyScopes loads a file with 2 000 listed scopes.
func BenchmarkManyScopes(b *testing.B) {
	var text strings.Builder
	text.WriteString("scopes:\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "  - match: {cluster: c%d}\n    bounds: {min_workers: 2, max_workers: 20}\n    actuator:\n      kubernetes: {namespace: st, kind: StatefulSet, name: w%d}\n", i, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := load([]byte(text.String()), Options{Kinds: kinds.All(), File: "many.yml"})
		require.NoError(b, err)
		require.Len(b, c.Scopes, 2000)
	}
}
