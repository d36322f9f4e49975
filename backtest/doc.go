// Package backtest replays rule sets over the past: what would they have decided
// at every tick of a period, for every scope that was there then?
//
// A period is read in pieces by range queries (reader), folded by package
// evaluator exactly as a live service folds it, and added up into a Report. How
// large the pieces are changes nothing in the report, so they follow what the
// server allows. Two rule sets are replayed side by side and compared at the
// ticks of the first.
//
// What a backtest cannot know: the workers that were observed are those of the
// past, whatever the rules would have done about them; there are no actions, so
// no cooldowns and no booting workers; and what arrived late is there already.
package backtest
