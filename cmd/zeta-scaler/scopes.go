package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// completionTimeout bounds what a shell waits for the service.
const completionTimeout = 2 * time.Second

// completeScopes offers the scopes that a running service knows, none if it does
// not answer: as people read them if that begins with what is typed, else their
// keys.
func (f *clientFlags) completeScopes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	client, err := f.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	status, err := client.Status(ctx, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	keys := make([]string, len(status.Scopes))
	for i := range status.Scopes {
		keys[i] = status.Scopes[i].Scope
		if shown := scaling.ShownKey(keys[i]); strings.HasPrefix(shown, typed) && plain(shown) == shown {
			keys[i] = shown
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// addScopeFlag adds --scope to a client.
func (f *clientFlags) addScopeFlag(cmd *cobra.Command) *string {
	scope := cmd.Flags().String("scope", "", "only this scope")
	_ = cmd.RegisterFlagCompletionFunc("scope", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return f.completeScopes(cmd, nil, typed)
	})
	return scope
}

// shownKeys are keys of scopes as people read them.
func shownKeys(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = scaling.ShownKey(key)
	}
	return out
}

// spelledKeys are the keys of scopes that people name as they read them.
func spelledKeys(shown []string) []string {
	var out []string
	for _, name := range shown {
		out = append(out, scaling.SpelledKey(name))
	}
	return out
}

// known says that there is no such scope, where nothing was found of it: what is
// past outlives its scope, and a slip is no empty past.
func known(ctx context.Context, client *api.Client, scope string) error {
	if scope == "" {
		return nil
	}
	_, err := client.Status(ctx, scope)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == http.StatusNotFound {
		return err
	}
	return nil
}

// fixed completes one of a few words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
