package main

import (
	"fmt"
	"io"
	"time"

	"github.com/zeta-scaler/zeta-scaler/progress"
)

// progressOn shows how far a long run is in one line of a terminal, which hide
// takes away in the end. For anything else show is nil.
func progressOn(w io.Writer) (show func(progress.Progress), hide func()) {
	if !screenOf(w).terminal {
		return nil, func() {}
	}
	return func(p progress.Progress) { showProgress(w, p) }, func() { fmt.Fprint(w, clearLine) }
}

// clearLine goes back to the beginning of a line and empties it.
const clearLine = "\r\x1b[K"

func showProgress(w io.Writer, p progress.Progress) {
	left := ""
	if d := p.Left(); d > 0 {
		left = fmt.Sprintf(", %s left", d.Round(time.Second))
	}
	fmt.Fprintf(w, clearLine+"%s  %d %%  %s%s", plain(p.Where), 100*p.Done/max(1, p.Total), p.Elapsed.Round(time.Second), left)
}
