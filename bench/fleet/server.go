package fleet

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Server is the part of Prometheus' HTTP API that a service asks: instant and
// range queries, answered from samples.
type Server struct {
	*Samples
	// Asked is told the expression of each instant query; nil is not.
	Asked func(expr string)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	expr := req.FormValue("query")
	v, ok := s.Values[expr]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch req.URL.Path {
	case "/api/v1/query":
		if s.Asked != nil {
			s.Asked(expr)
		}
		s.write(w, "vector", v, `"value":`, point(req.FormValue("time"), "%s"))
	case "/api/v1/query_range":
		points, err := grid(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.write(w, "matrix", v, `"values":`, "["+points+"]")
	default:
		http.NotFound(w, req)
	}
}

// write sends one element per cluster; the values' template has the value's
// place as %s.
func (s *Server) write(w http.ResponseWriter, kind string, v Value, key, template string) {
	idle, short := fill(template, v.Idle), fill(template, v.Short)
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":[`, kind)
	for i := range s.N {
		values, comma := idle, ","
		if Lacks(i) {
			values = short
		}
		if i == 0 {
			comma = ""
		}
		fmt.Fprintf(w, `%s{"metric":{"cluster":%q},%s%s}`, comma, ClusterName(i), key, values)
	}
	fmt.Fprint(w, `]}}`)
}

func fill(template string, v float64) string {
	return strings.ReplaceAll(template, "%s", strconv.FormatFloat(v, 'f', -1, 64))
}

func point(time, v string) string { return fmt.Sprintf(`[%s,"%s"]`, time, v) }

// grid is a range query's points as a template.
func grid(req *http.Request) (string, error) {
	var n [3]float64
	for i, name := range []string{"start", "end", "step"} {
		v, err := strconv.ParseFloat(req.FormValue(name), 64)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", name, err)
		}
		n[i] = v
	}
	var points []string
	for i := 0.0; n[0]+i*n[2] <= n[1]+0.0005; i++ {
		points = append(points, point(strconv.FormatFloat(n[0]+i*n[2], 'f', 3, 64), "%s"))
	}
	return strings.Join(points, ","), nil
}
