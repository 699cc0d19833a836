package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// scope is the name under which the hub's spans are made.
const scope = "github.com/toolcrib/toolcrib"

// TracesOptions say where traces go.
type TracesOptions struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP, such as
	// http://127.0.0.1:4318; /v1/traces is added if it does not end so. "" is that
	// of the environment: OTEL_EXPORTER_OTLP_ENDPOINT and the variables beside it.
	Endpoint string
	Headers  map[string]secret.Value // that the collector wants to see

	// Sample is the share, from 0 to 1, of the traces that begin in the hub;
	// whether another's is sampled has been decided. Nil is what the environment
	// says (OTEL_TRACES_SAMPLER), or all.
	Sample *float64

	Proxy   func(*http.Request) (*url.URL, error) // nil for what the environment says
	RootCAs *x509.CertPool                        // nil for those of the system
	Version string
	Node    string // names this hub among others; "" for none
	Log     *slog.Logger
}

// Traces are the hub's traces on their way to a collector. Nil, which is what
// there is where none are wanted, gives no tracer and costs nothing. Safe for
// concurrent use.
type Traces struct {
	provider *sdk.TracerProvider
	queue    *queue
	to       []otlptracehttp.Option
	carrier  *http.Transport
	log      *slog.Logger
}

// NewTraces returns what Run is to send traces by; nil if there is no endpoint.
// It holds nothing that has to be given back if Run is never called.
func NewTraces(opt TracesOptions) (*Traces, error) {
	if !wanted(opt.Endpoint) {
		return nil, nil
	}
	about, err := describe(opt)
	if err != nil {
		return nil, fmt.Errorf("describe this hub for its traces: %w", err)
	}
	carrier := &http.Transport{
		Proxy: opt.Proxy, TLSClientConfig: &tls.Config{RootCAs: opt.RootCAs}, ForceAttemptHTTP2: true,
		MaxIdleConns: 1, IdleConnTimeout: time.Minute, // one batch at a time
	}
	if carrier.Proxy == nil {
		carrier.Proxy = http.ProxyFromEnvironment
	}
	target, headers, err := address(opt)
	if err != nil {
		return nil, err
	}
	to := []otlptracehttp.Option{
		otlptracehttp.WithHTTPClient(&http.Client{Transport: &asking{carrier, target.RawQuery}, Timeout: sendLimit, CheckRedirect: stay}),
		otlptracehttp.WithTimeout(sendLimit),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 4 * time.Second, MaxElapsedTime: sendLimit,
		}),
	}
	if opt.Endpoint != "" {
		to = append(to, otlptracehttp.WithEndpointURL(target.String()))
	}
	if len(headers) > 0 {
		to = append(to, otlptracehttp.WithHeaders(headers))
	}
	ended := &queue{spans: make(chan sdk.ReadOnlySpan, maxWaiting)}
	made := []sdk.TracerProviderOption{sdk.WithResource(about), sdk.WithSpanProcessor(ended)}
	if opt.Sample != nil {
		made = append(made, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(*opt.Sample))))
	}
	return &Traces{provider: sdk.NewTracerProvider(made...), queue: ended, to: to, carrier: carrier, log: opt.Log}, nil
}

// wanted reports whether traces are to be sent: if there is an address for
// them, and the environment does not switch them off (OpenTelemetry,
// "Environment Variable Specification").
func wanted(endpoint string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

// address is where traces are posted, and with which headers. A user in it is
// told in a header, as by all programs. The error names no part of it.
func address(opt TracesOptions) (*url.URL, map[string]string, error) {
	const path = "/v1/traces"
	u, err := url.Parse(opt.Endpoint)
	if err != nil {
		return nil, nil, errors.New("the address of the collector of traces cannot be read")
	}
	if !strings.HasSuffix(u.Path, path) {
		u = u.JoinPath(path)
	}
	headers := make(map[string]string, len(opt.Headers))
	if u.User != nil {
		password, _ := u.User.Password()
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
		u.User = nil
	}
	for name, value := range opt.Headers {
		headers[http.CanonicalHeaderKey(name)] = value.Reveal()
	}
	return u, headers, nil
}

// asking adds the query of the collector's address, which the exporter leaves
// out, to each request; no error shows it that way.
type asking struct {
	*http.Transport
	query string
}

// RoundTrip implements [http.RoundTripper].
func (a *asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.query != "" {
		r = r.Clone(r.Context())
		r.URL.RawQuery = a.query
	}
	return a.Transport.RoundTrip(r)
}

// stay follows no redirect: another address has no business with the headers.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// describe is what a collector is told about this hub. The environment goes
// before (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES).
func describe(opt TracesOptions) (*resource.Resource, error) {
	own := []attribute.KeyValue{
		attribute.String("service.name", "toolcrib"), attribute.String("service.version", opt.Version),
	}
	if opt.Node != "" {
		own = append(own, attribute.String("service.instance.id", opt.Node))
	}
	return resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(own...), resource.WithFromEnv())
}

// Tracer makes spans; nil if none are wanted.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(scope)
}

// Spans is what became of the spans so far.
func (t *Traces) Spans() Spans {
	return Spans{Sent: t.queue.sent.Load(), Lost: t.queue.lost.Load()}
}

// Run sends spans until ctx ends, and then, for a few seconds at most, what is
// left. A collector that cannot be reached is no error: it costs the spans, and
// the log says so once until one is reached again. It must not run twice.
func (t *Traces) Run(ctx context.Context) error {
	if t == nil {
		<-ctx.Done()
		return nil
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishLimit, end) })()
	exporter, err := otlptracehttp.New(life, t.to...)
	if err != nil {
		return fmt.Errorf("begin to send traces: %w", err)
	}
	defer t.carrier.CloseIdleConnections()
	s := &sender{queue: t.queue, to: exporter, log: t.log}
	s.keep(ctx, life)
	if err := errors.Join(t.provider.Shutdown(life), exporter.Shutdown(life)); err != nil && life.Err() == nil {
		return fmt.Errorf("end sending traces: %w", err)
	}
	return nil
}
