package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/doctor"
	"github.com/zeta-scaler/zeta-scaler/document"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Walk the chain from Zeta to the actuator and say what is broken",
		Long: `Walk the chain from Zeta to the actuator, link by link: configuration, Zeta's
REST, Prometheus and its clock, the exporter's series and their age, rule sets,
the running service, its state, Alertmanager, the route back to the webhook, the
token, and whether every actuator can read what it would scale. Each link has a
✓, or a ✗ with what to do next. It reads and changes nothing; the exit code is 1
if something is broken. Run it where the service runs, as its user.`,
		Example: "  zeta-scaler doctor --config.file zeta-scaler.yml\n  zeta-scaler doctor --token-file token --callback-token-file /etc/alertmanager/zeta-scaler-token",
		Args:    noArgs("config.file"),
	}
	flags := addConfigFlags(cmd, config.DefaultListenAddress)
	flags.addServeFlags()
	out := addOutputFlag(cmd)
	server := cmd.Flags().String("server", "", "URL of the running service (default: this machine, at the port that the configuration names)")
	tokenFile := cmd.Flags().String("token-file", "", "file with a bearer token for the service")
	callbackFile := cmd.Flags().String("callback-token-file", "", "file with the token that Alertmanager sends to the webhook")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return noneEmpty(cmd.Flags()) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o := doctor.Options{Service: *server}
		var err error
		for file, token := range map[string]*string{*tokenFile: &o.Token, *callbackFile: &o.CallbackToken} {
			if file == "" {
				continue
			}
			if *token, err = readToken(file); err != nil {
				return fmt.Errorf("reading the token: %w", err)
			}
		}
		return examine(cmd, flags, o, out)
	}
	return cmd
}

// examine walks the chain and prints the findings: at once for people, together
// as JSON.
func examine(cmd *cobra.Command, flags *configFlags, o doctor.Options, out *output) error {
	var findings []doctor.Finding
	var printing error
	tell := func(f doctor.Finding) {
		findings = append(findings, f)
		if out.format == outputText && printing == nil {
			f.Subject, f.Found, f.Next = plain(f.Subject), plain(f.Found), plain(f.Next)
			printing = doctor.Print(cmd.OutOrStdout(), f)
		}
	}
	broken := 0
	load := flags.options("")
	load.Local = true
	cfg, err := config.Load(load)
	if err != nil {
		broken = tellConfiguration(err, tell)
	} else {
		from := load.File
		if from == "" {
			from = "defaults, flags and environment: there is no " + defaultConfigFile + " here"
		}
		tell(doctor.Finding{Link: linkConfiguration, Verdict: doctor.Holds, Found: from + "; " + contents(cfg)})
		o.Config = cfg
		if o.Service == "" {
			o.Service = here(cfg.Web.ListenAddress)
		}
		broken = doctor.Walk(cmd.Context(), o, tell)
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted: the rest of the chain was not examined: %w", err)
	}
	printing = out.write(cmd.OutOrStdout(), findings, func(io.Writer) error { return printing }) // which is told by now
	if printing == nil && broken > 0 {
		return errReported
	}
	return printing
}

const linkConfiguration = "configuration"

// tellConfiguration tells every problem of a configuration that cannot be read:
// without one, nothing else can be examined.
func tellConfiguration(err error, tell func(doctor.Finding)) int {
	list, ok := errors.AsType[*document.ErrorList](err)
	if !ok {
		tell(doctor.Finding{Link: linkConfiguration, Verdict: doctor.Broken, Found: err.Error(), Next: "name the file: --config.file"})
		return 1
	}
	for _, d := range list.Diagnostics {
		tell(doctor.Finding{Link: linkConfiguration, Subject: d.Pos.String(), Verdict: doctor.Broken, Found: d.Message, Next: cmp.Or(d.Hint, "mend it there: docs/configuration.md")})
	}
	return len(list.Diagnostics)
}

// here is the service on this machine; a TLS server has to be named.
func here(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return ""
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
