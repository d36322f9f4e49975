package api

import (
	"context"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestMain(m *testing.M) {
	for _, mediaType := range []string{"text/html", "application/openmetrics-text", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(mediaType, openapi3filter.PlainBodyDecoder)
	}
	os.Exit(m.Run())
}

func loadDocument(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(context.Background()))
	router, err := legacy.NewRouter(doc)
	require.NoError(t, err)
	return doc, router
}

func TestDocumentIsOpenAPI31(t *testing.T) {
	doc, _ := loadDocument(t)
	require.True(t, doc.IsOpenAPI31OrLater())
	require.Equal(t, "3.1.1", doc.OpenAPI)
}

// Routes, their parameters and who needs a credential are told twice, in the
// document and in Routes: both must say the same.
func TestRoutesAreThoseOfTheDocument(t *testing.T) {
	doc, _ := loadDocument(t)
	seen := map[string]bool{}
	for _, r := range Routes() {
		seen[r.Method+" "+r.Path] = true
		item := doc.Paths.Value(r.Path)
		require.NotNil(t, item, r.Path)
		op := item.GetOperation(r.Method)
		require.NotNil(t, op, "%s %s", r.Method, r.Path)
		require.Equal(t, isChanging(r.Method), r.Changing, r.Path)
		require.Equal(t, needsCredential(doc, op), r.Changing, r.Path)
		var names []string
		for _, p := range op.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				names = append(names, p.Value.Name)
			}
		}
		require.ElementsMatch(t, names, slices.Collect(maps.Keys(r.query)), r.Path)
		require.NotNil(t, op.Responses.Default(), "%s documents no errors", r.Path)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			require.True(t, seen[method+" "+path], "%s %s is not in Routes", method, path)
		}
	}
}

func needsCredential(doc *openapi3.T, op *openapi3.Operation) bool {
	requirements := doc.Security
	if op.Security != nil {
		requirements = *op.Security
	}
	for _, r := range requirements {
		if len(r) == 0 {
			return false
		}
	}
	return true
}

func TestIsChangingErrsOnTheSafeSide(t *testing.T) {
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		require.False(t, isChanging(m), m)
	}
	for _, m := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, "get", "BREW", ""} {
		require.True(t, isChanging(m), m)
	}
}

// Every schema names exactly the fields that its Go type writes.
func TestSchemasAreTheGoTypes(t *testing.T) {
	doc, _ := loadDocument(t)
	types := map[string]any{
		"Problem": Problem{}, "InvalidParameter": InvalidParameter{}, "Label": Label{},
		"RuleSetRef": RuleSetRef{}, "Measurement": Measurement{}, "Condition": Condition{},
		"Recommendation": Recommendation{}, "Window": Window{}, "Input": Input{}, "Shadow": Shadow{},
		"Row": Row{}, "HistoryRecord": HistoryRecord{}, "HistoryEntry": HistoryEntry{},
		"HistoryPage": HistoryPage{}, "ScopeStatus": ScopeStatus{}, "Status": Status{}, "ReloadFailure": ReloadFailure{},
		"FreshInput": FreshInput{}, "ScopeMetrics": ScopeMetrics{}, "MetricsSnapshot": MetricsSnapshot{},
		"ScopeRow": ScopeRow{}, "DecisionTable": DecisionTable{},
		"Transition": Transition{}, "Execution": Execution{}, "ActionsPage": ActionsPage{}, "Setting": Setting{},
		"SourcedCount": SourcedCount{}, "SourcedMode": SourcedMode{}, "ScopeConfig": ScopeConfig{}, "Control": Control{},
		"EffectiveConfig": EffectiveConfig{}, "ScopeChange": ScopeChange{}, "ConfigChange": ConfigChange{},
		"DrainTransition": DrainTransition{}, "DrainJob": DrainJob{}, "Drain": Drain{}, "DrainsPage": DrainsPage{},
		"DrainRequest": DrainRequest{}, "DrainPlanRequest": DrainPlanRequest{}, "DrainCancelRequest": DrainCancelRequest{},
		"DrainPlan": DrainPlan{}, "PlannedJob": PlannedJob{},
		"BacktestRequest": BacktestRequest{}, "BacktestReport": backtest.Report{},
		"JobRequest": JobRequest{}, "SubmittedJob": SubmittedJob{}, "KeptJob": KeptJob{}, "JobsPage": JobsPage{},
		"PauseRequest": PauseRequest{}, "ResumeRequest": ResumeRequest{}, "ControlState": ControlState{},
		"Contact": Contact{}, "Pause": Pause{}, "TimedBound": TimedBound{}, "Outlook": Outlook{}, "Failure": Failure{}, "Forecast": scaling.Forecast{}, "QueueHead": scaling.QueueHead{}, "Change": Change{}, "RowVerdict": RowVerdict{}, "ExplainedQuery": ExplainedQuery{}, "Explanation": Explanation{},
	}
	for name, ref := range doc.Components.Schemas {
		properties, required := fields(ref.Value)
		if len(properties) == 0 {
			require.NotContains(t, types, name)
			continue
		}
		require.Contains(t, types, name)
		all, always := jsonFields(reflect.TypeOf(types[name]))
		require.ElementsMatch(t, all, properties, "fields of %s", name)
		require.ElementsMatch(t, always, required, "required fields of %s", name)
	}
}

func fields(s *openapi3.Schema) (properties, required []string) {
	properties = slices.Collect(maps.Keys(s.Properties))
	required = slices.Clone(s.Required)
	for _, part := range s.AllOf {
		p, r := fields(part.Value)
		properties, required = append(properties, p...), append(required, r...)
	}
	return properties, required
}

func jsonFields(t reflect.Type) (all, always []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		all = append(all, name)
		if !strings.Contains(options, "omit") {
			always = append(always, name)
		}
	}
	return all, always
}

func TestEnumsAreTheDomainsWords(t *testing.T) {
	doc, _ := loadDocument(t)
	for name, want := range map[string][]any{
		"Action":     {scaling.ScaleOut, scaling.ScaleInCandidate, scaling.ScaleInBlocked, scaling.NoAction},
		"Mode":       {scaling.Advisory, scaling.Webhook, scaling.Direct},
		"Deployment": {scaling.Session, scaling.Application},
		"SlotMode":   {scaling.FixedSlots, scaling.DynamicSlots, scaling.MixedSlots, scaling.UnknownSlots},
		"Class":      {scaling.Blocking, scaling.Saturation, scaling.Capacity, scaling.Guard},
		"Direction":  {scaling.Out, scaling.In},
		"Origin":     {FromDefault, FromRuleSet, FromFile, FromEnvironment, FromFlag, FromRuntime},
		"ActionState": {
			scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionSucceeded,
			scaling.ActionFailed, scaling.ActionUnknown, scaling.ActionRejectedStale, scaling.ActionSuperseded,
			scaling.ActionCancelled,
		},
	} {
		var got, expected []string
		for _, v := range doc.Components.Schemas[name].Value.Enum {
			got = append(got, v.(string))
		}
		for _, v := range want {
			expected = append(expected, reflect.ValueOf(v).String())
		}
		require.Equal(t, expected, got, name)
	}
}
