package document

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample has a key of every shape.
type sample struct {
	Name    string            `yaml:"name" check:"required"`
	Mode    string            `yaml:"mode" check:"oneof=slow|fast"`
	Wait    time.Duration     `yaml:"wait" check:"least=1s,most=1d"`
	Size    Bytes             `yaml:"size" check:"least=1KiB"`
	Ratio   float64           `yaml:"ratio" check:"least=0,most=1"`
	Count   *int              `yaml:"count" check:"least=1"`
	On      bool              `yaml:"on"`
	Headers map[string]string `yaml:"headers"`
	Items   []struct {
		Place
		Key string `yaml:"key" check:"required"`
	} `yaml:"items" check:"title=an item"`
	Inner struct {
		Value int `yaml:"value"`
	} `yaml:"inner"`
}

func decodeSample(text string, secrets bool) (*sample, []string) {
	r, root := Parse("f.yml", []byte(text), ParseOptions{MaxBytes: 400, MaxDepth: 5, Secrets: secrets})
	out := &sample{}
	if root != nil {
		(&Decoder{Report: r, Schema: &Schema{}, Name: "f.yml"}).Decode(root, out, "the sample")
	}
	var said []string
	for _, d := range r.Errors {
		said = append(said, strings.TrimPrefix(d.String(), "f.yml:"))
		if d.Hint != "" {
			said = append(said, d.Hint)
		}
	}
	return out, said
}

func TestDecode(t *testing.T) {
	got, said := decodeSample(`name: a
mode: fast
wait: 1h30m
size: 2KiB
ratio: 0.5
count: 3
on: true
headers: {X: y}
items: [{key: one}, {key: two}]
inner: {value: 7}
`, false)
	require.Empty(t, said)
	require.Equal(t, []any{"a", "fast", 90 * time.Minute, 2 * KiB, 0.5, 3, true, 7},
		[]any{got.Name, got.Mode, got.Wait, got.Size, got.Ratio, *got.Count, got.On, got.Inner.Value})
	require.Equal(t, map[string]string{"X": "y"}, got.Headers)
	require.Equal(t, "two", got.Items[1].Key)
	require.Equal(t, Position{File: "f.yml", Line: 9, Column: 21}, got.Items[1].Pos)
}

func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for text, want := range map[string][]string{
		"mode: fast\n":                {`1:1: the sample lacks the key "name" [missing-key]`},
		"name: ''\n":                  {"1:7: name is empty [bad-value]"},
		"naem: a\n":                   {`1:1: unknown key "naem" in the sample [unknown-key]`, "did you mean name?"},
		"name: a\nname: b\n":          {`2:1: key "name" is there twice in the sample, first in line 1 [duplicate-key]`},
		"name: 7\n":                   {`1:7: name is the number 7, expected a text [wrong-type]`, `quote it: "7"`},
		"name: a\nmode: fats\n":       {`2:7: mode is "fats", expected slow or fast [bad-value]`, "did you mean fast?"},
		"name: a\nmode: 1\n":          {"2:7: mode is the number 1, expected slow or fast [wrong-type]"},
		"name: a\nwait: 10\n":         {"2:7: wait is the number 10, expected a duration such as 30s or 1h30m [bad-duration]", "a number needs a unit: 10s"},
		"name: a\nwait: 10ms\n":       {"2:7: wait is 10ms, expected 1s or more [bad-value]"},
		"name: a\nwait: 2d\n":         {"2:7: wait is 2d, expected at most 1d [bad-value]"},
		"name: a\nwait: [1s]\n":       {"2:7: wait is a list, expected a duration such as 30s or 1h30m [wrong-type]"},
		"name: a\nsize: 12\n":         {"2:7: size is the number 12, expected a number of bytes such as 64MiB [bad-value]", "a number needs a unit: 12B"},
		"name: a\nsize: 12B\n":        {"2:7: size is 12B, expected 1KiB or more [bad-value]"},
		"name: a\nratio: 50%\n":       {`2:8: ratio is the text "50%", expected a number [wrong-type]`, "write a percentage as a ratio: 0.5"},
		"name: a\nratio: .nan\n":      {"2:8: ratio is not a number (NaN), expected a finite number [not-finite]"},
		"name: a\nratio: .inf\n":      {"2:8: ratio is infinite, expected a finite number [not-finite]"},
		"name: a\ncount: 0\n":         {"2:8: count is 0, expected 1 or more [bad-value]"},
		"name: a\ncount: many\n":      {`2:8: count is the text "many", expected a whole number [wrong-type]`},
		"name: a\non: 'yes'\n":        {`2:5: on is the text "yes", expected true or false [wrong-type]`},
		"name: a\nheaders: [x]\n":     {"2:10: headers is a list, expected a mapping of names to values [wrong-type]"},
		"name: a\nheaders: {'': x}\n": {"2:11: a key of headers is empty or has control characters in it [bad-value]"},
		"name: a\nitems: x\n":         {`2:8: items is the text "x", expected a list [wrong-type]`, "write it in brackets: [x]"},
		"name: a\nitems: [x]\n":       {`2:9: an item is the text "x", expected a mapping [wrong-type]`, "write {key: 'x'}"},
		"name: a\nitems: [{}]\n":      {`2:9: an item lacks the key "key" [missing-key]`},
		"name: a\ninner: {value: }\n": {"2:16: inner.value is empty, expected a whole number [wrong-type]"},
		"name: a\ninner: ~\n":         {"2:8: inner is null, expected a mapping [wrong-type]"},
		"name: a\n? [b]\n: c\n":       {"2:3: a key of the sample is a list, expected a name [wrong-type]"},
		"name: !x a\n":                {"1:7: name is tagged !x, expected a text [wrong-type]", `quote it: "a"`},
		"inner: {name: f(a, b)}\nname: a\n": {
			`1:9: unknown key "name" in inner [unknown-key]`, "known here: value", `1:20: unknown key "b)" in inner [unknown-key]`, "known here: value",
		},
		"items: [{key: f(a, b)}]\nname: a\n": {"1:15: a comma ends a value within braces: the value of key is only \"f(a\" here [yaml-syntax]", "quote it: key: 'f(a, b)'"},
		"name: &a x\nmode: *a\n":             {"1:7: YAML anchor &a, which is not allowed here [yaml-alias]", "write the value out", "2:7: YAML alias *a, which is not allowed here [yaml-alias]", "write the value out"},
		"<<: {name: a}\n":                    {"1:1: YAML merge key <<, which is not allowed here [yaml-alias]", "write the value out"},
		"name: a\n---\nname: b\n":            {"2:1: a second YAML document, expected one per file [several-documents]", "remove the line ---, or put what follows into a file of its own"},
		"name: [[[[[[[a]]]]]]]\n":            {"1:12: nested more than 5 levels deep [too-large]"},
		"name: a\xff\n":                      {"1:8: the file is not UTF-8 text [yaml-syntax]", "save the file as UTF-8"},
		strings.Repeat("#", 401):             {"1:1: the file has more than 400 bytes, which is the most that is read [too-large]"},
		"name: a\n\tmode: fast\n":            {"2:1: not YAML: found a tab character that violates indentation [yaml-syntax]", "indent with spaces, not with tabs"},
		"name: [a\nmode: fast\n":             {"1:1: not YAML: did not find expected ',' or ']' [yaml-syntax]", "close the brackets, and quote what has brackets or commas of its own"},
	} {
		_, said := decodeSample(text, false)
		t.Run(text[:min(len(text), 40)], func(t *testing.T) { require.Equal(t, want, said) })
	}
}

// Whatever is wrong: a value that may be a secret is quoted nowhere.
func TestSecretsAreQuotedNowhere(t *testing.T) {
	for _, text := range []string{
		"name: a\nheaders: [hunter2]\n",
		"name: a\nheaders: {X-Token: [hunter2]}\n",
		"name: a\npassword: hunter2\n",
		"name: a\nwait: http://u:hunter2@h\n",
		"name: a\nitems: 'u:hunter2@h'\n",
		"name: a\nitems: ['u:hunter2@h']\n",
		"name: a\nratio: u:hunter2@h\n",
		"name: a\npassword: hunter2: x\n",
		"name: a\npassword: [hunter2\n",
		"name: a\nheaders: {X: f(hunter2, b)}\n",
		"name: a\npassword: hunter2\xff\n",
		"token: &hunter2\nname: *hunter3\n",
	} {
		r, root := Parse("f.yml", []byte(text), ParseOptions{MaxBytes: 400, MaxDepth: 5, Secrets: true})
		if root != nil {
			(&Decoder{Report: r, Schema: &Schema{}, Name: "f.yml"}).Decode(root, &sample{}, "the sample")
		}
		if strings.Contains(text, "&hunter2") {
			continue // an anchor's name is no value
		}
		require.NotContains(t, Render(r.Errors), "hunter2", text)
	}
}
