package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	browserlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// tabTimeout bounds everything that one test does in its tab.
const tabTimeout = 90 * time.Second

// chromium is the one browser of all tests: its allocator's context.
var chromium struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// executable finds the browser; ZETA_E2E_CHROMIUM names another one.
func executable() (string, error) {
	if path := os.Getenv("ZETA_E2E_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no Chromium on the path (Debian: apt-get install --no-install-recommends chromium)")
}

func start() (context.Context, func(), error) {
	path, err := executable()
	if err != nil {
		return nil, nil, err
	}
	profile, err := os.MkdirTemp("", "zeta-scaler-chromium-")
	if err != nil {
		return nil, nil, err
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(profile))
	for _, flag := range []string{"disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator)
	stop := func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has ended
		stopBrowser()
		stopAllocator()
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return ctx, stop, nil
}

// tab is one tab of the browser with what went wrong in it.
type tab struct {
	t      *testing.T
	ctx    context.Context
	screen screen

	mu       sync.Mutex
	failures []string
}

// screen is what the page is looked at with.
type screen struct {
	width, height int64
	mobile, dark  bool
}

var (
	desk      = screen{width: 1280, height: 900}
	deskDark  = screen{width: 1280, height: 900, dark: true}
	phone     = screen{width: 360, height: 780, mobile: true}
	phoneDark = screen{width: 390, height: 844, mobile: true, dark: true}
)

// open opens a tab with storage of its own, and fails the test at its end if a
// script threw, a policy was violated or a dialog appeared.
func open(t *testing.T, s screen) *tab {
	t.Helper()
	chromium.once.Do(func() { chromium.ctx, chromium.stop, chromium.err = start() })
	if chromium.err != nil {
		harness.Unavailable(t, "%v", chromium.err)
	}
	ctx, closeTab := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	ctx, cancel := context.WithTimeout(ctx, tabTimeout)
	b := &tab{t: t, ctx: ctx, screen: s}
	t.Cleanup(func() {
		cancel()
		closeTab()
	})
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	var options []chromedp.EmulateViewportOption
	if s.mobile {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	b.do(
		chromedp.EmulateViewport(s.width, s.height, options...),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		}),
	)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.failures) > 0 {
			t.Errorf("the browser complained:\n%s", strings.Join(b.failures, "\n"))
		}
	})
	return b
}

// hear notes what must never happen. That a server is gone is said in the log,
// too, and is no failure of the page.
func (b *tab) hear(event any) {
	var what string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		what = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			what += " " + e.ExceptionDetails.Exception.Description
		}
	case *page.EventJavascriptDialogOpening:
		what = "dialog: " + e.Message
	case *browserlog.EventEntryAdded:
		if e.Entry.Source == "security" || strings.Contains(e.Entry.Text, "Content Security Policy") {
			what = "policy: " + e.Entry.Text
		}
	}
	if what != "" {
		b.mu.Lock()
		b.failures = append(b.failures, what)
		b.mu.Unlock()
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

func (b *tab) visit(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// ask evaluates an expression in the page.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// see waits until the page shows the words.
func (b *tab) see(words ...string) {
	b.t.Helper()
	for _, w := range words {
		b.await(fmt.Sprintf("the page shows %q", w), `(document.body?.innerText ?? "").replace(/\s+/g, " ")`, w)
	}
}

// await waits until the value of an expression contains a text. While the tab
// is on its way to another page there is no value.
func (b *tab) await(what, expression, part string) {
	b.t.Helper()
	harness.Wait(b.t, 20*time.Second, what, func(context.Context) error {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
		switch {
		case err != nil:
			return err
		case !strings.Contains(v, part):
			return fmt.Errorf("it is %q", v)
		}
		return nil
	})
}

// keep takes a picture of the whole page, which has to be one that can be read.
func (b *tab) keep(name string) {
	b.t.Helper()
	b.judge()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	dir := filepath.Join(lab.Root, "e2e", "artifacts", "browser")
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, name+".png")
	require.NoError(b.t, os.WriteFile(path, png, 0o644))
	b.t.Logf("picture: e2e/artifacts/browser/%s.png", name)
}

// fits fails when something makes the page wider than the screen.
func (b *tab) fits() {
	b.t.Helper()
	require.LessOrEqual(b.t, ask[int](b, "document.documentElement.scrollWidth"), ask[int](b, "document.documentElement.clientWidth"),
		"the page is wider than the screen: %s", ask[string](b, `[...document.querySelectorAll("body *")].filter(e => !e.closest(".wide") && !e.closest("thead") && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.tagName + "." + e.className).slice(0, 5).join(", ")`))
}

// isNamed fails when something that can be used or is drawn has no name for a
// screen reader.
func (b *tab) isNamed() {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(b.t, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	named := map[string]int{}
	for _, n := range tree.Nodes {
		role := text(n.Role)
		switch role {
		case "link", "button", "textbox", "searchbox", "combobox", "progressbar", "progressIndicator", "image", "img", "table", "region", "navigation":
			if n.Ignored {
				continue
			}
			require.NotEmpty(b.t, text(n.Name), "a %s has no name", role)
			named[role]++
		}
	}
	b.t.Logf("named for a screen reader: %v", named)
	require.NotZero(b.t, named["link"])
}
