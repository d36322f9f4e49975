package web

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// maxVerdicts bounds how many checked passwords are remembered: a bcrypt
// comparison takes as long as a hundred requests.
const maxVerdicts = 256

// nobody is compared with when a user does not exist, so that the time tells
// nothing.
const nobody = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

// authenticator knows users and tokens. It is safe for concurrent use.
type authenticator struct {
	users      map[string]string
	tokensFile string

	mu       sync.Mutex
	verdicts map[[sha256.Size]byte]bool
}

func newAuthenticator(users map[string]string, tokensFile string) (*authenticator, error) {
	a := &authenticator{users: users, tokensFile: tokensFile, verdicts: map[[sha256.Size]byte]bool{}}
	if _, err := a.tokens(); err != nil {
		return nil, err
	}
	return a, nil
}

// possible reports whether there is any credential at all.
func (a *authenticator) possible() bool { return len(a.users) > 0 || a.tokensFile != "" }

// knows reports whether a request carries a valid credential.
func (a *authenticator) knows(r *http.Request) (bool, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && a.tokensFile != "" {
		return a.knowsToken(token)
	}
	user, password, ok := r.BasicAuth()
	if !ok || len(a.users) == 0 {
		return false, nil
	}
	return a.knowsUser(user, password), nil
}

// tokens reads the file anew, so that a rotated one counts at once. Lines that
// are empty or begin with # are none.
func (a *authenticator) tokens() ([]string, error) {
	if a.tokensFile == "" {
		return nil, nil
	}
	b, err := os.ReadFile(a.tokensFile)
	if err != nil {
		return nil, fmt.Errorf("reading bearer tokens: %w", err)
	}
	var out []string
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if t := strings.TrimSpace(lines.Text()); t != "" && !strings.HasPrefix(t, "#") {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("bearer tokens file %s has no token: one on each line is expected", a.tokensFile)
	}
	return out, nil
}

func (a *authenticator) knowsToken(token string) (bool, error) {
	tokens, err := a.tokens()
	if err != nil {
		return false, err
	}
	given, known := sha256.Sum256([]byte(token)), 0
	for _, t := range tokens {
		want := sha256.Sum256([]byte(t))
		known |= subtle.ConstantTimeCompare(given[:], want[:])
	}
	return known == 1, nil
}

func (a *authenticator) knowsUser(user, password string) bool {
	hash, exists := a.users[user]
	if !exists {
		hash = nobody
	}
	key := sha256.Sum256([]byte(user + "\x00" + hash + "\x00" + password))
	a.mu.Lock()
	verdict, seen := a.verdicts[key]
	a.mu.Unlock()
	if !seen {
		verdict = bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
		a.mu.Lock()
		if len(a.verdicts) >= maxVerdicts {
			clear(a.verdicts)
		}
		a.verdicts[key] = verdict
		a.mu.Unlock()
	}
	return verdict && exists
}
