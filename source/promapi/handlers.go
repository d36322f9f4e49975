package promapi

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// maxAnnotations bounds warnings and infos of one reply, each.
const maxAnnotations = 10

func (s *server) query(ctx context.Context, r *http.Request) (reply, error) {
	at, err := timeParam(r, "time", s.Now())
	if err != nil {
		return reply{}, err
	}
	return s.evaluate(ctx, r.FormValue("query"), at, at, 0)
}

func (s *server) queryRange(ctx context.Context, r *http.Request) (reply, error) {
	start, end, step, err := rangeParams(r)
	if err != nil {
		return reply{}, err
	}
	return s.evaluate(ctx, r.FormValue("query"), start, end, step)
}

func (s *server) evaluate(ctx context.Context, expr string, start, end time.Time, step time.Duration) (reply, error) {
	q, err := s.Engine.Query(ctx, expr, start, end, step)
	if err != nil {
		return reply{}, badData("\"query\": %v", err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return reply{}, res.Err
	}
	out := reply{data: result{string(res.Value.Type()), copied(res.Value)}}
	out.warnings, out.infos = res.Warnings.AsStrings(expr, maxAnnotations, maxAnnotations)
	return out, nil
}

// copied is a value that outlives its query, whose points the engine uses again,
// and that JSON shows as a list even when it is empty.
func copied(value parser.Value) any {
	switch v := value.(type) {
	case promql.Matrix:
		out := make(promql.Matrix, len(v))
		for i, s := range v {
			s.Floats, s.Histograms = slices.Clone(s.Floats), slices.Clone(s.Histograms)
			out[i] = s
		}
		return out
	case promql.Vector:
		return append(promql.Vector{}, v...)
	}
	return value
}

// period is what series and labels are looked for in: all that is kept, if
// nothing else is asked for.
func (s *server) period(r *http.Request) (mint, maxt int64, err error) {
	start, err := timeParam(r, "start", time.UnixMilli(math.MinInt64/2))
	if err != nil {
		return 0, 0, err
	}
	end, err := timeParam(r, "end", time.UnixMilli(math.MaxInt64/2))
	if err != nil {
		return 0, 0, err
	}
	return start.UnixMilli(), end.UnixMilli(), nil
}

// reading is one look at the series.
func (s *server) reading(r *http.Request, look func(q storage.Querier, sets [][]*labels.Matcher, h storage.SelectHints) (any, annotations.Annotations, error)) (reply, error) {
	sets, err := matchers(r)
	if err != nil {
		return reply{}, err
	}
	limit, err := limitParam(r)
	if err != nil {
		return reply{}, err
	}
	mint, maxt, err := s.period(r)
	if err != nil {
		return reply{}, err
	}
	q, err := s.Engine.Querier(mint, maxt)
	if err != nil {
		return reply{}, promql.ErrStorage{Err: err}
	}
	defer func() { _ = q.Close() }()
	data, notes, err := look(q, sets, storage.SelectHints{Start: mint, End: maxt, Func: "series", Limit: limit + 1})
	if err != nil {
		return reply{}, err
	}
	out := reply{data: data}
	out.warnings, out.infos = notes.AsStrings("", maxAnnotations, maxAnnotations)
	return out, nil
}

// errCutOff is a warning: a list is longer than was asked for.
var errCutOff = errors.New("results truncated due to limit")

func (s *server) series(ctx context.Context, r *http.Request) (reply, error) {
	if len(r.Form["match[]"]) == 0 {
		return reply{}, &apiError{http.StatusBadRequest, "bad_data", "no match[] parameter provided"}
	}
	return s.reading(r, func(q storage.Querier, sets [][]*labels.Matcher, h storage.SelectHints) (any, annotations.Annotations, error) {
		var notes annotations.Annotations
		found := map[string]labels.Labels{}
		for _, ms := range sets {
			set := q.Select(ctx, false, &h, ms...)
			for set.Next() && len(found) < h.Limit {
				l := set.At().Labels()
				found[l.String()] = l
			}
			if err := set.Err(); err != nil {
				return nil, nil, promql.ErrStorage{Err: err}
			}
			notes = notes.Merge(set.Warnings())
		}
		out := []labels.Labels{}
		for _, key := range slices.Sorted(maps.Keys(found)) {
			if len(out) == h.Limit-1 {
				notes = notes.Add(errCutOff)
				break
			}
			out = append(out, found[key])
		}
		return out, notes, nil
	})
}

func (s *server) labels(ctx context.Context, r *http.Request) (reply, error) {
	return s.names(r, func(q storage.Querier, h *storage.LabelHints, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, h, ms...)
	})
}

func (s *server) values(ctx context.Context, r *http.Request) (reply, error) {
	name := r.PathValue("name")
	if !model.UTF8Validation.IsValidLabelName(name) {
		return reply{}, badData("\"name\": invalid label name: %q", name)
	}
	return s.names(r, func(q storage.Querier, h *storage.LabelHints, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, h, ms...)
	})
}

// names lists what each set of matchers finds, once and sorted.
func (s *server) names(r *http.Request, find func(storage.Querier, *storage.LabelHints, []*labels.Matcher) ([]string, annotations.Annotations, error)) (reply, error) {
	return s.reading(r, func(q storage.Querier, sets [][]*labels.Matcher, h storage.SelectHints) (any, annotations.Annotations, error) {
		if len(sets) == 0 {
			sets = append(sets, nil)
		}
		var notes annotations.Annotations
		out := []string{}
		for _, ms := range sets {
			names, found, err := find(q, &storage.LabelHints{Limit: h.Limit}, ms)
			if err != nil {
				return nil, nil, promql.ErrStorage{Err: err}
			}
			notes = notes.Merge(found)
			out = append(out, names...)
		}
		slices.Sort(out)
		if out = slices.Compact(out); len(out) >= h.Limit {
			out = out[:h.Limit-1]
			notes = notes.Add(errCutOff)
		}
		return out, notes, nil
	})
}

// buildinfo tells Grafana what it may ask for.
func (s *server) buildinfo(context.Context, *http.Request) (reply, error) {
	return reply{data: map[string]string{"version": s.Version, "revision": "", "branch": "", "buildUser": "", "buildDate": "", "goVersion": ""}}, nil
}

// metadata is what metrics mean, which is not kept here.
func (s *server) metadata(context.Context, *http.Request) (reply, error) {
	return reply{data: map[string]any{}}, nil
}
