package state

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAfterAFailedTrimEverythingIsLookedAt(t *testing.T) {
	var p Piles
	_, all := p.Take(10)
	require.True(t, all, "the first one")
	p.Grew([]Entry{{Scope: "a", Kind: "decision"}})
	piles, all := p.Take(10)
	require.False(t, all)
	require.Equal(t, []Pile{{"a", "decision"}}, piles)
	p.Failed()
	_, all = p.Take(10)
	require.True(t, all)
	_, all = p.Take(9)
	require.True(t, all, "a smaller limit")
	_, all = p.Take(10)
	require.False(t, all)
}
