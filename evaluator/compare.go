package evaluator

import "github.com/zeta-scaler/zeta-scaler/rules"

// compare applies a comparison to two finite numbers.
func compare(c rules.Comparison, v, threshold float64) bool {
	switch c {
	case rules.Above:
		return v > threshold
	case rules.AtLeast:
		return v >= threshold
	case rules.Below:
		return v < threshold
	default:
		return v <= threshold
	}
}
