// Package browser drives the service's page in a real Chromium: the states that
// people meet, on screens wide and narrow, light and dark. What it sees is left
// as pictures in e2e/artifacts/browser. It is a module of its own, so that the
// service does not depend on what drives a browser.
package browser
