package evaluator

import (
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// troubles are what a runner logs once per change of state.
type troubles struct {
	store, restore *trouble.State
	// controls is that something which was set at run time cannot be read.
	controls *trouble.State
	// actions is that what is known of actions or drains cannot be read.
	actions *trouble.State
	// crowd is that there are more scopes than are evaluated.
	crowd *trouble.State
	// silence is that the source gives no answer, for all queries in one line;
	// queries are the other failures, one for each query.
	silence *trouble.State
	queries []*trouble.State
}

func newTroubles(logger *slog.Logger, g *group) troubles {
	logger = logger.With("rule_set", g.name)
	t := troubles{
		store:   trouble.New(logger, slog.LevelError, "state store failed, nothing is published until it works again", "state store works again"),
		restore: trouble.New(logger, slog.LevelWarn, "windows could not be restored: what failed is unknown, decisions are provisional if everything did", "windows are restored"),
		controls: trouble.New(logger, slog.LevelError, "what was set at run time cannot be read, nothing is carried out for these scopes (an empty one is the whole service): pause or resume them, which writes it anew",
			"what was set at run time can be read again"),
		actions: trouble.New(logger, slog.LevelError, "what is known of a scope's actions or drains cannot be read, nothing is carried out for it until that record is removed from the state store (docs/state.md)",
			"what is known of actions and drains can be read again"),
		crowd:   trouble.New(logger, slog.LevelError, "too many scopes: those beyond the limit are left out; does workers.current leak a label?", ""),
		silence: trouble.New(logger, slog.LevelWarn, "the source gives no answer, signals are unknown", "the source answers again"),
	}
	for _, q := range g.queries {
		t.queries = append(t.queries, trouble.New(logger.With("expr", q.Expr), slog.LevelWarn, "query failed, its signals are unknown", "query works again"))
	}
	return t
}

// noteQueries takes the answers of one tick; silent is that there are none.
func (t *troubles) noteQueries(cols []column, silent bool) {
	if silent {
		t.silence.Note(cols[0].err, "expressions", len(cols))
		return
	}
	t.silence.Note(nil)
	for i := range cols {
		kind := ""
		if cols[i].failed {
			kind = cols[i].failure.String()
		}
		t.queries[i].Set(kind, "reason", kind, "err", cols[i].err)
	}
}
