//go:build unix

package zeta

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Counted is a job whose every row can be counted: its source has numbered
// splits of one row each, and its sink writes a line of a file per row. It needs
// Parallelism + 2 slots, without a file one less.
type Counted struct {
	ID string
	// Name may be any text.
	Name string
	// Table is unique and one word; the splits bear it in the logs of the nodes that
	// read them.
	Table       string
	Batch       bool
	Parallelism int
	// Rows is how many there are for each degree of parallelism, read one after
	// another, Every so often, but no more than about one a second.
	Rows  int
	Every time.Duration
	// NoFile has the rows go nowhere.
	NoFile bool
	// Checkpoints is the time between two, 2 s if it is not set. Rows are written
	// with the next one.
	Checkpoints time.Duration
}

// Config is the text that it is submitted with.
func (c *Cluster) Config(j Counted) []byte {
	mode := "STREAMING"
	if j.Batch {
		mode = "BATCH"
	}
	sink := map[string]any{
		"plugin_name": "LocalFile", "source_table_name": j.Table, "path": c.out(j), "tmp_path": c.out(j) + ".part",
		"file_format_type": "text", "field_delimiter": ",", "is_enable_transaction": true,
	}
	if j.NoFile {
		sink = map[string]any{"plugin_name": "Console", "source_table_name": j.Table, "log.print.data": false}
	}
	b, err := json.Marshal(map[string]any{
		"env": map[string]any{"job.mode": mode, "parallelism": j.Parallelism, "checkpoint.interval": cmp.Or(j.Checkpoints, 2*time.Second).Milliseconds()},
		"source": []any{map[string]any{
			"plugin_name": "FakeSource", "result_table_name": j.Table, "parallelism": j.Parallelism,
			"row.num": j.Rows, "split.num": j.Rows, "split.read-interval": j.Every.Milliseconds(),
			"schema": map[string]any{"fields": map[string]string{"n": "int"}},
		}},
		"transform": []any{},
		"sink":      []any{sink},
	})
	if err != nil {
		panic(err) // there is nothing in it that JSON cannot say
	}
	return b
}

func (c *Cluster) out(j Counted) string { return filepath.Join(c.dir, "out", j.Table) }

// Checkpoints is the folder of a job's checkpoints.
func (c *Cluster) Checkpoints(j Counted) string { return filepath.Join(c.dir, "checkpoints", j.ID) }

// SubmitCounted submits a job under its own id.
func (c *Cluster) SubmitCounted(ctx context.Context, j Counted) error {
	query := url.Values{"jobId": {j.ID}, "jobName": {j.Name}}
	id, err := c.post(ctx, "/hazelcast/rest/maps/submit-job?"+strings.ReplaceAll(query.Encode(), "+", "%20"), json.RawMessage(c.Config(j)))
	if err == nil && id != j.ID {
		err = fmt.Errorf("submitting job %s: zeta answered for %s", j.ID, id)
	}
	return err
}

// Read is how often each split of a job was read, by its number.
func (c *Cluster) Read(j Counted) (map[int]int, error) {
	line := regexp.MustCompile(`generated in split\(` + regexp.QuoteMeta(j.Table) + `_(\d+)\)`)
	read := map[int]int{}
	c.mu.Lock()
	logs := slices.Collect(maps.Keys(c.logs))
	c.mu.Unlock()
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			return nil, fmt.Errorf("counting splits: %w", err)
		}
		for _, m := range line.FindAllSubmatch(b, -1) {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				return nil, fmt.Errorf("counting splits: %w", err)
			}
			read[n]++
		}
	}
	return read, nil
}

// Written is how many rows the job's sink has committed.
func (c *Cluster) Written(j Counted) (int, error) {
	rows := 0
	err := filepath.WalkDir(c.out(j), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(path)
		rows += strings.Count(strings.TrimSpace(string(b)), "\n") + 1
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return rows, err
}

// Whole is nil once every row of a job was read once, no more and no less, and
// written as often.
func (c *Cluster) Whole(j Counted) error {
	read, err := c.Read(j)
	if err != nil {
		return err
	}
	for n, times := range read {
		if times > 1 {
			return fmt.Errorf("split %d of %s was read %d times", n, j.Table, times)
		}
	}
	if want := j.Rows * max(1, j.Parallelism); len(read) != want {
		return fmt.Errorf("%d of %d splits of %s were read", len(read), want, j.Table)
	}
	if j.NoFile {
		return nil
	}
	written, err := c.Written(j)
	if err == nil && written != len(read) {
		err = fmt.Errorf("%d of %d rows of %s are written", written, len(read), j.Table)
	}
	return err
}
