package zeta

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Version is the Zeta that is run: the newest one of which every jar is
// published.
const Version = "2.3.8"

//go:embed pom.xml src conf
var files embed.FS

// errUnavailable marks what the machine lacks, against what is broken.
var errUnavailable = errors.New("a real Zeta cannot be had")

// Installation is Zeta's jars, and the Java that runs them.
type Installation struct {
	// Dir has lib and classes.
	Dir string
	// Java is the program, JavaVersion its version.
	Java        string
	JavaVersion string
}

// Install finds Java 17 and Maven, fetches Zeta's jars once per user, and
// compiles the node's main class. What the machine lacks is an error of
// Unavailable.
func Install(ctx context.Context) (Installation, error) {
	bin, version, err := findJava(ctx)
	if err != nil {
		return Installation{}, err
	}
	in := Installation{Java: filepath.Join(bin, "java"), JavaVersion: version}
	key, err := contentKey()
	if err != nil {
		return in, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "zeta-scaler-e2e")
	in.Dir = filepath.Join(cache, "zeta-"+Version+"-"+key)
	if _, err := os.Stat(in.Dir); err == nil {
		return in, nil
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return in, fmt.Errorf("making the cache of Zeta's jars: %w", err)
	}
	// Into a folder of its own first: an interrupted download leaves nothing
	// that looks whole.
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return in, fmt.Errorf("making the cache of Zeta's jars: %w", err)
	}
	defer os.RemoveAll(partial)
	if err := fetch(ctx, bin, partial); err != nil {
		return in, err
	}
	if err := os.Rename(partial, in.Dir); err != nil {
		if _, statErr := os.Stat(in.Dir); statErr == nil {
			return in, nil // somebody else was faster
		}
		return in, fmt.Errorf("keeping Zeta's jars: %w", err)
	}
	return in, nil
}

// Unavailable reports whether an error of Install says that the machine lacks
// something.
func Unavailable(err error) bool { return errors.Is(err, errUnavailable) }

// contentKey changes whenever what is fetched or compiled does.
func contentKey() (string, error) {
	h := sha256.New()
	for _, name := range []string{"pom.xml", "src/ZetaNode.java"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", name, err)
		}
		h.Write(b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), nil
}

var quotedVersion = regexp.MustCompile(`version "(17[^"]*)"`)

// findJava returns the folder of a Java 17 that has a compiler. Zeta opens
// modules by flags that other Javas treat otherwise.
func findJava(ctx context.Context) (bin, version string, err error) {
	var candidates []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin"))
	}
	if javac, err := exec.LookPath("javac"); err == nil {
		candidates = append(candidates, filepath.Dir(javac))
	}
	installed, _ := filepath.Glob("/usr/lib/jvm/*17*/bin")
	candidates = append(candidates, installed...)
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "javac")); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, filepath.Join(dir, "java"), "-version").CombinedOutput()
		if m := quotedVersion.FindSubmatch(out); err == nil && m != nil {
			return dir, string(m[1]), nil
		}
	}
	return "", "", fmt.Errorf("%w: no JDK 17 in JAVA_HOME, PATH or /usr/lib/jvm", errUnavailable)
}

// fetch fills dir with lib and classes.
func fetch(ctx context.Context, bin, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%w: no Maven (mvn) in PATH", errUnavailable)
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("writing Zeta's pom: %w", err)
	}
	lib, classes := filepath.Join(dir, "lib"), filepath.Join(dir, "classes")
	args := []string{"-B", "-ntp", "-q", "-f", filepath.Join(dir, "pom.xml")}
	args = append(args, strings.Fields(os.Getenv("MVN_ARGS"))...)
	args = append(args, "dependency:copy-dependencies", "-DoutputDirectory="+lib)
	if err := run(ctx, filepath.Dir(bin), mvn, args...); err != nil {
		return fmt.Errorf("%w: fetching its jars: %w", errUnavailable, err)
	}
	return run(ctx, filepath.Dir(bin), filepath.Join(bin, "javac"), "-nowarn", "-proc:none",
		"-cp", filepath.Join(lib, "*"), "-d", classes, filepath.Join(dir, "src", "ZetaNode.java"))
}

func run(ctx context.Context, javaHome, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "JAVA_HOME="+javaHome)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		const shown = 2000
		text := out.String()
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, text[max(0, len(text)-shown):])
	}
	return nil
}
