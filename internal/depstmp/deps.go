// Package depstmp holds modules that are about to be used.
package depstmp

import (
	_ "github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/pressly/goose/v3"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	_ "go.opentelemetry.io/otel/sdk/trace"
	_ "go.opentelemetry.io/otel/sdk/trace/tracetest"
	_ "go.opentelemetry.io/otel/trace"
	_ "golang.org/x/time/rate"
	_ "modernc.org/sqlite"
	_ "modernc.org/sqlite/lib"
)
