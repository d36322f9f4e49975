package evaluator

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
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

// whatRowLacks names what nobody can do without in a row of the table.
func whatRowLacks(r *tableRow, last bool) []string {
	var lacks []string
	check := func(name string, there bool) {
		if !there {
			lacks = append(lacks, name)
		}
	}
	check("id", r.id != "")
	check("conditions", len(r.when) > 0 != last)
	for _, c := range r.when {
		check("words", c.words != "")
		check("predicate", c.holds != nil)
		check("explanation", c.otherwise != nil && explained(&c))
	}
	check("action", slices.Contains(scaling.Actions(), r.action))
	check("target", r.target.words != "" && r.target.workers != nil)
	check("blockers", r.blockers != nil)
	check("reason", r.reason != nil)
	return lacks
}

// explained reports whether a condition says what was there instead, with no
// fact and with all of them.
func explained(c *condition) bool {
	for _, s := range []situation{{}, {facts: ^scaling.Facts(0), current: 1}} {
		if c.holds != nil && !c.holds(&s) && c.otherwise(&s) == "" {
			return false
		}
	}
	return true
}

// TestTableIsWhole: every id has its row, at its place, and no row lacks
// anything. Conditions, explanation, blockers, reason, document and API are
// made from the rows, so nothing else can be forgotten.
func TestTableIsWhole(t *testing.T) {
	var ids []scaling.RowID
	for i := range table {
		require.Empty(t, whatRowLacks(&table[i], i == len(table)-1), "row %s", table[i].id)
		ids = append(ids, table[i].id)
	}
	require.Equal(t, declaredRowIDs(t), ids, "the constants of scaling/row.go against evaluator/table.go")
}

// declaredRowIDs are the constants of type scaling.RowID in their order.
func declaredRowIDs(t *testing.T) []scaling.RowID {
	file, err := parser.ParseFile(token.NewFileSet(), "../scaling/row.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var ids []scaling.RowID
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if typ, named := specType(spec); ok && named && typ == "RowID" {
			for _, v := range spec.Values {
				id, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				require.NoError(t, err)
				ids = append(ids, scaling.RowID(id))
			}
		}
		return true
	})
	return ids
}

func specType(spec *ast.ValueSpec) (name string, ok bool) {
	if spec == nil {
		return "", false
	}
	ident, ok := spec.Type.(*ast.Ident)
	if !ok {
		return "", false
	}
	return ident.Name, true
}

// TestRowThatLacksSomething: the check above sees what is missing in a row that
// somebody adds.
func TestRowThatLacksSomething(t *testing.T) {
	whole := func() tableRow {
		return tableRow{
			id: "toy", when: []condition{idle}, action: scaling.NoAction, target: toCurrent,
			blockers: nobody, reason: says("a toy"),
		}
	}
	r := whole()
	require.Empty(t, whatRowLacks(&r, false))
	for lack, spoil := range map[string]func(*tableRow){
		"id":          func(r *tableRow) { r.id = "" },
		"conditions":  func(r *tableRow) { r.when = nil },
		"words":       func(r *tableRow) { r.when = []condition{{"", idle.holds, idle.otherwise}} },
		"predicate":   func(r *tableRow) { r.when = []condition{{"toy", nil, idle.otherwise}} },
		"explanation": func(r *tableRow) { r.when = []condition{{"toy", idle.holds, nil}} },
		"action":      func(r *tableRow) { r.action = "" },
		"target":      func(r *tableRow) { r.target = target{} },
		"blockers":    func(r *tableRow) { r.blockers = nil },
		"reason":      func(r *tableRow) { r.reason = nil },
	} {
		r := whole()
		spoil(&r)
		require.Equal(t, []string{lack}, whatRowLacks(&r, false))
	}
}
