package signature

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var at = time.Unix(1767225600, 0)

// TestKnownSignature was made with the recipe in docs/actuators.md:
//
//	printf '1767225600.{"verb":"scale"}' | openssl dgst -sha256 -hmac 'a shared key'
func TestKnownSignature(t *testing.T) {
	require.Equal(t,
		"t=1767225600,v1=8a5ef2af634b827bfa0bd88dafab0a3d64f0a34270536532435dcec3143d6d6f",
		Sign([]byte("a shared key"), []byte(`{"verb":"scale"}`), at))
}

func TestVerify(t *testing.T) {
	key, body := []byte("a shared key"), []byte(`{"verb":"scale"}`)
	good := Sign(key, body, at)
	_, sum, _ := strings.Cut(good, ",")
	other := strings.TrimPrefix(Sign([]byte("the key before"), body, at), "t=1767225600,")
	for _, test := range []struct {
		name   string
		header string
		body   string
		now    time.Time
		want   error
	}{
		{"good", good, string(body), at, nil},
		{"late, within tolerance", good, string(body), at.Add(time.Minute), nil},
		{"early, within tolerance", good, string(body), at.Add(-time.Minute), nil},
		{"two keys", "t=1767225600," + other + "," + sum, string(body), at, nil},
		{"a later scheme as well", good + ",v2=xyz", string(body), at, nil},
		{"too late", good, string(body), at.Add(time.Minute + time.Second), ErrExpired},
		{"too early", good, string(body), at.Add(-time.Minute - time.Second), ErrExpired},
		{"far too late", good, string(body), at.AddDate(1000, 0, 0), ErrExpired},
		{"another body", good, `{"verb":"scale"} `, at, ErrMismatch},
		{"another key", "t=1767225600," + other, string(body), at, ErrMismatch},
		{"another time", "t=1767225601," + sum, string(body), at, ErrMismatch},
		{"empty", "", string(body), at, ErrMalformed},
		{"no time", sum, string(body), at, ErrMalformed},
		{"two times", "t=1767225600," + good, string(body), at, ErrMalformed},
		{"no sum", "t=1767225600", string(body), at, ErrMalformed},
		{"a sum of another length", "t=1767225600,v1=00", string(body), at, ErrMalformed},
		{"a sum that is no hexadecimal", "t=1767225600,v1=" + strings.Repeat("z", 64), string(body), at, ErrMalformed},
		{"a time with a sign", "t=+1767225600," + sum, string(body), at, ErrMalformed},
		{"a time before 1970", "t=-1," + sum, string(body), at, ErrMalformed},
		{"a time with a leading zero", "t=01767225600," + sum, string(body), at, ErrMalformed},
		{"not name=value", good + ",v1", string(body), at, ErrMalformed},
		{"long", good + strings.Repeat(",v2=x", 1000), string(body), at, ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Verify(key, test.header, []byte(test.body), test.now, time.Minute)
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestWhatIsSignedVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "key")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		when := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "when"), 0)
		header := Sign(key, body, when)
		require.NoError(t, Verify(key, header, body, when, 0))
		require.ErrorIs(t, Verify(key, header, append(body, 0), when, 0), ErrMismatch)
		require.ErrorIs(t, Verify(append(key, 1), header, body, when, 0), ErrMismatch)
	})
}

func FuzzVerify(f *testing.F) {
	f.Add(Sign([]byte("k"), []byte("b"), at))
	f.Add("t=1,v1=00")
	f.Add("t=1,t=2,v1=,v2=x")
	f.Fuzz(func(t *testing.T, header string) {
		key, body := []byte("k"), []byte("b")
		if err := Verify(key, header, body, at, time.Hour); err != nil {
			return
		}
		// Nothing but the sum for the header's time is taken.
		when, _, err := parse(header)
		require.NoError(t, err)
		require.Contains(t, strings.ToLower(header), strings.Split(Sign(key, body, time.Unix(when, 0)), ",")[1][len("v1="):])
	})
}

func TestReadKey(t *testing.T) {
	for _, test := range []struct {
		name, content, want, err string
	}{
		{"as echo writes it", "key\n", "key", ""},
		{"white space within", " a key \r\n", "a key", ""},
		{"empty", " \n", "", "is empty"},
		{"large", strings.Repeat("k", maxKey+1), "", "is larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
			got, err := ReadKey(path)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, string(got))
		})
	}
	_, err := ReadKey(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadKey(t.TempDir())
	require.ErrorContains(t, err, "is a directory", "and not that it is empty")
}
