package scaling_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A key is shown as its values, and what is shown is spelled as the key again,
// unless a value has a slash or looks encoded. A key is spelled as it is.
func TestKeysAndWhatIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels []scaling.Label
		var values []string
		for _, v := range rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "values") {
			labels, values = append(labels, scaling.Label{Name: "l", Value: v}), append(values, v)
		}
		scope := scaling.NewScope(labels)
		require.Equal(t, strings.Join(values, "/"), scope.Shown())
		require.Equal(t, scope.Key, scaling.SpelledKey(scope.Key))
		if !strings.ContainsAny(strings.Join(values, ""), "/%") {
			require.Equal(t, scope.Key, scaling.SpelledKey(scope.Shown()))
		}
		if !strings.Contains(strings.Join(values, ""), "/") {
			require.Equal(t, scope.Key, scaling.LiteralKey(scope.Shown()))
		}
	})
}

func TestAKeyIsOneWordOfAShell(t *testing.T) {
	for key, want := range map[string]string{
		"prod/etl-1.a_b": "prod/etl-1.a_b", "K%C3%B6ln%20&%20Bonn/etl": "'K%C3%B6ln%20&%20Bonn/etl'",
		"a&reboot": "'a&reboot'", "$HOME": "'$HOME'", "~": "'~'", "it's": `'it'\''s'`, "": "''",
	} {
		require.Equal(t, want, scaling.Argument(key))
	}
}
