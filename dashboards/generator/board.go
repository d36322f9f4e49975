package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// The dashboards' grid is 24 columns wide.
const (
	full    = 24
	half    = 12
	third   = 8
	quarter = 6
	graph   = 8 // rows that a graph is high
	figure  = 4 // rows that a single figure is high
)

// tag is common to all dashboards, so that each can link to the others.
const tag = "zeta-scaler"

// scopes selects the scopes that the variables name. A service with one scope and no scope label is selected by All,
// whose value is ".*". The rule set is a label of ruleset_info only, so it narrows the choice of scopes.
const scopes = `scope=~"$scope"`

// processes selects the processes that the variable names.
const processes = `instance=~"$instance"`

// source is the data source that the variable names.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// board begins a dashboard with what all have in common.
func board(uid, title, description string) *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder("zeta-scaler / "+title).
		Uid("zeta-scaler-"+uid).
		Description(description).
		Tags([]string{tag}).
		Refresh("30s").
		Time("now-3h", "now").
		Timezone(common.TimeZoneBrowser).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Dashboards").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{tag}).AsDropdown(true).IncludeVars(true).KeepTime(true)).
		Link(dashboard.NewDashboardLinkBuilder("Page of zeta-scaler").Type(dashboard.DashboardLinkTypeLink).
			Url("${page}/").TargetBlank(true).Icon("external link").
			Tooltip("What is recommended now, with the sentence that says why")).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus").
			Description("The Prometheus that scrapes zeta-scaler"))
}

// withScopes adds the variables that narrow a dashboard to scopes.
func withScopes(b *dashboard.DashboardBuilder) *dashboard.DashboardBuilder {
	return withEvents(b).
		WithVariable(query("ruleset", "Rule set", "Only scopes that this rule set decides",
			"label_values(seatunnel_autoscaler_ruleset_info, ruleset)")).
		WithVariable(query("scope", "Scope", "One worker group; All includes a service with a single, unnamed scope",
			`label_values(seatunnel_autoscaler_ruleset_info{ruleset=~"$ruleset"}, scope)`)).
		WithVariable(page())
}

// withProcesses adds the variable that narrows a dashboard to processes.
func withProcesses(b *dashboard.DashboardBuilder) *dashboard.DashboardBuilder {
	return b.
		WithVariable(query("instance", "Instance", "One zeta-scaler process", "label_values(zeta_scaler_build_info, instance)")).
		WithVariable(page())
}

func query(name, label, description, expr string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Description(description).Datasource(source()).
		Query(dashboard.StringOrMap{String: new(expr)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{
			Selected: new(true),
			Text:     dashboard.StringOrArrayOfString{String: new("All")},
			Value:    dashboard.StringOrArrayOfString{String: new("$__all")},
		})
}

// page is where the links lead: zeta-scaler says under which address people reach it (web.external_url).
func page() *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder("page").Label("Page").
		Description("Where your browser reaches zeta-scaler (web.external_url), for links").Datasource(source()).
		Query(dashboard.StringOrMap{String: new("label_values(zeta_scaler_page_info, url)")}).
		Refresh(dashboard.VariableRefreshOnDashboardLoad).Sort(dashboard.VariableSortAlphabeticalAsc)
}

// withEvents marks the times at which a new generation began, and those at which an action ended or failed.
func withEvents(b *dashboard.DashboardBuilder) *dashboard.DashboardBuilder {
	event := func(name, color, expr, title string) *dashboard.AnnotationQueryBuilder {
		return dashboard.NewAnnotationQueryBuilder().Name(name).Datasource(source()).Enable(true).Hide(false).IconColor(color).
			Expr(flat(expr)).Step("30s").TitleFormat(title).TextFormat("{{scope}}").TagKeys("scope")
	}
	return b.
		Annotation(event("New generations", "blue",
			`changes(seatunnel_autoscaler_recommendation_generation{`+scopes+`}[30s]) > 0`, "New recommendation")).
		Annotation(event("Actions", "green",
			`changes(seatunnel_autoscaler_action_status{status=~"EXECUTING|SUCCEEDED", `+scopes+`}[30s]) > 0 and seatunnel_autoscaler_action_status == 1`, "Action {{status}}")).
		Annotation(event("Failed actions", "red",
			`changes(seatunnel_autoscaler_action_status{status="FAILED", `+scopes+`}[30s]) > 0 and seatunnel_autoscaler_action_status == 1`, "Action failed"))
}

// scopeLink leads from a series to its scope on the page.
func scopeLink() []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder("Why: ${__field.labels.scope}").Type(dashboard.DashboardLinkTypeLink).
			Url("${page}/?scope=${__field.labels.scope:percentencode}").TargetBlank(true),
	}
}

// target is a query over the dashboard's time range.
func target(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(flat(expr)).LegendFormat(legend).Range().
		Format(prometheus.PromQueryFormatTimeSeries).EditorMode(prometheus.QueryEditorModeCode).Datasource(source())
}

// now is a query for the latest values, one row each, for a table.
func now(expr string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(flat(expr)).Instant().
		Format(prometheus.PromQueryFormatTable).EditorMode(prometheus.QueryEditorModeCode).Datasource(source())
}

// flat lets expressions be written over several lines.
func flat(expr string) string { return strings.Join(strings.Fields(expr), " ") }

// tableLink leads from a line of a table to its scope on the page.
func tableLink() []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder("Why").Type(dashboard.DashboardLinkTypeLink).
			Url("${page}/?scope=${__data.fields.scope:percentencode}").TargetBlank(true),
	}
}
