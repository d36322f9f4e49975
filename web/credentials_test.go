package web

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// Editors on Windows write a mark in front of the first token.
func TestAByteOrderMarkIsNoPartOfAToken(t *testing.T) {
	s := listen(t, Options{BearerTokensFile: write(t, "tokens", "\ufefft0ken\r\n")})
	r := request(t)
	r.Header.Set("Authorization", "Bearer t0ken")
	_, status, _ := s.refuse(r)
	require.Zero(t, status)
}

// What no client can present keeps a start from being made, and a running
// service from nothing: the other tokens still count.
func TestTokensThatNobodyCanSend(t *testing.T) {
	for text, line := range map[string]string{
		"good\nBearer hunter2\n":         "line 2",
		"tökén\n":                        "line 1",
		"# comment\n\ngood\nhun\tter2\n": "line 4",
	} {
		_, err := Listen(t.Context(), Options{ListenAddress: "127.0.0.1:0", OpenReads: true, BearerTokensFile: write(t, "t", text)})
		require.ErrorContains(t, err, line)
		require.NotContains(t, err.Error(), "hunter2")
	}
	a := &authenticator{tokensFile: write(t, "t", "good\nBearer hunter2\n"), logger: slog.New(slog.DiscardHandler)}
	ok, err := a.knowsToken("good")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = a.knowsToken("Bearer hunter2")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestUsersThatNobodyCanBe(t *testing.T) {
	require.ErrorContains(t, checkUser("a:b", hashOf(t, "x")), "colon")
	require.ErrorContains(t, checkUser("a", "hunter2"), "not a bcrypt hash")
	require.NotContains(t, checkUser("a", "hunter2").Error(), "hunter2")
	const hash = "$2y$16$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
	cost, err := bcrypt.Cost([]byte(hash))
	require.NoError(t, err)
	require.Equal(t, maxCost+1, cost)
	require.ErrorContains(t, checkUser("a", hash), "cost")
	require.NoError(t, checkUser("a", hashOf(t, "x")))
}
