package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/leadership"
)

func TestLockLiesBesideTheState(t *testing.T) {
	for _, tc := range []struct {
		name, file, flag, want string
	}{
		{"defaults", "", "", "data/lock"},
		{"a state file by flag", "", "/var/lib/scaler.db", "/var/lib/scaler.db.lock"},
		{"the default state file by flag", "", "data/state.db", "data/lock"},
		{"a state file in the configuration", "state: {path: /srv/a.db}\n", "", "/srv/a.db.lock"},
		{"a lock of its own", "state: {path: /srv/a.db}\nleadership: {lock_file: /run/lock}\n", "", "/run/lock"},
		{"no lock, said so", "state: {path: /srv/a.db}\nleadership: {lock_file: ''}\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := Options{Kinds: kinds.All(), Flags: map[string]any{}}
			if tc.flag != "" {
				o.Flags["state.path"] = tc.flag
			}
			c, err := load([]byte(tc.file), o)
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Elector().(*leadership.Options).LockFile)
		})
	}
}
