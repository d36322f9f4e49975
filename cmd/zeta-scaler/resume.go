package main

import (
	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
)

func newResume() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [SCOPE]",
		Short: "Resume a scope, or the whole service",
		Long: `End the pause of a scope, or that of the whole service without SCOPE; a scope
that was paused by itself stays so. A resume also accepts the worker count that
another writer left on the platform, whether or not there was a pause. The
service needs a credential for this: see --token-file.`,
		Example: "  zeta-scaler resume prod\n  zeta-scaler resume --token-file token",
		Args:    cobra.MaximumNArgs(1),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	cmd.ValidArgsFunction = flags.completeScopes
	reason := cmd.Flags().String("reason", "", "why, for those who wonder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		scope, err := scopeArgument(args)
		if err != nil {
			return err
		}
		reply, err := client.Resume(cmd.Context(), api.ResumeRequest{Scope: scope, Reason: *reason})
		if err != nil {
			return err
		}
		return printControl(cmd, out, &reply)
	}
	return cmd
}
