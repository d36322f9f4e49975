// Package alerts turns decisions into alerts and posts them to every
// Alertmanager, as Prometheus does: an alert is sent when it fires, again while
// it is active, and as resolved for a while after (spec 3.4). The folder also
// holds rules for Prometheus that raise the same alerts from the service's
// metrics, and an example of an Alertmanager configuration.
//
//	tick ──► findings ──► book ──► outbox ──► store ──► one queue per Alertmanager ──► POST /api/v2/alerts
//	         what a tick   what      what       then       bounded, one request in
//	         calls for     changed   is due     sent       flight, retried
package alerts
