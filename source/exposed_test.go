package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// Names that come and go for ever are not all remembered, and what stays is no new
// series each time.
func TestATargetForgetsTextsThatAreGone(t *testing.T) {
	db, err := OpenTemporary("", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	target := db.Target(labels.FromStrings("job", "zeta"))
	stays := labels.FromStrings("__name__", "stays", "job", "zeta")
	var first *exposed
	for i := range 40 {
		var body strings.Builder
		for k := range 100 {
			fmt.Fprintf(&body, "m{name=\"%d-%d\"} 1\n", i, k)
		}
		_, err := target.AppendText("", []byte("stays 1\n"+body.String()), time.Unix(int64(15*i), 0), 0)
		require.NoError(t, err)
		if first == nil {
			first = target.series.labelled(stays)
		}
		require.Same(t, first, target.series.labelled(stays))
		require.LessOrEqual(t, len(target.series.byText), 2*101+spareTexts)
		require.LessOrEqual(t, len(target.series.byHash), 3*101+spareTexts, "as many, and a page that came before they were counted")
		require.Len(t, target.live, 101)
	}
	// Nor are those of pages that break off.
	for i := range 40 {
		var body strings.Builder
		for k := range 100 {
			fmt.Fprintf(&body, "broken{name=\"%d-%d\"} 1\n", i, k)
		}
		_, err := target.AppendText("", []byte(body.String()+"{{\n"), time.Unix(int64(1000+15*i), 0), 0)
		require.ErrorContains(t, err, "reading the exposition")
		require.LessOrEqual(t, len(target.series.byText), spareTexts)
	}
}
