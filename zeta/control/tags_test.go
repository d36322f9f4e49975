package control

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTags(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"": nil, "{}": nil, "null": nil,
		"{worker=w2}":          {"worker": "w2"},
		"{zone=a, disk=ssd}":   {"zone": "a", "disk": "ssd"},
		"{zone=}":              {"zone": ""},
		"{zone=a b, disk=s-d}": {"zone": "a b", "disk": "s-d"},
	} {
		tags, err := Job{Env: map[string]string{"tag_filter": text}}.Tags()
		require.NoError(t, err, text)
		require.Equal(t, want, tags, text)
	}
	for _, text := range []string{"zone=a", "{zone}", "{zone=a, zone=b}", "{zone=a=b}", "{zone=a, b}", "{=a}", "{zone={a=b}}", "["} {
		_, err := Job{Env: map[string]string{"tag_filter": text}}.Tags()
		require.Error(t, err, text)
	}
}

func FuzzTags(f *testing.F) {
	f.Add("{a=b, c=d}")
	f.Add("{a=b,c}")
	f.Fuzz(func(t *testing.T, text string) {
		tags, err := Job{Env: map[string]string{"tag_filter": text}}.Tags()
		if err != nil {
			require.Nil(t, tags)
		}
	})
}

func TestTagged(t *testing.T) {
	slots := func(total, free string, workers string) string {
		return ok(`{"projectVersion":"2.3.8","totalSlot":"` + total + `","unassignedSlot":"` + free + `","runningJobs":"2","workers":"` + workers + `"}`)
	}
	e, r := newV1(t, map[string]string{
		v1 + "/overview?disk=ssd":           slots("6", "3", "2"),
		v1 + "/overview?disk=ssd&worker=w1": slots("3", "1", "1"),
		v1 + "/overview?disk=ssd&worker=w9": slots("0", "0", "0"),
		v1 + "/overview?worker=w2":          slots("3", "3", "1"),
	})
	for _, tc := range []struct {
		tags map[string]string
		but  string
		want Slots
	}{
		{map[string]string{"disk": "ssd"}, "", Slots{Workers: 2, Total: 6, Used: 3}},
		{map[string]string{"disk": "ssd"}, "w1", Slots{Workers: 1, Total: 3, Used: 1}},
		{map[string]string{"disk": "ssd"}, "w9", Slots{Workers: 2, Total: 6, Used: 3}},
		{map[string]string{"worker": "w2"}, "w1", Slots{Workers: 1, Total: 3}},
		{map[string]string{"worker": "w2"}, "w2", Slots{}},
	} {
		got, err := e.Tagged(t.Context(), tc.tags, tc.but)
		require.NoError(t, err)
		require.Equal(t, tc.want, got, "%v without %s", tc.tags, tc.but)
	}
	require.NotEmpty(t, r.all())
	e.attribute = ""
	_, err := e.Tagged(t.Context(), map[string]string{"disk": "ssd"}, "w1")
	require.ErrorIs(t, err, ErrUnsupported)
}
