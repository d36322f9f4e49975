package rules

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// FuzzParse: whatever the bytes, there is a rule set or a list of errors, never
// both, never a panic, and every error has a place and a known check.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "packs/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("signals: [{expr: '"))
	f.Add([]byte("workers: {current: {expr: \"a\\\n\\x41\\u00e9 +\"}}"))
	f.Add([]byte("a: |\n"))
	checks := map[string]bool{}
	for _, c := range Checks() {
		checks[c.Name] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rs, err := Parse("fuzz.yaml", data)
		if err == nil {
			if again, err := Parse("again.yaml", data); err != nil || again.Digest != rs.Digest {
				t.Fatalf("a second reading differs: %v", err)
			}
			if _, _, err := ExportPrometheus(rs); err != nil {
				t.Fatalf("exporting: %v", err)
			}
			_ = rs.Lookback()
			return
		}
		var list *document.ErrorList
		if rs != nil || !errors.As(err, &list) || len(list.Diagnostics) == 0 {
			t.Fatalf("rule set %v, error %v", rs, err)
		}
		for _, d := range list.Diagnostics {
			if d.Pos.Line < 1 && d.Check != document.CheckTooLarge || d.Message == "" || !checks[d.Check] {
				t.Fatalf("diagnostic %+v", d)
			}
		}
	})
}
