package web

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// authenticator knows users and tokens. It is safe for concurrent use.
type authenticator struct {
	configFile string
	tokensFile string
	logger     *slog.Logger
	passwords  *passwords

	mu sync.Mutex
	// users are the hashes by name, as of content, which is what the configuration
	// file held when it was read last.
	users   map[string]string
	content []byte
}

func newAuthenticator(o Options, users map[string]string) (*authenticator, error) {
	a := &authenticator{
		configFile: o.ConfigFile, tokensFile: o.BearerTokensFile, logger: o.Logger, users: users, passwords: newPasswords(),
	}
	if o.ConfigFile != "" {
		var err error
		if a.content, err = document.ReadFile(o.ConfigFile, maxFileBytes); err != nil {
			return nil, fmt.Errorf("reading the web configuration: %w", err)
		}
	}
	if o.BearerTokensFile != "" {
		if err := CheckTokens(o.BearerTokensFile); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// possible reports whether there is any credential at all.
func (a *authenticator) possible() bool {
	a.refresh()
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.users) > 0 || a.tokensFile != ""
}

// schemes are what a request without a credential is offered: those that there is
// a credential for.
func (a *authenticator) schemes() []string {
	a.refresh()
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	if len(a.users) > 0 {
		out = append(out, `Basic realm="zeta-scaler", charset="UTF-8"`)
	}
	if a.tokensFile != "" {
		out = append(out, `Bearer realm="zeta-scaler"`)
	}
	return out
}

// knows reports whether a request carries a valid credential, and whose it is:
// the user's name, or a few digits of the token's digest. Ask possible before,
// which looks for changed users.
func (a *authenticator) knows(r *http.Request) (who string, ok bool, err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && a.tokensFile != "" {
		token = strings.TrimSpace(token)
		ok, err := a.knowsToken(token)
		return fmt.Sprintf("token %.4x", sha256.Sum256([]byte(token))), ok, err
	}
	user, password, ok := r.BasicAuth()
	if !ok || strings.ContainsRune(user+password, 0) {
		// To bcrypt, what follows a NUL may be the same password again.
		return "", false, nil
	}
	a.mu.Lock()
	users := a.users // replaced as a whole, never changed
	a.mu.Unlock()
	ok, err = a.passwords.match(r.Context(), source(r.RemoteAddr), users, user, password)
	return user, ok, err
}

// tokens reads the file anew, so that a rotated one counts at once. Lines that
// no client can present are left out.
func (a *authenticator) tokens() ([]string, error) {
	if a.tokensFile == "" {
		return nil, nil
	}
	tokens, _, err := readTokens(a.tokensFile)
	if err == nil && len(tokens) == 0 {
		err = noToken(a.tokensFile)
	}
	return tokens, err
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

// refresh reads the users again if the file has changed, which its size and time
// need not show. One that is wrong now changes nothing: those who were known
// still are.
func (a *authenticator) refresh() {
	if a.configFile == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	content, err := document.ReadFile(a.configFile, maxFileBytes)
	if errors.Is(err, os.ErrNotExist) {
		return // while it is being replaced, it may be away
	}
	if err != nil {
		content = []byte(err.Error()) // said once per change
	}
	if bytes.Equal(content, a.content) {
		return
	}
	a.content = content
	var file *fileConfig
	if err == nil {
		file, err = parseFile(a.configFile, content)
	}
	if err != nil {
		a.logger.Error("the changed web configuration cannot be used, the users stay as they were", "err", err)
		return
	}
	a.users = file.Users
	a.logger.Info("users of the web configuration were read again", "users", len(a.users))
}
