package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxEntries is as many as the API gives at once.
const maxEntries = 1000

// pastQuery is what is asked for of something that has happened.
type pastQuery[W ~string] struct {
	client *api.Client
	scope  string
	word   W
	limit  int
}

// addPastFlags adds what narrows down a list of things that have happened:
// --scope, one of a few words, and --limit; the function checks and returns them.
func addPastFlags[W ~string](cmd *cobra.Command, things, flag string, words []W) func() (pastQuery[W], error) {
	flags := addClientFlags(cmd)
	scope := flags.addScopeFlag(cmd)
	names := scaling.Names(words)
	word := cmd.Flags().String(flag, "", "only this "+flag+": "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc(flag, fixed(names...))
	limited := addLimitFlag(cmd, things)
	return func() (q pastQuery[W], err error) {
		if q.client, err = flags.client(); err != nil {
			return q, err
		}
		if *word != "" && !slices.Contains(names, *word) {
			return q, usagef("--%s is %q, expected one of %s", flag, *word, strings.Join(names, ", "))
		}
		q.scope, q.word = *scope, W(*word)
		q.limit, err = limited()
		return q, err
	}
}

// addLimitFlag adds --limit, how many of something are asked for; the function
// checks and returns it.
func addLimitFlag(cmd *cobra.Command, things string) func() (int, error) {
	limit := cmd.Flags().Int("limit", 50, fmt.Sprintf("at most so many %s, 1 to %d", things, maxEntries))
	return func() (int, error) {
		if *limit < 1 || *limit > maxEntries {
			return 0, usagef("--limit is %d, expected 1 to %d", *limit, maxEntries)
		}
		return *limit, nil
	}
}
