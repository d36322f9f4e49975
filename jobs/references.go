package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// maxSecret is the longest secret that a config may name, in bytes.
const maxSecret = 64 << 10

// Other ${…} are left as they are: connectors have placeholders of their own.
var (
	reference  = regexp.MustCompile(`\$\{file:([^}]*)\}`)
	option     = regexp.MustCompile(`([\w.-]+)["']?\s*[:=]\s*["']([^"'\n]+)["']`)
	secretFile = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// resolve puts in what ${file:NAME} stands for: what is in that file of the
// folder of secrets. It returns the secrets of the text, too, be they put in or not.
func (l *Library) resolve(c control.Config) (text []byte, secrets []string, err error) {
	secrets = inline(c.Text)
	if !reference.Match(c.Text) {
		return c.Text, secrets, nil
	}
	if l.Secrets == "" {
		return nil, nil, errors.New("it names a file of secrets, but jobs.secrets_folder is not set")
	}
	root, err := os.OpenRoot(l.Secrets)
	if err != nil {
		return nil, nil, fmt.Errorf("opening jobs.secrets_folder: %w", err)
	}
	defer root.Close()
	values, failed := map[string]string{}, error(nil)
	text = reference.ReplaceAllFunc(c.Text, func(m []byte) []byte {
		name := string(reference.FindSubmatch(m)[1])
		if _, known := values[name]; !known && failed == nil {
			values[name], failed = secret(root, name, c.Format)
		}
		return []byte(values[name])
	})
	if failed == nil && len(text) > 2*MaxConfig {
		failed = errors.New("with its secrets it is too long")
	}
	for _, v := range values {
		secrets = append(secrets, v)
		if plain := ""; json.Unmarshal([]byte(`"`+v+`"`), &plain) == nil && plain != v {
			secrets = append(secrets, plain)
		}
	}
	return text, secrets, failed
}

// inline are the values of options whose names are those of secrets.
func inline(text []byte) []string {
	var out []string
	for _, m := range option.FindAllSubmatch(text, -1) {
		if document.SecretName(string(m[1])) {
			out = append(out, string(m[2]))
		}
	}
	return out
}

// masked is a text without the values of such options.
func masked(text []byte) []byte {
	var out []byte
	last := 0
	for _, m := range option.FindAllSubmatchIndex(text, -1) {
		if document.SecretName(string(text[m[2]:m[3]])) && !reference.Match(text[m[4]:m[5]]) {
			out = append(append(out, text[last:m[4]]...), "***"...)
			last = m[5]
		}
	}
	return append(out, text[last:]...)
}

// secret reads one file, in the form in which it stands between the quotes of a
// config.
func secret(root *os.Root, name, format string) (string, error) {
	if !secretFile.MatchString(name) {
		return "", fmt.Errorf("${file:%s} is not the name of a file in jobs.secrets_folder", handler.Shown(name))
	}
	text, err := readFile(root, name, maxSecret)
	if err != nil {
		return "", fmt.Errorf("${file:%s}: %w", name, err)
	}
	value := strings.TrimRight(string(text), "\r\n")
	if !utf8.ValidString(value) {
		return "", fmt.Errorf("${file:%s}: it is not UTF-8", name)
	}
	if format == "sql" {
		if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == '\'' || r == '\\' }) {
			return "", fmt.Errorf("${file:%s}: it has a quote, a backslash or a control character, which cannot be put into SQL", name)
		}
		return value, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // a text always has JSON
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1], nil
}
