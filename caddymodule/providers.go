package caddymodule

import (
	"github.com/spf13/cobra"

	"github.com/n8n-gate/n8n-gate/provider"
)

// providersCommand prints what the presets know. It needs no running Caddy.
func providersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "providers [NAME]",
		Short: "Prints what `provider NAME` knows of a sender, or of all",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.SilenceUsage = true
			if len(args) == 0 {
				return provider.DocumentAll(cmd.OutOrStdout())
			}
			preset, err := provider.Lookup(args[0])
			if err != nil {
				return err
			}
			return provider.Document(cmd.OutOrStdout(), preset)
		},
	}
}
