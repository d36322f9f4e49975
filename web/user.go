package web

import "context"

// userKey is the key of the user in a request's context.
type userKey struct{}

func withUser(ctx context.Context, user string) context.Context {
	if user == "" {
		return ctx
	}
	return context.WithValue(ctx, userKey{}, user)
}

// User says on whose behalf a request was let pass: the name of a user, or
// "token" with the first digits of the token's SHA-256, which tells tokens apart
// and does not give them away. Empty where no credential was asked for.
func User(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}
