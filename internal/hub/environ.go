package hub

import "context"

type environKey struct{}

// WithEnviron returns a context in which a built-in server is served with these
// variables, which it finds by [EnvironOf]: it has no environment of its own.
// Nobody changes them any more.
func WithEnviron(ctx context.Context, env map[string]string) context.Context {
	return context.WithValue(ctx, environKey{}, env)
}

// EnvironOf returns the variables of the server that is served; nil for none.
// They may hold secrets.
func EnvironOf(ctx context.Context) map[string]string {
	env, _ := ctx.Value(environKey{}).(map[string]string)
	return env
}
