// The dashboards' generator has a module of its own: the SDK is large, and nothing that runs needs it.
module github.com/zeta-scaler/zeta-scaler/dashboards/generator

go 1.26.7

require github.com/grafana/grafana-foundation-sdk/go v0.0.22

require (
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
