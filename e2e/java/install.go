// Package java fetches what a Java program of the tests is made of with Maven,
// once per user, and compiles its main class.
package java

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// errUnavailable marks what the machine lacks, against what is broken.
var errUnavailable = errors.New("it cannot be had here")

// Program is what is fetched and compiled.
type Program struct {
	// Name begins the name of its folder in the cache.
	Name string
	// Files have pom.xml and Main, the path of a Java source.
	Files embed.FS
	Main  string
}

// Installation is a program's jars, and the Java that runs them.
type Installation struct {
	// Dir has lib, classes and the program's own files.
	Dir string
	// Java is the program, Version its version.
	Java, Version string
}

// ClassPath has the program's classes and jars.
func (i Installation) ClassPath() string {
	return filepath.Join(i.Dir, "classes") + ":" + filepath.Join(i.Dir, "lib", "*")
}

// Home is JAVA_HOME.
func (i Installation) Home() string { return filepath.Dir(filepath.Dir(i.Java)) }

// Install finds Java 17 and Maven, fetches the program's jars if they are not in
// the user's cache, and compiles its main class. What the machine lacks is an
// error of Unavailable.
func Install(ctx context.Context, p Program) (Installation, error) {
	bin, version, err := find(ctx)
	if err != nil {
		return Installation{}, err
	}
	in := Installation{Java: filepath.Join(bin, "java"), Version: version}
	key, err := p.contentKey()
	if err != nil {
		return in, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "zeta-scaler-e2e")
	in.Dir = filepath.Join(cache, p.Name+"-"+key)
	if _, err := os.Stat(in.Dir); err == nil {
		return in, nil
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return in, fmt.Errorf("making the cache of %s: %w", p.Name, err)
	}
	// Into a folder of its own first: an interrupted download leaves nothing
	// that looks whole.
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return in, fmt.Errorf("making the cache of %s: %w", p.Name, err)
	}
	defer os.RemoveAll(partial)
	if err := p.fetch(ctx, bin, partial); err != nil {
		return in, err
	}
	if err := os.Rename(partial, in.Dir); err != nil {
		if _, statErr := os.Stat(in.Dir); statErr == nil {
			return in, nil // somebody else was faster
		}
		return in, fmt.Errorf("keeping the jars of %s: %w", p.Name, err)
	}
	return in, nil
}

// Unavailable reports whether an error of Install says that the machine lacks
// something.
func Unavailable(err error) bool { return errors.Is(err, errUnavailable) }

// contentKey changes whenever what is fetched or compiled does.
func (p Program) contentKey() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(p.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := p.Files.ReadFile(name)
		fmt.Fprintf(h, "%s %d ", name, len(b))
		h.Write(b)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the files of %s: %w", p.Name, err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), nil
}

var quotedVersion = regexp.MustCompile(`version "(17[^"]*)"`)

// find returns the folder of a Java 17 that has a compiler. What is run opens
// modules by flags that other Javas treat otherwise.
func find(ctx context.Context) (bin, version string, err error) {
	var candidates []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin"))
	}
	if javac, err := exec.LookPath("javac"); err == nil {
		// Where it really is: JAVA_HOME is what is above.
		if target, err := filepath.EvalSymlinks(javac); err == nil {
			javac = target
		}
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
func (p Program) fetch(ctx context.Context, bin, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%w: no Maven (mvn) in PATH", errUnavailable)
	}
	if err := os.CopyFS(dir, p.Files); err != nil {
		return fmt.Errorf("writing the pom of %s: %w", p.Name, err)
	}
	lib, classes := filepath.Join(dir, "lib"), filepath.Join(dir, "classes")
	args := []string{"-B", "-ntp", "-q", "-f", filepath.Join(dir, "pom.xml")}
	args = append(args, strings.Fields(os.Getenv("MVN_ARGS"))...)
	args = append(args, "dependency:copy-dependencies", "-DoutputDirectory="+lib)
	if err := run(ctx, filepath.Dir(bin), mvn, args...); err != nil {
		return fmt.Errorf("%w: fetching the jars of %s: %w", errUnavailable, p.Name, err)
	}
	return run(ctx, filepath.Dir(bin), filepath.Join(bin, "javac"), "-nowarn", "-proc:none",
		"-cp", filepath.Join(lib, "*"), "-d", classes, filepath.Join(dir, p.Main))
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
