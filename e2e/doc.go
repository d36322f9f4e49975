// Package e2e holds the end-to-end tests: the real programs against each
// other on loopback. They run with the build tag e2e (`make e2e`); see
// docs/testing.md.
package e2e
