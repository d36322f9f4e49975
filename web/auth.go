package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

const (
	// maxVerdicts bounds how many checked passwords of each kind, right and
	// wrong, are remembered: a bcrypt comparison takes as long as a hundred
	// requests.
	maxVerdicts = 256
	// maxComparisons is how many passwords are compared at once, so that guessing
	// does not take the processor away from those who are known.
	maxComparisons = 2
	// maxTokensFile bounds what is read of a file of tokens, in bytes.
	maxTokensFile = 1 << 20
)

// nobody is compared with when a user does not exist, so that the time tells
// nothing.
const nobody = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

// authenticator knows users and tokens. It is safe for concurrent use.
type authenticator struct {
	configFile string
	tokensFile string
	logger     *slog.Logger
	comparing  chan struct{}

	mu sync.Mutex
	// users are the hashes by name, as of the configuration file's stamp.
	users map[string]string
	stamp stamp
	right verdicts
	wrong verdicts
}

// verdicts are passwords that were compared, as digests.
type verdicts map[[sha256.Size]byte]struct{}

// add forgets everything when there is too much. Right and wrong ones are kept
// apart, so that guesses do not make others slow.
func (v verdicts) add(key [sha256.Size]byte) {
	if len(v) >= maxVerdicts {
		clear(v)
	}
	v[key] = struct{}{}
}

// stamp tells whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

func newAuthenticator(o Options, users map[string]string) (*authenticator, error) {
	a := &authenticator{
		configFile: o.ConfigFile, tokensFile: o.BearerTokensFile, logger: o.Logger, users: users,
		comparing: make(chan struct{}, maxComparisons), right: verdicts{}, wrong: verdicts{},
	}
	if o.ConfigFile != "" {
		var err error
		if a.stamp, err = stampOf(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("reading the web configuration: %w", err)
		}
	}
	if _, err := a.tokens(); err != nil {
		return nil, err
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
	if !ok {
		return "", false, nil
	}
	ok, err = a.knowsUser(r, user, password)
	return user, ok, err
}

// tokens reads the file anew, so that a rotated one counts at once. Lines that
// are empty or begin with # are none.
func (a *authenticator) tokens() ([]string, error) {
	if a.tokensFile == "" {
		return nil, nil
	}
	b, err := os.ReadFile(a.tokensFile)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading bearer tokens: %w", err)
	case len(b) > maxTokensFile:
		return nil, fmt.Errorf("bearer tokens file %s is larger than %d bytes", a.tokensFile, maxTokensFile)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
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

func (a *authenticator) knowsUser(r *http.Request, user, password string) (bool, error) {
	a.mu.Lock()
	hash, exists := a.users[user]
	if !exists {
		hash = nobody
	}
	key := sha256.Sum256([]byte(user + "\x00" + hash + "\x00" + password))
	_, right := a.right[key]
	_, wrong := a.wrong[key]
	a.mu.Unlock()
	if right || wrong {
		return right, nil
	}
	select {
	case a.comparing <- struct{}{}:
		defer func() { <-a.comparing }()
	case <-r.Context().Done():
		return false, fmt.Errorf("waiting to compare a password: %w", r.Context().Err())
	}
	err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
	ok := err == nil && exists
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		a.right.add(key)
	} else {
		a.wrong.add(key)
	}
	return ok, nil
}

// refresh reads the users again if the file has changed. One that is wrong now
// changes nothing: those who were known still are.
func (a *authenticator) refresh() {
	if a.configFile == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now, err := stampOf(a.configFile)
	if err == nil && now == a.stamp || errors.Is(err, os.ErrNotExist) {
		return // while it is being replaced, it may be away
	}
	a.stamp = now // said once per change
	file, err := readFile(a.configFile)
	if err != nil {
		a.logger.Error("the changed web configuration cannot be used, the users stay as they were", "err", err)
		return
	}
	a.users = file.Users
	a.logger.Info("users of the web configuration were read again", "users", len(a.users))
}
