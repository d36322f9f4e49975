package control_test

import (
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

var _ drain.Engine = (*control.Engine)(nil)
