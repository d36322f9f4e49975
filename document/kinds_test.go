package document

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fileOptions and shelfOptions are the options of two kinds that nothing but
// the schema knows.
type fileOptions struct {
	Path    string        `yaml:"path" check:"required"`
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
}

func (o *fileOptions) SetDefaults() { o.Path, o.Timeout = "data", time.Minute }

type shelfOptions struct {
	Board   int           `yaml:"board" check:"required,least=1,most=9"`
	Timeout time.Duration `yaml:"timeout"`
}

type withKinds struct {
	Items []struct {
		Store Sections `yaml:"store" check:"kinds=store"`
	} `yaml:"items"`
	State  Choice   `yaml:"state" check:"kinds=store"`
	Inline Sections `yaml:",inline" check:"kinds=store,prefix=on_"`
}

func kindsSchema() *Schema {
	return &Schema{Kinds: map[string]Kinds{"store": {
		{Name: "file", New: func() any { return new(fileOptions) }},
		{Name: "shelf", New: func() any { return new(shelfOptions) }},
		{Name: "none", New: func() any { return new(struct{}) }},
	}}}
}

func decodeKinds(t *testing.T, text string) (*withKinds, *Report) {
	t.Helper()
	r, root := Parse("x.yml", []byte(text), ParseOptions{MaxBytes: 1 << 10, MaxDepth: 9})
	require.NotNil(t, root, Render(r.Errors))
	out := &withKinds{}
	d := &Decoder{Report: r, Schema: kindsSchema(), Name: "x.yml", Layered: true, EmptyIsNone: true}
	d.Decode(root, out, "the file")
	return out, r
}

func TestSectionsAreDecodedIntoTheStructsOfTheirKinds(t *testing.T) {
	out, r := decodeKinds(t, "items:\n- store: {file: {}}\n- store: {file: {timeout: 2s}, shelf: {board: 3}}\n- {}\n")
	require.Empty(t, r.Errors)
	require.Equal(t, Sections{"file": &fileOptions{Path: "data", Timeout: time.Minute}}, out.Items[0].Store)
	require.Equal(t, Sections{
		"file":  &fileOptions{Path: "data", Timeout: 2 * time.Second},
		"shelf": &shelfOptions{Board: 3},
	}, out.Items[1].Store)
	require.Empty(t, out.Items[2].Store)
}

func TestAChoiceHasTheKeysOfAllKinds(t *testing.T) {
	out, r := decodeKinds(t, "state: {type: shelf, timeout: 3s, board: 2}\n")
	require.Empty(t, r.Errors)
	require.Equal(t, Choice{Type: "shelf", Options: Sections{
		"file":  &fileOptions{Path: "data", Timeout: 3 * time.Second},
		"shelf": &shelfOptions{Board: 2, Timeout: 3 * time.Second},
		"none":  &struct{}{},
	}}, out.State)
}

func TestMistakesInKindsHaveTheirPlaces(t *testing.T) {
	_, r := decodeKinds(t, "items:\n- store: {fil: {}}\n- store: {file: {pth: x, timeout: 1ms}}\n- store:\n    shelf:\nstate: {type: shelv, board: 10}\n")
	var got []string
	for _, d := range r.Errors {
		got = append(got, d.String()+" "+d.Hint)
	}
	require.Equal(t, []string{
		`x.yml:2:11: unknown key "fil" in items[0].store [unknown-key] did you mean file?`,
		`x.yml:3:18: unknown key "pth" in items[1].store.file [unknown-key] did you mean path?`,
		`x.yml:3:35: items[1].store.file.timeout is 1ms, expected 1s or more [bad-value] `,
		`x.yml:5:11: items[2].store.shelf lacks the key "board" [missing-key] `,
		`x.yml:6:15: state.type is "shelv", expected file, shelf or none [bad-value] did you mean shelf?`,
		`x.yml:6:29: state.board is 10, expected at most 9 [bad-value] `,
	}, got)
}

// Every value of a section can be found again, whatever kind it is of.
func TestGetFindsWhatWasAssigned(t *testing.T) {
	out, _ := decodeKinds(t, "state: {type: shelf, board: 2}\n")
	s := kindsSchema()
	state, ok := s.Field(Root[withKinds](), "state")
	require.True(t, ok)
	var names []string
	for _, f := range s.Fields(state) {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"type", "path", "timeout", "board"}, names)
	board, _ := s.Field(state, "board")
	require.Equal(t, 2, s.Get(reflect.ValueOf(out.State), board).Interface())

	timeout, _ := s.Field(state, "timeout")
	for range 20 { // in whatever order a map gives them
		require.Equal(t, time.Duration(0), s.Get(reflect.ValueOf(out.State), timeout).Interface(), "shelf is chosen, and has no default")
	}
}

func TestSectionsMayStandBesideOtherKeys(t *testing.T) {
	out, r := decodeKinds(t, "on_shelf: {board: 4}\nstate: {type: file}\n")
	require.Empty(t, r.Errors)
	require.Equal(t, Sections{"shelf": &shelfOptions{Board: 4}}, out.Inline)
	s := kindsSchema()
	f, ok := s.Field(Root[withKinds](), "on_shelf")
	require.True(t, ok)
	require.Equal(t, out.Inline["shelf"], s.Get(reflect.ValueOf(*out), f).Interface())
	_, r = decodeKinds(t, "on_none: {}\n")
	require.ErrorContains(t, &ErrorList{Diagnostics: r.Errors}, `unknown key "on_none"`, "it has no options")
}
