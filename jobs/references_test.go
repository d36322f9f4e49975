package jobs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

func TestReferences(t *testing.T) {
	outside := folder(t, map[string]string{"key": "x"})
	secrets := folder(t, map[string]string{
		"db-password": "s3cr\"et\\\n", "plain": "abc", "link": "-> " + outside + "/key", "bytes": "\xff", "long": strings.Repeat("x", maxSecret+1),
	})
	for name, test := range map[string]struct{ format, text, want, err string }{
		"JSON":             {format: "json", text: `"${file:db-password}" "${file:plain}"`, want: `"s3cr\"et\\" "abc"`},
		"SQL":              {format: "sql", text: `'${file:plain}'`, want: `'abc'`},
		"other references": {format: "hocon", text: `"${table_name}" ${?PATH} $file:x`, want: `"${table_name}" ${?PATH} $file:x`},
		"a quote in SQL":   {format: "sql", text: `'${file:db-password}'`, err: "${file:db-password}: it has a quote, a backslash or a control character, which cannot be put into SQL"},
		"none":             {format: "json", text: `"${file:gone}"`, err: "${file:gone}: no such file or directory"},
		"a path":           {format: "json", text: `"${file:../key}"`, err: "${file:../key} is not the name of a file in jobs.secrets_folder"},
		"a link outside":   {format: "json", text: `"${file:link}"`, err: "${file:link}: it is a link that leads out of the folder, which is not followed"},
		"bytes":            {format: "json", text: `"${file:bytes}"`, err: "${file:bytes}: it is not UTF-8"},
		"too long":         {format: "json", text: `"${file:long}"`, err: "${file:long}: it is longer than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(Options{Secrets: secrets})
			got, _, err := l.resolve(control.Config{Format: test.format, Text: []byte(test.text)})
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, string(got))
		})
	}
	_, _, err := New(Options{}).resolve(control.Config{Format: "json", Text: []byte(`"${file:plain}"`)})
	require.EqualError(t, err, "it names a file of secrets, but jobs.secrets_folder is not set")
}

// Whatever a secret is, a config in JSON stays one, with that value in it.
func TestASecretIsOneText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := strings.TrimRight(rapid.StringN(1, 40, -1).Draw(rt, "value"), "\r\n")
		if value == "" {
			return
		}
		l := New(Options{Secrets: folder(t, map[string]string{"s": value})})
		got, _, err := l.resolve(control.Config{Format: "json", Text: []byte(`{"password": "${file:s}"}`)})
		require.NoError(rt, err)
		var c map[string]string
		require.NoError(rt, json.Unmarshal(got, &c))
		require.Equal(rt, map[string]string{"password": value}, c)
	})
}

func TestSecretsAreResolvedWhereTheConfigIsFound(t *testing.T) {
	text := strings.Replace(orders, `"result_table_name"`, `"password": "${file:pw}", "result_table_name"`, 1)
	l := New(Options{Folder: folder(t, map[string]string{"orders.json": text}), Secrets: folder(t, map[string]string{"pw": "hunter2\n"})})
	c, err := l.Cluster("prod").Config(t.Context(), running("4501", "orders"))
	require.NoError(t, err)
	require.Contains(t, string(c.Text), `"password": "hunter2"`)
}
