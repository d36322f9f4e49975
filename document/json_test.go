package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
)

func TestDecodeJSONTakesOneMeaningOnly(t *testing.T) {
	type part struct {
		N *int `json:"n"`
	}
	type whole struct {
		Name  string `json:"name"`
		Parts []part `json:"parts"`
	}
	for in, want := range map[string]string{
		`{"name": "a", "parts": [{"n": 1}, {}]}`: "",
		`{"name": "a", "name": "b"}`:             `"name" is given twice`,
		`{"Name": "a"}`:                          `unknown field "Name"`,
		`{"parts": [{"n": 1, "n": 2}]}`:          `"n" is given twice`,
		`{"parts": [{"n": 1.5}]}`:                "number 1.5 where a whole number is expected",
		`{"name": "a"} {}`:                       "something behind the JSON object",
		`{"name": `:                              "ends too early",
		`[]`:                                     "array where an object is expected",
	} {
		var got whole
		err := document.DecodeJSON([]byte(in), &got, false)
		if want == "" {
			require.NoError(t, err, in)
			require.Equal(t, "a", got.Name)
			require.Len(t, got.Parts, 2)
			continue
		}
		require.ErrorContains(t, err, want, in)
		require.NotContains(t, err.Error(), "json:", in)
	}
	null := []byte(`{"parts": [{"n": null}]}`)
	require.ErrorContains(t, document.DecodeJSON(null, new(whole), false), `"n" is null where a whole number is expected`)
	require.NoError(t, document.DecodeJSON(null, new(whole), true))
}
