package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"

	"github.com/zeta-scaler/zeta-scaler/backoff"
)

// Folder is the TSDB folder of a Prometheus, only read: nothing in it is
// changed, locked or repaired, and a Prometheus may write to it at the same
// time. What comes after OpenFolder is not seen.
type Folder struct {
	// blocks are in the order of their time; they may overlap.
	blocks []*tsdb.Block
	// head has what is in no block yet, nil if nobody asks for that.
	head *tsdb.Head
	// scratch is where the head would keep files.
	scratch string
}

// A Prometheus that writes deletes blocks and segments, and the end of its log
// may be half written, so opening is tried again.
const (
	openTries = 5
	openWait  = 200 * time.Millisecond
)

// OpenFolder opens a folder for samples up to an instant; the log of what is in
// no block yet is read only if it may have some of them. Samples that came out
// of order are seen once they are in a block.
func OpenFolder(ctx context.Context, dir string, until time.Time, logger *slog.Logger) (*Folder, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := looksLikeTSDB(dir); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		f, err := openFolder(dir, until, logger, try == openTries)
		if err == nil || try == openTries {
			return f, err
		}
		if err := backoff.Wait(ctx, openWait); err != nil {
			return nil, err
		}
	}
}

// looksLikeTSDB tells a TSDB from any other folder, which would have no samples.
func looksLikeTSDB(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("opening a tsdb: %w", err)
	}
	blocks, err := blockFolders(dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(dir, "wal")); len(blocks) == 0 && (err != nil || !info.IsDir()) {
		return fmt.Errorf("%s has neither blocks nor a wal: expected the folder that Prometheus has as --storage.tsdb.path", dir)
	}
	return nil
}

// blockFolders are the folders of whole blocks; one that is being written or
// deleted has another name.
func blockFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing the blocks of a tsdb: %w", err)
	}
	var out []string
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(folder, "meta.json")); err == nil && filepath.Ext(folder) == "" {
			out = append(out, folder)
		}
	}
	return out, nil
}

func openFolder(dir string, until time.Time, logger *slog.Logger, last bool) (f *Folder, err error) {
	f = &Folder{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	folders, err := blockFolders(dir)
	if err != nil {
		return f, err
	}
	newest := int64(math.MinInt64)
	for _, folder := range folders {
		b, err := tsdb.OpenBlock(logger, folder, nil, tsdb.DefaultPostingsDecoderFactory)
		if err != nil {
			return f, fmt.Errorf("opening block %s: %w", folder, err)
		}
		f.blocks = append(f.blocks, b)
		newest = max(newest, b.MaxTime())
	}
	slices.SortFunc(f.blocks, func(a, b *tsdb.Block) int { return int(a.MinTime() - b.MinTime()) })
	if newest > until.UnixMilli() {
		return f, nil
	}
	return f, f.openHead(dir, newest, logger, last)
}

// openHead reads the log. A broken end is passed over at the last try: it is that
// of a Prometheus that crashed, and all before it counts.
func (f *Folder) openHead(dir string, newest int64, logger *slog.Logger, last bool) (err error) {
	wal := filepath.Join(dir, "wal")
	if _, err := os.Stat(wal); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	log, err := wlog.Open(logger, wal)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", dir, err)
	}
	if f.scratch, err = os.MkdirTemp("", "zeta-scaler-head-*"); err != nil {
		return fmt.Errorf("creating a folder for the head of %s: %w", dir, err)
	}
	opts := tsdb.DefaultHeadOptions()
	opts.ChunkDirRoot = f.scratch
	if f.head, err = tsdb.NewHead(nil, logger, log, nil, opts, tsdb.NewHeadStats()); err != nil {
		return fmt.Errorf("opening the head of %s: %w", dir, err)
	}
	err = f.head.Init(newest)
	if broken := (*wlog.CorruptionErr)(nil); last && errors.As(err, &broken) {
		logger.Warn("the log of the tsdb breaks off, what lies behind is not seen", "dir", dir, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the log of %s: %w", dir, err)
	}
	return nil
}

// Span is the time of the oldest and of the newest sample; ok is false without
// any.
func (f *Folder) Span() (oldest, newest time.Time, ok bool) {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, b := range f.blocks {
		low, high = min(low, b.MinTime()), max(high, b.MaxTime()-1)
	}
	if f.head != nil && f.head.MinTime() <= f.head.MaxTime() {
		low, high = min(low, f.head.MinTime()), max(high, f.head.MaxTime())
	}
	if low > high {
		return time.Time{}, time.Time{}, false
	}
	return time.UnixMilli(low).UTC(), time.UnixMilli(high).UTC(), true
}

// Querier makes a Folder a storage.Queryable; times are Unix milliseconds.
func (f *Folder) Querier(mint, maxt int64) (_ storage.Querier, err error) {
	var parts []storage.Querier
	defer func() {
		if err != nil {
			for _, q := range parts {
				err = errors.Join(err, q.Close())
			}
		}
	}()
	for _, b := range f.blocks {
		if !b.OverlapsClosedInterval(mint, maxt) {
			continue
		}
		q, err := tsdb.NewBlockQuerier(b, mint, maxt)
		if err != nil {
			return nil, err
		}
		parts = append(parts, q)
	}
	if f.head != nil && maxt >= f.head.MinTime() {
		q, err := tsdb.NewBlockQuerier(tsdb.NewRangeHead(f.head, mint, maxt), mint, maxt)
		if err != nil {
			return nil, err
		}
		parts = append(parts, q)
	}
	return storage.NewMergeQuerier(parts, nil, storage.ChainedSeriesMerge), nil
}

// Close closes what was opened; queries must have ended.
func (f *Folder) Close() error {
	var errs []error
	for _, b := range f.blocks {
		errs = append(errs, b.Close())
	}
	if f.head != nil {
		errs = append(errs, f.head.Close())
	}
	if f.scratch != "" {
		errs = append(errs, os.RemoveAll(f.scratch))
	}
	return errors.Join(errs...)
}
