package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPacksHaveNothingToWarnOf(t *testing.T) {
	for _, name := range Packs() {
		t.Run(name, func(t *testing.T) {
			rs, data, err := Pack(name)
			require.NoError(t, err)
			require.NotEmpty(t, data)
			require.Equal(t, name, rs.Name)
			require.Equal(t, "pack:"+name, rs.File)
			require.Empty(t, rs.Warnings, Render(rs.Warnings))
		})
	}
}
