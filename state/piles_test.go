package state

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrimLooksAtWhatGrewAndAfterAFailureAtEverything(t *testing.T) {
	var p Piles
	a, b := Pile{"a", DecisionEntry}, Pile{"b", DecisionEntry}
	trimmed := func(limit int) (looked []Pile, every bool) {
		require.NoError(t, p.Trim(limit,
			func() ([]Pile, error) { every = true; return []Pile{a, b}, nil },
			func(piles []Pile) error { looked = append(looked, piles...); return nil }))
		return looked, every
	}
	looked, every := trimmed(10)
	require.True(t, every, "the first one")
	require.Equal(t, []Pile{a, b}, looked)
	p.Grew([]Entry{{Scope: "a", Kind: DecisionEntry}})
	looked, every = trimmed(10)
	require.False(t, every)
	require.Equal(t, []Pile{a}, looked)
	looked, _ = trimmed(10)
	require.Empty(t, looked)

	full := errors.New("disk full")
	p.Grew([]Entry{{Scope: "b", Kind: DecisionEntry}})
	require.ErrorIs(t, p.Trim(10, nil, func([]Pile) error { return full }), full)
	require.ErrorIs(t, p.Trim(10, func() ([]Pile, error) { return nil, full }, nil), full)
	_, every = trimmed(10)
	require.True(t, every)
	_, every = trimmed(9)
	require.True(t, every, "a smaller limit")
	_, every = trimmed(10)
	require.False(t, every)
}

func TestTrimTakesAFewPilesAtATime(t *testing.T) {
	var p Piles
	var sizes []int
	require.NoError(t, p.Trim(1,
		func() ([]Pile, error) { return make([]Pile, 2*pilesAtOnce+1), nil },
		func(piles []Pile) error { sizes = append(sizes, len(piles)); return nil }))
	require.Equal(t, []int{pilesAtOnce, pilesAtOnce, 1}, sizes)
}
