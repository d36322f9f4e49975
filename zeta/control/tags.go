package control

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// tagFilter is the option that binds a job to workers with certain attributes.
const tagFilter = "tag_filter"

// Tags are the attributes that a worker has to have for the job to run there; nil
// if any worker will do. It fails if Zeta's words for them, such as
// {zone=a, disk=ssd}, can be read in more than one way.
func (j Job) Tags() (map[string]string, error) {
	text := strings.TrimSpace(j.Env[tagFilter])
	if text == "" || text == "{}" || text == "null" {
		return nil, nil
	}
	inner, open := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !open || !closed {
		return nil, fmt.Errorf("its %s is %q, which cannot be read", tagFilter, text)
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(inner, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if _, twice := tags[name]; !found || name == "" || twice || strings.ContainsAny(name+value, "={}") {
			return nil, fmt.Errorf("its %s is %q, which cannot be read in one way", tagFilter, text)
		}
		tags[name] = value
	}
	return tags, nil
}

// Tagged reads the master's book on the workers that have all of the attributes;
// if but is not empty, without the worker of that name.
func (e *Engine) Tagged(ctx context.Context, tags map[string]string, but string) (Slots, error) {
	all, err := e.with(ctx, tags)
	if err != nil || but == "" {
		return all, err
	}
	if e.attribute == "" {
		return Slots{}, fmt.Errorf("reading the slots beside worker %q: no member attribute tells the workers apart: %w", but, ErrUnsupported)
	}
	if named, given := tags[e.attribute]; given {
		if named == but {
			return Slots{}, nil // only that worker will do
		}
		return all, nil
	}
	own := url.Values{e.attribute: {but}}
	for name, value := range tags {
		own.Set(name, value)
	}
	it, err := e.book(ctx, own)
	if err != nil {
		return Slots{}, err
	}
	return Slots{Workers: max(0, all.Workers-it.Workers), Total: max(0, all.Total-it.Total), Used: max(0, all.Used-it.Used)}, nil
}

func (e *Engine) with(ctx context.Context, tags map[string]string) (Slots, error) {
	query := url.Values{}
	for name, value := range tags {
		query.Set(name, value)
	}
	return e.book(ctx, query)
}

// book asks the master for the slots of the workers with these attributes.
func (e *Engine) book(ctx context.Context, query url.Values) (Slots, error) {
	o, err := zeta.Ask(ctx, e.client, zeta.Request{Path: "/overview", Query: query}, zeta.DecodeOverview)
	if err == nil {
		var s Slots
		if s, err = slotsOf(o); err == nil {
			return s, nil
		}
	}
	return Slots{}, fmt.Errorf("reading the slots of the workers with %s: %w", query.Encode(), err)
}
