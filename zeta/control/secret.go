package control

import (
	"slices"
	"strings"
)

// minSecret is the shortest text that is taken out of messages, in bytes: a shorter
// one is in too many words.
const minSecret = 3

// redactedError is an error whose text has no secret in it.
type redactedError struct {
	error
	text string
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.error }

// withoutSecrets takes secrets out of the text of an error: Zeta quotes what it
// cannot read of a config. One that was cut off at the end of the text goes, too.
func withoutSecrets(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	text := err.Error()
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "…")
		for n := len(s) - 1; n >= minSecret; n-- {
			if rest, cut := strings.CutSuffix(strings.TrimRight(text, "….\""), s[:n]); cut {
				text = rest + "…"
				break
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return &redactedError{err, text}
}
