// Package deploy keeps what ways of running zeta-scaler need.
package deploy

// A chart can only hold files of its own folder.
//go:generate cp ../alerts/zeta-scaler.rules.yml ../alerts/zeta-scaler-decisions.rules.yml chart/files/
//go:generate cp ../dashboards/overview.json ../dashboards/signals.json ../dashboards/actuation.json ../dashboards/service.json chart/files/dashboards/
