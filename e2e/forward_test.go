//go:build e2e && unix

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// forwardTo is the first argument with which this test binary is the command
// of an exec actuator: it hands its standard input to a URL, the second one.
const forwardTo = "forward-to"

// forward is that command. Its exit code is 0 if the receiver agrees, and what
// the receiver says is printed.
func forward(url string) int {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client := http.Client{Timeout: 2 * time.Minute}
	resp, err := client.Post(url, "application/json", bytes.NewReader(body)) //nolint:noctx // the client has a time-out
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stdout, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}
