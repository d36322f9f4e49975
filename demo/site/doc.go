// Package site is what stands around a simulated cluster: virtual time, the
// monitoring that scrapes it, and the platform that its workers run on.
package site
