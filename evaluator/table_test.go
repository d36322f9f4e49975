package evaluator

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "rewrite documents that are made from code")

const tableDocument = "../docs/decision-table.md"

// TestDecisionTableDocument keeps the document true; `go generate` rewrites it.
func TestDecisionTableDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The decision table\n\n<!-- Made from evaluator/table.go by go generate. -->\n\n" +
		"Rows are tried from top to bottom for every scope and tick; the first that matches decides. " +
		"`zeta-scaler explain --table` prints the same, `GET /autoscaler/decision-table` serves it and says which row decided for each scope.\n\n" +
		"| id | when | action | target |\n|---|---|---|---|\n")
	for _, r := range Table() {
		b.WriteString("| `" + string(r.ID) + "` | " + r.When + " | " + string(r.Action) + " | " + r.Target + " |\n")
	}
	b.WriteString("\nAfter the row: a SCALE_OUT that cannot add anything because current is max becomes NO_ACTION with the blocking " +
		"condition `max_workers` and keeps its row and triggers. Targets of SCALE_OUT and SCALE_IN_CANDIDATE are brought into [min, max]. " +
		"While the metrics are not valid, every SCALE_OUT except `below_min` targets current + max(booting, 1).\n")
	if *update {
		require.NoError(t, os.WriteFile(tableDocument, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(tableDocument)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run go generate ./evaluator")
}

func TestTableIsWhole(t *testing.T) {
	seen := map[scaling.RowID]bool{}
	for _, r := range Table() {
		require.False(t, seen[r.ID], "row %s is there twice", r.ID)
		seen[r.ID] = true
		require.NotEmpty(t, r.When)
		require.NotEmpty(t, r.Target)
		require.Contains(t, scaling.Actions(), r.Action)
	}
	require.True(t, table[len(table)-1].match(&facts{}), "the last row matches whatever comes")
}
