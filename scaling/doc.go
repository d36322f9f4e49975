// Package scaling holds the words of the domain: scopes, bounds, conditions,
// rows of the decision table, recommendations and the records that are kept
// about them. It imports nothing of ours, so that every other package can
// speak the same language.
package scaling
