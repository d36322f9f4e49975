package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// lab is where the tests start the service.
var lab *harness.Lab

func TestMain(m *testing.M) {
	var err error
	if lab, err = harness.New(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("browser tests on %s/%s, %d CPUs\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	lab.Close()
	os.Exit(code)
}

func scopeURL(s *site, key, more string) string {
	return s.url + "/?scope=" + url.QueryEscape(key) + more
}

// The service itself: built from source, with the demo's cluster behind it.
func TestDemoIsLiveAndSaysWhenTheServiceIsGone(t *testing.T) {
	b := open(t, desk)
	path := lab.Build(t, harness.ZetaScaler)
	address := harness.FreeAddress(t)
	service := lab.Start(t, harness.Command{
		Name: "demo", Path: path, Args: []string{"demo", "--scenario", "burst", "--speed", "60", "--web.listen-address", address},
	})
	base := harness.URL(address)
	harness.Wait(t, time.Minute, "the demo answers", func(ctx context.Context) error {
		_, err := harness.Get(ctx, base+"/-/ready")
		return err
	})
	b.visit(base + "/")
	b.see("SCALE_OUT 1")
	b.keep("demo-list")
	b.do(chromedp.Click(chromedp.CSS("tbody th a")))
	b.see("Decision table", "decides", "Recommended:")
	now := ask[string](b, `document.getElementById("now").dateTime`)
	harness.Wait(t, 20*time.Second, "the page follows the demo's clock", func(context.Context) error {
		if ask[string](b, `document.getElementById("now").dateTime`) == now {
			return fmt.Errorf("it still is %s", now)
		}
		return nil
	})
	require.True(t, ask[bool](b, `document.querySelector("#plot canvas") !== null`), "nothing is plotted")
	b.keep("demo-scope")
	b.isNamed()

	service.Kill()
	b.see("The service does not answer.", "s old.", "Not live: asks every")
	require.Equal(t, "alert", ask[string](b, `document.querySelector("#banner strong").getAttribute("role")`))
	b.keep("service-gone")
	lab.Start(t, harness.Command{
		Name: "demo-again", Path: path, Args: []string{"demo", "--scenario", "burst", "--speed", "60", "--web.listen-address", address},
	})
	harness.Wait(t, 30*time.Second, "the page recovers by itself", func(context.Context) error {
		if !ask[bool](b, `document.getElementById("banner").hidden`) {
			return fmt.Errorf("it says %q", ask[string](b, `document.getElementById("banner").innerText`))
		}
		return nil
	})
}

func TestStates(t *testing.T) {
	paused := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	paused.Paused, paused.Facts = true, paused.Facts|scaling.FactPaused
	paused.Recommendation.Action, paused.Recommendation.Row = scaling.NoAction, scaling.RowPaused
	paused.Recommendation.Reason, paused.Recommendation.RecommendedWorkers = "paused", new(2)
	paused.Unpaused = &scaling.Outlook{Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: "oldest blocked job 412 s > 60 s", RecommendedWorkers: new(4)}
	acting := shortage("prod", scaling.Label{Name: "cluster", Value: "prod"})
	acting.Mode, acting.Booting = scaling.Direct, 2
	acting.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerActionInFlight}}
	acting.Execution = action("7-12-prod", scaling.ActionConverging)
	old := shortage("prod")
	old.Recommendation.ObservedAt = time.Now().Add(-10 * time.Minute)
	old.Recommendation.ValidUntil = time.Now().Add(-9 * time.Minute)

	for _, tt := range []struct {
		name string
		ev   []scaling.Evaluation
		list []string
		one  []string
	}{
		{
			name: "shortage", ev: []scaling.Evaluation{shortage("prod", scaling.Label{Name: "cluster", Value: "prod"}), idle("test")},
			list: []string{"SCALE_OUT", "2 → 4", "oldest blocked job 412 s"},
			one:  []string{"2 → 4 workers", "sustained", "What was asked of Prometheus", "The row shortage decides", "Rows above, which did not match:", "Rows below, which were not tried: 13", "No action was begun"},
		},
		{
			name: "unknown", ev: []scaling.Evaluation{blind("prod")},
			list: []string{"unknown → unknown", "no answer from Prometheus"},
			one:  []string{"unknown (absent)", "Prometheus gives no answer: decided on unknown values."},
		},
		{name: "none", list: []string{"There is no scope yet"}},
		{
			name: "paused", ev: []scaling.Evaluation{paused},
			list: []string{"paused"}, one: []string{"This scope since", "by ann", "Without the pause:", "SCALE_OUT 2 → 4 workers", "advisory, paused"},
		},
		{
			name: "acting", ev: []scaling.Evaluation{acting},
			list: []string{"action converging: 4 workers", "direct"},
			one:  []string{"CONVERGING 2 → 4 workers", "the platform took it", "action_in_flight"},
		},
		{name: "stale", ev: []scaling.Evaluation{old}, list: []string{"Out of date: 1 of 1 scope had"}, one: []string{"Out of date: no evaluation"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.ev...)
			for _, ev := range tt.ev {
				if tt.name != "unknown" {
					s.remember(t, ev)
				}
			}
			if tt.name == "paused" {
				s.control(t, "prod", state.ControlRecord{Paused: true, Reason: "upgrade of m1", By: "ann", UpdatedAt: time.Now().Add(-time.Hour)})
			}
			if tt.name == "acting" {
				s.put(t, state.ActionEntry, "prod", time.Now(), action("7-9-prod", scaling.ActionSucceeded))
				failed := action("7-4-prod", scaling.ActionFailed)
				failed.Error = "patching StatefulSet st/seatunnel-worker: quota exceeded"
				s.put(t, state.ActionEntry, "prod", time.Now(), failed)
			}
			for name, screen := range map[string]screen{"desk": desk, "desk-dark": deskDark, "phone": phone, "phone-dark": phoneDark} {
				b := open(t, screen)
				b.visit(s.url + "/")
				b.see(tt.list...)
				b.fits()
				b.isNamed()
				b.keep(fmt.Sprintf("%s-list-%s", tt.name, name))
				if len(tt.one) == 0 {
					continue
				}
				b.visit(scopeURL(s, "prod", ""))
				b.see(tt.one...)
				b.fits()
				b.isNamed()
				b.keep(fmt.Sprintf("%s-scope-%s", tt.name, name))
			}
		})
	}
}

func action(id string, now scaling.ActionState) *scaling.Execution {
	at := time.Now().Add(-2 * time.Minute)
	steps := []scaling.Transition{
		{State: scaling.ActionPending, At: at},
		{State: scaling.ActionExecuting, At: at.Add(time.Second)},
		{State: scaling.ActionConverging, At: at.Add(2 * time.Second), Reason: "the platform took it: 2 of 4 workers are there"},
	}
	if now.Final() {
		steps = append(steps, scaling.Transition{State: now, At: at.Add(time.Minute)})
	}
	return &scaling.Execution{
		ID: id, RecommendationID: id, Scope: "prod", MasterEpoch: 7, Generation: 12, Row: scaling.RowShortage,
		From: new(2), Target: 4, Actuator: "kubernetes", State: now, Transitions: steps,
	}
}

func TestErrorsAreSaid(t *testing.T) {
	s := serve(t, shortage("prod"))
	b := open(t, phone)
	b.visit(s.url + "/?scope=none&refresh=soon")
	b.see("Bad Request", "is not a whole number")
	b.visit(s.url + "/?scope=none")
	b.see("Not Found", `there is no scope "none"`)
	b.fits()
	b.keep("not-found-phone")
	// A scope that is forgotten while somebody looks at it is no error of the page.
	b.visit(scopeURL(s, "prod", "&refresh=1"))
	b.see("2 → 4 workers")
	s.forget("prod")
	b.see(`there is no scope "prod"`)
}

// What is no page, or may not be read, is said on a page, too.
func TestErrorsOfOtherPathsArePages(t *testing.T) {
	s := serve(t, shortage("prod"))
	closed := serveClosed(t)
	for name, screen := range screens() {
		for picture, c := range map[string]struct {
			url  string
			says []string
		}{
			"error-404": {s.url + "/autoscaler/nothing/here", []string{"Not Found", "there is nothing at", "What now:"}},
			"error-405": {s.url + "/-/reload", []string{"Method Not Allowed", "allowed: "}},
			"error-401": {closed + "/", []string{"Unauthorized", "A browser cannot give a bearer token"}},
		} {
			b := open(t, screen)
			b.visit(c.url)
			b.see(c.says...)
			b.see("To the start page")
			b.fits()
			b.isNamed()
			b.keep(picture + "-" + name)
			if picture == "error-404" {
				b.do(chromedp.Click(chromedp.CSS("main a")))
				b.see("2 → 4")
			}
		}
	}
}

// Nothing of a name is markup, and nothing of it runs.
func TestHostileNames(t *testing.T) {
	ev := shortage(hostile, scaling.Label{Name: "cluster", Value: hostile})
	ev.Recommendation.Reason = hostile
	ev.Inputs[3].Name, ev.Inputs[3].Reason = hostile, hostile
	ev.Execution = action(hostile, scaling.ActionFailed)
	ev.Execution.Error, ev.Execution.Actuator = hostile, hostile
	ev.Shadows = []scaling.Shadow{{RuleSet: scaling.RuleSetRef{Name: hostile}, Action: scaling.NoAction, Reason: hostile}}
	s := serve(t, ev)
	s.remember(t, ev)
	b := open(t, desk)
	for _, target := range []string{s.url + "/", scopeURL(s, hostile, ""), s.url + "/?q=" + url.QueryEscape(hostile)} {
		b.visit(target)
		b.see("<img src=x onerror=alert(1)>")
		ev.Recommendation.Reason += " again"
		s.publish(ev)
		b.see(ev.Recommendation.Reason[len(hostile):])
		require.Zero(t, ask[int](b, "document.images.length"))
		require.Zero(t, ask[int](b, `document.querySelectorAll("script:not([src])").length`))
	}
	b.visit(s.url + "/?" + url.QueryEscape(hostile) + "=1")
	b.see("Bad Request", "<img src=x onerror=alert(1)>")
	require.Zero(t, ask[int](b, "document.images.length"))
	b.visit(scopeURL(s, hostile, ""))
	require.Equal(t, hostile+" · zeta-scaler", ask[string](b, "document.title"))
	b.fits()
	b.keep("hostile-scope")
}

func TestThousandScopes(t *testing.T) {
	s := serve(t, many(1000)...)
	b := open(t, desk)
	best := 1e9
	for range 5 {
		b.visit(s.url + "/")
		harness.Wait(t, 10*time.Second, "the first paint", func(context.Context) error {
			if ask[int](b, `performance.getEntriesByName("first-contentful-paint").length`) == 0 {
				return fmt.Errorf("nothing is painted")
			}
			return nil
		})
		best = min(best, ask[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	}
	t.Logf("first paint of 1000 scopes: %.0f ms at best of 5", best)
	require.Less(t, best, 1000.0, "milliseconds")
	b.see("Scopes 1 to 100 of 1000")
	b.keep("thousand-list")

	// The list follows what is typed, and typing goes on while it does.
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="q"]`), "team=team-07"))
	b.see("Scopes 1 to 25 of 25, filtered from 1000")
	require.Equal(t, "q", ask[string](b, "document.activeElement.name"), "the focus was lost")
	b.await("the address follows", "location.search", "q=team%3Dteam-07")
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="q"]`), " no-such"))
	b.see("None of the 1000 scopes is like that.")
	b.visit(s.url + "/?action=SCALE_OUT&sort=-scope")
	b.see("filtered from 1000")
	require.Equal(t, "descending", ask[string](b, `document.querySelector("thead th").getAttribute("aria-sort")`))
	b.do(chromedp.Click(chromedp.CSS("thead th:nth-child(2) a")))
	b.await("a column head sorts", "location.search", "sort=workers")
	b.visit(s.url + "/")
	b.do(chromedp.Click(chromedp.CSS(`a[rel="next"]`)))
	b.see("Scopes 101 to 200 of 1000", "Page 2 of 10")

	p := open(t, phone)
	p.visit(s.url + "/")
	p.see("Scopes 1 to 100 of 1000")
	p.fits()
	p.keep("thousand-list-phone")
}

func TestKeyboardAloneIsEnough(t *testing.T) {
	s := serve(t, shortage("prod"))
	b := open(t, desk)
	b.visit(s.url + "/?refresh=1")
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Skip to the content", ask[string](b, "document.activeElement.textContent"))
	require.True(t, ask[bool](b, `document.activeElement.getBoundingClientRect().left >= 0`), "the skip link is not to be seen")
	b.do(chromedp.KeyEvent(kb.Enter))
	harness.Wait(t, 5*time.Second, "the focus skips", func(context.Context) error {
		if id := ask[string](b, "document.activeElement.id"); id != "main" {
			return fmt.Errorf("it is on %q", id)
		}
		return nil
	})
	for i := 0; ; i++ {
		require.Less(t, i, 40, "the scope cannot be reached")
		b.do(chromedp.KeyEvent(kb.Tab))
		if ask[string](b, "document.activeElement.textContent") == "prod" {
			break
		}
	}
	require.NotEqual(t, "none", ask[string](b, "getComputedStyle(document.activeElement).outlineStyle"), "the focus is not to be seen")
	s.publish(saying("something new"))
	b.see("something new")
	require.Equal(t, "prod", ask[string](b, "document.activeElement.textContent"), "an update took the focus")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.see("Rows below")
	for i := 0; !strings.HasPrefix(ask[string](b, "document.activeElement.textContent"), "Rows below"); i++ {
		require.Less(t, i, 40, "the rows below cannot be reached")
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.see("max(min, current − max(1, surplus))")
	s.publish(saying("newer still"))
	b.see("newer still")
	require.True(t, ask[bool](b, `document.activeElement.parentElement.open`), "an update closed what was opened")
	require.Equal(t, "SUMMARY", ask[string](b, "document.activeElement.tagName"))
}

// saying is the scope prod with another reason.
func saying(reason string) scaling.Evaluation {
	ev := shortage("prod")
	ev.Recommendation.Reason = reason
	return ev
}

// The stream alone brings what is new; nothing is asked for in between.
func TestTicksComeByTheStream(t *testing.T) {
	s := serve(t, shortage("prod"))
	b := open(t, desk)
	b.visit(scopeURL(s, "prod", "&refresh=3600"))
	b.see("Live: follows every tick of the service.", "2 → 4 workers")
	for i := range 3 {
		words := fmt.Sprintf("tick %d of the test", i)
		s.publish(saying(words))
		b.see(words)
	}
	b.do(chromedp.Click(chromedp.CSS("#status a")))
	b.see("Does not load itself again.")
	s.publish(saying("nobody is told"))
	b.visit(scopeURL(s, "prod", "&refresh=0"))
	b.see("nobody is told", "Keep it up to date")
}

func TestPauseAsksForTheCredential(t *testing.T) {
	s := serve(t, shortage("a/b%2Fc"))
	b := open(t, phone)
	b.visit(scopeURL(s, "a/b%2Fc", "&refresh=0"))
	b.see("A pause keeps everybody from acting")
	pause, resume := chromedp.CSS(`[value="pause"]`), chromedp.CSS(`[value="resume"]`)
	reason, secret := chromedp.CSS(`[name="reason"]`), chromedp.CSS(`[name="secret"]`)
	b.do(chromedp.Click(pause))
	b.do(chromedp.SendKeys(reason, "maintenance <b>"), chromedp.SendKeys(secret, "wrong"), chromedp.Click(pause))
	b.see("401: a valid credential is needed")
	require.Empty(t, s.posted(), "a reason and a right credential are needed")

	b.do(chromedp.SetValue(secret, token), chromedp.SetValue(chromedp.CSS(`[name="for"]`), "3600"), chromedp.Click(pause))
	b.see("Paused.", "This scope since", "left): maintenance <b>", "It counts from the next tick on.")
	b.keep("pause-phone")
	b.do(chromedp.Click(resume))
	b.see("Resumed.", "A pause keeps everybody from acting")
	b.do(chromedp.SetValue(chromedp.CSS(`[name="kind"]`), "basic"))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name="kind"]').dispatchEvent(new Event("change"))`))
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="user"]`), "ops"), chromedp.SendKeys(secret, password), chromedp.Click(pause))
	b.see("by ops,")

	got := s.posted()
	require.Len(t, got, 3)
	require.Equal(t, "/autoscaler/pause", got[0].path)
	require.Equal(t, "Bearer "+token, got[0].authorization)
	require.Equal(t, "a/b%2Fc", got[0].body["scope"])
	require.Equal(t, "maintenance <b>", got[0].body["reason"])
	until, err := time.Parse(time.RFC3339, fmt.Sprint(got[0].body["until"]))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)
	require.Equal(t, "/autoscaler/resume", got[1].path)
	require.Equal(t, "Bearer "+token, got[1].authorization, "the credential is remembered while the page is open")
	require.NotContains(t, got[1].body, "until")
	for _, p := range got {
		require.Empty(t, p.cookie)
	}

	require.Zero(t, ask[int](b, "localStorage.length + sessionStorage.length"))
	require.Empty(t, ask[string](b, "document.cookie"))
	b.visit(scopeURL(s, "a/b%2Fc", "&refresh=0"))
	b.see("by ops,")
	b.do(chromedp.SendKeys(secret, "wrong"), chromedp.SendKeys(reason, "again"), chromedp.Click(resume))
	b.see("401: a valid credential is needed")
	require.Len(t, s.posted(), 3, "a reload forgets the credential")

	b.visit(s.url + "/?refresh=0")
	b.do(chromedp.Click(chromedp.CSS(`[aria-labelledby="control"] summary`)))
	b.see("A pause of the whole service")
	b.do(chromedp.SendKeys(secret, token), chromedp.SendKeys(reason, "all hands"), chromedp.Click(pause))
	b.see("The whole service since", "all hands")
	require.NotContains(t, s.posted()[3].body, "scope")
	b.keep("pause-all-phone")
}
