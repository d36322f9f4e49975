package browser

import (
	_ "embed"
	"fmt"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/judge.js
var judgement string

// judge fails when something on the page cannot be read or touched: too little
// contrast, letters too small, text that is cut off, and on a phone what is too small
// for a finger.
func (b *tab) judge() {
	b.t.Helper()
	b.fits()
	require.Empty(b.t, ask[string](b, fmt.Sprintf("(%s)(%t)", judgement, b.screen.mobile)), "faults of what is shown")
}
