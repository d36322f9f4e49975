package config

import (
	"reflect"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// checkHTTP checks every http_config, wherever it stands: which credentials
// exclude each other. It also brings those into one form that can be written in
// two. How the leader is asked is checked, too.
func (c *Config) checkHTTP(r *report) {
	leader := c.Web.Leader.TLSConfig.Prometheus()
	r.tlsConfig(&leader, "web.leader.tls_config")
	w := &clients{report: r, schema: schema(c.kinds)}
	w.section(reflect.ValueOf(c).Elem(), document.Root[Config](), "")
}

// clients looks for HTTPClientConfigs.
type clients struct {
	*report
	schema *document.Schema
}

func (w *clients) section(v reflect.Value, section document.Field, path string) {
	if h, ok := reflect.TypeAssert[*promconfig.HTTPClientConfig](v.Addr()); ok {
		w.httpConfig(h, path)
		return
	}
	for _, f := range w.schema.Fields(section) {
		value := w.schema.Get(v, f)
		if value.IsValid() {
			w.value(value, f, document.Join(path, f.Name))
		}
	}
}

func (w *clients) value(v reflect.Value, f document.Field, path string) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch w.schema.Shape(f.Type) {
	case document.Section:
		w.section(v, f, path)
	case document.List:
		for i := range v.Len() {
			w.value(v.Index(i), document.Field{Type: v.Type().Elem()}, document.Index(path, i))
		}
	}
}

// httpConfig checks which credentials exclude each other, and that the files of
// certificates can be used.
func (r *report) httpConfig(h *promconfig.HTTPClientConfig, path string) {
	r.invalid(path, h.Validate())
	r.tlsConfig(&h.TLSConfig, path)
	if h.OAuth2 != nil {
		r.invalid(path, h.OAuth2.Validate())
		r.tlsConfig(&h.OAuth2.TLSConfig, path)
	}
}

func (r *report) tlsConfig(t *promconfig.TLSConfig, path string) {
	if err := t.Validate(); err != nil {
		r.invalid(path, err)
		return
	}
	if _, err := promconfig.NewTLSConfig(t); err != nil {
		r.fail(path, CheckFile, "", "%s: %v", path, err)
	}
}

func (r *report) invalid(path string, err error) {
	if err != nil {
		r.fail(path, document.CheckValue, "", "%s: %v", path, err)
	}
}
