// Package chart draws what happened over time as SVG, and has the style of the
// pages that show it: no script, nothing that is loaded, light and dark.
package chart
