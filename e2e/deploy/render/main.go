// Command render prints a kustomization, for tests of other modules.
package main

import (
	"fmt"
	"os"

	"github.com/zeta-scaler/zeta-scaler/e2e/deploy"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render FOLDER")
		os.Exit(2)
	}
	text, err := deploy.Render(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text) // a closed pipe has nobody to tell
}
