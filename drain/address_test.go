package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A platform knows a pod's IP and not always Zeta's port.
func TestSameAddress(t *testing.T) {
	for _, tc := range []struct {
		platform, member string
		same             bool
	}{
		{"10.0.0.7", "10.0.0.7:5801", true},
		{"10.0.0.7:5801", "10.0.0.7:5801", true},
		{"[10.0.0.7]:5801", "[10.0.0.7]:5801", true},
		{"10.0.0.7:5802", "10.0.0.7:5801", false},
		{"10.0.0.8", "10.0.0.7:5801", false},
		{"fd00::1", "fd00::1:5801", true},
		{"fd00:0::1", "[fd00::1]:5801", true},
		{"fd00::2", "fd00::1:5801", false},
		{"worker-1", "worker-1:5801", true},
		{"", "worker-1:5801", false},
	} {
		require.Equal(t, tc.same, sameAddress(tc.platform, tc.member), "%s %s", tc.platform, tc.member)
	}
}
