package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/jobs"
)

func newSubmit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit a job to Zeta, and keep its config for a drain",
		Long: `Submit a job to Zeta through the service, which keeps the config, encrypted: a
streaming job can then be moved when its worker is drained, since Zeta does not
give back what a job was submitted with. Nothing is kept of what Zeta refuses.
FILE is the config, - for the standard input. A secret in it may be written as
${file:NAME}, a file in the service's jobs.secrets_folder.
The service needs a credential for this: see --token-file.`,
		Example: "  zeta-scaler submit orders.json --token-file token\n  zeta-scaler submit orders.conf --name orders --cluster prod",
		Args:    cobra.ExactArgs(1),
	}
	out := addOutputFlag(cmd)
	flags := addClientFlags(cmd)
	name := cmd.Flags().String("name", "", "the job's name; left out: that of FILE without its ending")
	cluster := cmd.Flags().String("cluster", "", "the cluster by its name in the service's configuration; left out: the only one")
	id := cmd.Flags().String("id", "", "the job's id, a number that no other job has; left out: one is drawn")
	format := cmd.Flags().String("format", "", "json, hocon or sql; left out: by the ending of FILE (.json, .conf, .hocon, .sql)")
	_ = cmd.RegisterFlagCompletionFunc("format", fixed("json", "hocon", "sql"))
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "conf", "hocon", "sql"}, cobra.ShellCompDirectiveFilterFileExt
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := flags.client()
		if err != nil {
			return err
		}
		req, err := jobRequest(cmd, args[0], *name, *format)
		if err != nil {
			return err
		}
		if *cluster != "" {
			req.Cluster = api.Some(*cluster)
		}
		drawn := cmp.Or(*id, jobs.NewID())
		req.ID = api.Some(drawn)
		reply, err := client.Submit(cmd.Context(), req)
		if _, answered := errors.AsType[*api.Error](err); err != nil && !answered {
			return fmt.Errorf("%w\nIf the service got it, the job may run. The same command with --id %s finds out, and starts it once", err, drawn)
		}
		if err != nil {
			return err
		}
		return out.print(cmd.OutOrStdout(), reply, func(screen) string { return submittedText(reply) })
	}
	return cmd
}

// jobRequest reads the config, and takes from the file's name what is not said.
func jobRequest(cmd *cobra.Command, file, name, format string) (api.JobRequest, error) {
	ending := filepath.Ext(file)
	if format == "" {
		known, ok := jobs.FormatOf(file)
		if !ok {
			return api.JobRequest{}, usagef("FILE is %q: its ending does not tell the format, give --format json, hocon or sql", file)
		}
		format = known
	}
	if name == "" && file == "-" {
		return api.JobRequest{}, usagef("--name is missing: the standard input has none")
	}
	text, err := readConfig(cmd.InOrStdin(), file)
	if err != nil {
		return api.JobRequest{}, fmt.Errorf("reading the config: %w", err)
	}
	return api.JobRequest{
		Name: cmp.Or(name, strings.TrimSuffix(filepath.Base(file), ending)), Format: format, Config: text,
	}, nil
}

func readConfig(stdin io.Reader, file string) (string, error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, jobs.MaxConfig+1))
	if err == nil && len(b) > jobs.MaxConfig {
		err = fmt.Errorf("it is longer than %d KiB", jobs.MaxConfig>>10)
	}
	return string(b), err
}

func submittedText(r api.SubmittedJob) string {
	did, kept := "submitted", "its config is kept"
	if r.Again {
		did = "was submitted before"
	}
	if !r.Kept {
		kept = "a batch job, whose config is not kept: it is waited for and never moved"
	}
	return fmt.Sprintf("Job %s %s to cluster %s under id %s; %s.\n", plain(r.Name), did, plain(r.Cluster), plain(r.Id), kept)
}
