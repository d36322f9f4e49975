package post

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// open are the headers of a request that hold no secret.
var open = []string{"Content-Type", "Content-Length", "Idempotency-Key", "User-Agent", "Accept-Encoding"}

// minSecret is how long a value is, in bytes, that is looked for by itself: a
// shorter one is found in every text.
const minSecret = 4

// redact takes out of a reply what was sent along as a credential or a
// signature: there are servers that tell an error by showing the request, and
// errors are logged and shown to everybody.
func redact(text string, sent http.Header) string {
	var secrets []string
	for name, values := range sent {
		if !slices.Contains(open, name) {
			for _, v := range values {
				secrets = append(secrets, secretsOf(v)...)
			}
		}
	}
	// The longest first: what is left of a secret after a part of it is gone is
	// not found any more.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, "<secret>")
		}
	}
	return text
}

// secretsOf are the texts by which the value of a header can be shown: whole,
// without the scheme, and as the password that it encodes.
func secretsOf(value string) []string {
	out := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return out
	}
	rest = strings.TrimSpace(rest)
	out = append(out, rest)
	if strings.EqualFold(scheme, "Basic") {
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			out = append(out, string(plain), password)
		}
	}
	return out
}
