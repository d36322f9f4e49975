// Package config reads the service's configuration: a YAML file, environment
// variables and flags, each overriding the one before, into one checked struct
// (spec 3.5).
//
// Reading is strict. Everything that is wrong is reported at once, with its
// place (file:line:column, the variable or the flag), what was expected and a
// hint. Values remember where they come from, and secrets are never printed.
package config
