package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
)

func TestEmbeddedThatScrapesNothingIsWarnedOf(t *testing.T) {
	c, err := load([]byte("embedded: {path: tsdb}\n"), Options{Kinds: kinds.All()})
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0].Message, "scrapes nothing")
	c, err = load([]byte("embedded: {path: tsdb}\nclusters: [{name: a, urls: [\"http://m:8080\"]}]\n"), Options{Kinds: kinds.All()})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}
