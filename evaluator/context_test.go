package evaluator

import (
	"context"

	"github.com/stretchr/testify/require"
)

// ctxOf is a context for helpers that tests and property tests share: the
// latter have no context of their own.
func ctxOf(require.TestingT) context.Context { return context.Background() }
