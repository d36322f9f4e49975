package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody is the longest body that Get reads.
const maxBody = 64 << 20

// Get asks for a URL and returns the body of a 200.
func Get(ctx context.Context, url string) (string, error) {
	body, _, err := GetTimed(ctx, url)
	return body, err
}

// Shows fails unless each path of a server shows all of its texts.
func Shows(ctx context.Context, server string, pages map[string][]string) error {
	for path, want := range pages {
		page, err := Get(ctx, server+path)
		if err != nil {
			return err
		}
		for _, text := range want {
			if !strings.Contains(page, text) {
				return fmt.Errorf("%s%s does not show %q", server, path, text)
			}
		}
	}
	return nil
}

// GetTimed is Get, and tells how long the answer took.
func GetTimed(ctx context.Context, url string) (body string, took time.Duration, err error) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", 0, fmt.Errorf("asking %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("asking %s: %w", url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return "", 0, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("%s answered %s: %.200s", url, resp.Status, b)
	}
	return string(b), time.Since(began), nil
}
