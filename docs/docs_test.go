// Package docs checks the documentation against the code.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testNames lists every test function of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for name := range testSources(t) {
		names[name] = true
	}
	return names
}

// testSources are the files of all tests by the tests' names, with the scripts
// that a test of scripts runs.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	decl := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range decl.FindAllSubmatch(b, -1) {
			name := string(m[1])
			sources[name] = string(b)
			if name == "TestScripts" {
				scripts, err := filepath.Glob(filepath.Join(filepath.Dir(path), "testdata", "script", "*.txt"))
				require.NoError(t, err)
				for _, script := range scripts {
					text, err := os.ReadFile(script)
					require.NoError(t, err)
					sources[name] += string(text)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return sources
}

func TestAcceptanceNamesRealTests(t *testing.T) {
	b, err := os.ReadFile("acceptance.md")
	require.NoError(t, err)
	names := testNames(t)
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(b), -1) {
		require.True(t, names[m[1]], "acceptance.md names %s, which does not exist", m[1])
	}
}

// validations are the lines of the proposals that ask for one.
var validations = []string{
	// STIP, section 8.2.
	"unit tests for Fixed Slot and Dynamic Slot decision semantics",
	"unit tests for `WAIT` and `REJECT` pressure evaluation",
	"unit tests for signal-conflict cases such as slot busy but CPU idle, and slot idle but CPU busy",
	"unit tests for resource-shape mismatch where averages are low but scheduler blocking still exists",
	"unit tests for stabilization windows, min/max bounds, and metrics validity",
	"integration tests for REST APIs and Prometheus metrics",
	"HA tests for master failover, stale `masterEpoch`, and reconciliation",
	"idempotency tests for repeated action identifiers in later phases",
	"end-to-end tests for scale-out convergence in active mode",
	"end-to-end tests for batch drain and streaming stop-and-restore in later phases",
	// AIP-5, "How was this patch tested".
	"floor immediacy and cap clamping",
	"backlog/sustained timing gates",
	"exponential ramp including reset-on-clamp-binding",
	"trickle filtering",
	"cold-start ignition",
	"future-demand single-probe semantics",
	"stale-gate reset after floor recovery",
	"quota-mode-aware serviceable counting",
	"SCHEDULED-occupies-thread semantics",
	"planning-bound predicate",
	"boot-deadline expiry per entry",
	"registration/failure removal",
	"executor-parallelism parsing and validation including the unreachable-floor rejection",
	"K-unit floor satisfaction",
	"boot-window duplicate prevention",
	"failure retry",
	"runtime enablement",
	"the PENDING-table cold-start signal",
	"the SCHEDULED transition on a real table",
	"full suites pass; spotless and checkstyle clean",
	// FLIP-334, "Test Plan".
	"UT & IT & manually verify that the autoscaler is working as expected",
	// STIP-41, "Validation".
	"unit tests for option validation, serialization, provider discovery, platform resource construction, rollback, cancellation, and status mapping",
	"runtime tests for successful jobs, invalid jobs, startup timeouts, worker loss, checkpoint recovery, and cleanup failures",
	"YARN E2E on MiniYARN and MiniDFS using real master and worker JVMs",
	"Kubernetes E2E on a disposable K3s cluster using real Job and worker Pods",
	"the same FakeSource, Console, and Assert job configurations on both platforms",
	"checkpoint recovery with HDFS on YARN and a persistent local volume on Kubernetes",
}

// Every validation that a proposal asks for is in the first column of a row,
// and every row says what does it.
func TestAcceptanceHasEveryValidation(t *testing.T) {
	b, err := os.ReadFile("acceptance.md")
	require.NoError(t, err)
	var lines []string
	for row := range strings.SplitSeq(string(b), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || strings.HasPrefix(row, "|---") || strings.TrimSpace(cells[2]) == "tests" {
			continue
		}
		require.Regexp(t, "`Test|`make |\\*later\\*", cells[2], row)
		lines = append(lines, cells[1])
	}
	all := strings.Join(lines, "\n")
	for _, line := range validations {
		require.Contains(t, all, line)
	}
}

// Nested modules are where dependencies hide.
func TestEveryModuleIsDocumented(t *testing.T) {
	page, err := os.ReadFile("dependencies.md")
	require.NoError(t, err)
	found := 0
	err = filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".git") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.Name() == "go.mod" && path != "../go.mod" {
			found++
			require.Contains(t, string(page), "| `"+strings.TrimPrefix(path, "../")+"` |")
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, found)
}

// pages are the Markdown files that a reader meets.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md", "specification/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		out = append(out, files...)
	}
	require.NotEmpty(t, out)
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if target == "" {
				target = filepath.Base(page)
			}
			path := filepath.Join(filepath.Dir(page), target)
			content, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				continue
			}
			require.NoError(t, err, "%s links to %s", page, m[1])
			if anchor != "" && strings.HasSuffix(path, ".md") {
				require.True(t, hasAnchor(string(content), anchor), "%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// hasAnchor reports whether a page has a heading with the given slug.
func hasAnchor(page, anchor string) bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		text := strings.TrimSpace(strings.TrimLeft(line, "#"))
		slug := strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return strings.Contains(page, `id="`+anchor+`"`) || strings.Contains(page, `name="`+anchor+`"`)
}
