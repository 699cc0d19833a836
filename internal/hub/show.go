package hub

import "log/slog"

// String is the server's key and kind. What it is started or reached with, which
// may hold secrets, is not shown, whatever prints a Server or what it is in.
func (s Server) String() string { return s.Key + " (" + string(s.Kind) + ")" }

// GoString is String, so that no verb of package fmt shows more.
func (s Server) GoString() string { return s.String() }

// LogValue implements [slog.LogValuer], by String.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String: a Server is not made to be written and read back.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
