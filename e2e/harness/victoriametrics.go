package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
)

// StartVictoriaMetrics builds and starts a single node with further flags, fills
// it with samples in the text format, and returns its URL once they can be asked
// for. The name tells several apart.
func (l *Lab) StartVictoriaMetrics(t testing.TB, name string, samples []byte, flags ...string) string {
	t.Helper()
	path := l.Build(t, VictoriaMetrics)
	address := FreeAddress(t)
	url := URL(address)
	p := l.Start(t, Command{Name: name, Path: path, Args: append([]string{
		"-storageDataPath=" + filepath.Join(l.Dir, name+"-data"), "-httpListenAddr=" + address,
		"-retentionPeriod=10y", "-loggerLevel=WARN",
	}, flags...)})
	Wait(t, promReadyWithin, name+" is ready", func(ctx context.Context) error {
		if err := p.Err(); err != nil {
			return err
		}
		_, err := Get(ctx, url+"/health")
		return err
	})
	if err := postText(t.Context(), url+"/api/v1/import/prometheus", samples); err != nil {
		t.Fatalf("filling %s: %v", name, err)
	}
	if _, err := Get(t.Context(), url+"/internal/force_flush"); err != nil {
		t.Fatalf("flushing %s: %v", name, err)
	}
	return url
}

func postText(ctx context.Context, url string, text []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s %w", resp.Status, body, err)
	}
	return nil
}
