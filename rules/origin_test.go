package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pack that was exported and changed by hand has the pack's name, and often its
// version: it must not be taken for it.
func TestAChangedPackIsNotThePack(t *testing.T) {
	pack, text, err := Pack("zeta-auto")
	require.NoError(t, err)
	require.Equal(t, "pack", pack.Origin())
	same, err := Parse("rules/zeta-auto.yaml", text)
	require.NoError(t, err)
	require.Equal(t, "rules/zeta-auto.yaml, the same as the pack", same.Origin())
	changed := strings.Replace(string(text), "above: 60, for: 5m", "above: 30, for: 5m", 1)
	other, err := Parse("rules/zeta-auto.yaml", []byte(changed))
	require.NoError(t, err)
	require.Equal(t, "rules/zeta-auto.yaml, which is not the pack of this name", other.Origin())
	own, err := Parse("rules/mine.yaml", []byte(strings.Replace(string(text), "ruleset: zeta-auto", "ruleset: mine", 1)))
	require.NoError(t, err)
	require.Equal(t, "rules/mine.yaml", own.Origin())
}
