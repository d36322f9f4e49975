package jobs

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// compare says why a config cannot be the one that a job runs with. JSON is
// read; of HOCON and SQL, whose texts we do not parse, it is known only that they
// name the mode and the plugins.
func compare(c control.Config, j control.Job) error {
	if c.Format != "json" {
		return compareText(string(c.Text), c.Format, j)
	}
	o, err := readOutline(c.Text)
	if err != nil {
		return err
	}
	return errors.Join(
		compareMode(o.mode(), j),
		compareEnv(o, j.Env),
		comparePlugins("sources", o.sources, j.Sources),
		comparePlugins("sinks", o.sinks, j.Sinks),
	)
}

func compareMode(mode string, j control.Job) error {
	if want := string(j.Mode); want != "" && !strings.EqualFold(mode, want) {
		return fmt.Errorf("its job.mode is %s, the job's is %s", handler.Shown(mode), want)
	}
	return nil
}

// compareEnv holds the block env to what Zeta says of it. Both may have no
// option that the other does not have.
func compareEnv(o outline, env map[string]string) error {
	if len(env) == 0 {
		return nil
	}
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		switch mine, there := o.option(key); {
		case !there:
			differ = append(differ, fmt.Sprintf("it has no %s, the job has %s", shownKey(key), shownValue(key, env[key])))
		case mine != sortedMap(env[key]):
			differ = append(differ, fmt.Sprintf("its %s is %s, the job's is %s", shownKey(key), shownValue(key, mine), shownValue(key, env[key])))
		}
	}
	for _, key := range o.options() {
		if !covered(key, env) {
			mine, _ := o.option(key)
			differ = append(differ, fmt.Sprintf("its %s is %s, the job has none", shownKey(key), shownValue(key, mine)))
		}
	}
	if len(differ) > 0 {
		return errors.New(strings.Join(differ, "; "))
	}
	return nil
}

// covered reports whether Zeta names an option, or what it is part of.
func covered(key string, env map[string]string) bool {
	for {
		if _, ok := env[key]; ok {
			return true
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return false
		}
		key = key[:i]
	}
}

// sortedMap brings Java's {b=2, a=1} into one order; other texts stay.
func sortedMap(s string) string {
	if !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
		return s
	}
	entries := strings.Split(s[1:len(s)-1], ", ")
	slices.Sort(entries)
	return "{" + strings.Join(entries, ", ") + "}"
}

func shownKey(key string) string { return handler.Shown(key) }

func shownValue(key, value string) string {
	if document.SecretName(key) {
		return "another"
	}
	return fmt.Sprintf("%q", handler.Shown(value))
}

// comparePlugins holds names to each other, whatever their order and how often
// each is there: Zeta splits and joins what it runs.
func comparePlugins(what string, mine, theirs []string) error {
	if theirs == nil {
		return nil
	}
	if a, b := plugins(mine), plugins(theirs); !slices.Equal(a, b) {
		return fmt.Errorf("its %s are %s, the job's are %s", what, handler.Shown(strings.Join(mine, ", ")), handler.Shown(strings.Join(theirs, ", ")))
	}
	return nil
}

func plugins(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	modeInText = regexp.MustCompile(`(?i)\bjob\.mode"?\s*[:=]\s*["']?(\w+)`)
	comments   = regexp.MustCompile(`(?m)^\s*(#|//).*$`)
)

// compareText looks for names as whole words. A line that is a comment does not
// count, but for SQL, whose block env is one.
func compareText(text, format string, j control.Job) error {
	if format == "hocon" {
		text = comments.ReplaceAllString(text, "")
	}
	mode := textMode(text)
	if mode == "" {
		return errors.New("no job.mode is in it")
	}
	errs := []error{compareMode(mode, j)}
	for _, p := range slices.Concat(j.Sources, j.Sinks) {
		if !hasWord(text, p) {
			errs = append(errs, fmt.Errorf("%s, which the job has, is not in it", handler.Shown(p)))
		}
	}
	return errors.Join(errs...)
}

// textMode is the job.mode that a text names, "" for none, or for two.
func textMode(text string) string {
	var mode string
	for _, m := range modeInText.FindAllStringSubmatch(text, -1) {
		if mode != "" && !strings.EqualFold(mode, m[1]) {
			return ""
		}
		mode = strings.ToUpper(m[1])
	}
	return mode
}

func hasWord(text, word string) bool {
	pattern, err := regexp.Compile(`(?i)(^|[^\w-])` + regexp.QuoteMeta(word) + `($|[^\w-])`)
	return err == nil && pattern.MatchString(text)
}
