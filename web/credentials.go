package web

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// maxCost is the greatest cost of a bcrypt hash: one more doubles the time of
// each comparison, and at this one it is some seconds.
const maxCost = 15

// maxTokensFile bounds what is read of a file of tokens, in bytes.
const maxTokensFile = 1 << 20

// Users are the names in basic_auth_users of a web configuration file, which is
// checked as at a start. What is wrong with it is a *document.ErrorList.
func Users(configFile string) ([]string, error) {
	file, err := readFile(configFile)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range file.Users {
		names = append(names, name)
	}
	return names, nil
}

// CheckTokens says what keeps a file of bearer tokens from being used.
func CheckTokens(path string) error {
	tokens, bad, err := readTokens(path)
	switch {
	case err != nil:
		return err
	case len(bad) > 0:
		return fmt.Errorf("bearer tokens file %s: line %d has spaces or characters that are no ASCII, which no client can send as a token: write the token and nothing else", path, bad[0])
	case len(tokens) == 0:
		return noToken(path)
	}
	return nil
}

func noToken(path string) error {
	return fmt.Errorf("bearer tokens file %s has no token: one on each line is expected", path)
}

// readTokens reads one token per line; lines that are empty or begin with # are
// none, and bad are the numbers of those that no client can present. A byte
// order mark, which some editors write, is not part of the first.
func readTokens(path string) (tokens []string, bad []int, err error) {
	b, err := document.ReadFile(path, maxTokensFile)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading bearer tokens: %w", err)
	case len(b) > maxTokensFile:
		return nil, nil, fmt.Errorf("bearer tokens file %s is larger than %d bytes", path, maxTokensFile)
	}
	number := 0
	for line := range strings.Lines(string(bytes.TrimPrefix(b, []byte("\ufeff")))) {
		number++
		token := strings.TrimSpace(line)
		switch {
		case token == "" || strings.HasPrefix(token, "#"):
		case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			bad = append(bad, number)
		default:
			tokens = append(tokens, token)
		}
	}
	return tokens, bad, nil
}

// checkUser says what keeps a user from being one.
func checkUser(name, hash string) error {
	if strings.Contains(name, ":") {
		return errors.New("a user name has no colon: what follows it is read as a part of the password")
	}
	cost, err := bcrypt.Cost([]byte(hash))
	switch {
	case err != nil:
		// The text of a wrong hash may be a password.
		return errors.New("the value is not a bcrypt hash")
	case cost > maxCost:
		return fmt.Errorf("the cost of the hash is %d, at most %d is compared: more takes longer than clients wait", cost, maxCost)
	}
	return nil
}
