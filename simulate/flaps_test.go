package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFlaps(t *testing.T) {
	at := func(minute, change int) Step { return Step{At: time.Duration(minute) * time.Minute, Change: change} }
	for name, test := range map[string]struct {
		steps []Step
		want  int
	}{
		"nothing":                            {nil, 0},
		"out and in much later":              {[]Step{at(0, 2), at(30, -2)}, 0},
		"out and in soon":                    {[]Step{at(0, 2), at(10, -2)}, 1},
		"one step undone by three":           {[]Step{at(0, 3), at(2, -1), at(4, -1), at(6, -1)}, 1},
		"the newest of three undone":         {[]Step{at(0, 1), at(1, 1), at(2, 1), at(3, -1)}, 1},
		"three undone by one":                {[]Step{at(0, 1), at(1, 1), at(2, 1), at(3, -3)}, 3},
		"to and fro":                         {[]Step{at(0, 1), at(1, -1), at(2, 1), at(3, -1)}, 3},
		"in and out again":                   {[]Step{at(0, -1), at(5, 1)}, 1},
		"what is undone is not undone twice": {[]Step{at(0, 1), at(1, -1), at(2, -1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, flaps(test.steps, 10*time.Minute))
		})
	}
}
