// Package zeta speaks the REST API of SeaTunnel's Zeta engine and turns its
// replies into the seatunnel_zeta_* metrics that Zeta itself does not export.
//
// [Client] asks, [Collector] makes metrics of one cluster's replies, [Exporter]
// serves several clusters and probes over HTTP. The rule that shapes all three:
// what a reply does not say is absent, never 0, and one endpoint that fails
// costs only its own metrics.
package zeta
