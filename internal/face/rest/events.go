package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type eventsInput struct {
	LastID  string   `header:"Last-Event-ID" pattern:"^[0-9]{1,18}$" doc:"Go on after the event with this id. An EventSource sends it by itself when it connects again"`
	After   string   `query:"after" pattern:"^[0-9]{1,18}$" doc:"The same, for whoever cannot send the header, which goes before it"`
	Kinds   []string `query:"kinds" enum:"gap,server.changed,tools.changed,resources.changed,prompts.changed,tools.drifted,call.ended,call.state,approval.changed,endpoint.changed,device.changed" doc:"Only events of these kinds, separated by commas; gaps always come"`
	Server  string   `query:"server" doc:"Only events about this server"`
	Session string   `query:"session" doc:"Only events about this session, by its name in the state, or by the name that the caller has given it"`
}

// reconnect is how long a client is asked to wait before it connects again.
const reconnect = 2 * time.Second

// events registers the stream of events.
func (d *Door) events() {
	add(d, operation{
		id: "followEvents", method: http.MethodGet, path: "/events", group: aboutHub, summary: "What happens, as it happens",
		about: "An event stream (`text/event-stream`). The name of each event is its kind, its data are an Event on one line, and its id is " +
			"greater than that of every event before. Without an id it begins with what happens now. With one it goes on after that event, " +
			"also over restarts of the hub, for as long as events are kept: 24 hours or 64 MiB. Where events are missing, a `gap` tells so. " +
			"A comment comes every 15 seconds if nothing else does.\n\n" +
			"Operators see everything of their tenant, and those of the hub itself that of all. Others see servers and lists, and of calls, states and requests for approval those of their own; who may decide sees all requests of the tenant. By a token with a scope those of the servers within it are seen. Endpoints, backends and devices are for operators of the hub itself.",
		errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.followEvents)
	for _, response := range d.api.OpenAPI().Paths["/events"].Get.Responses {
		if response.Ref == "" {
			response.Description = "The events"
			response.Content = map[string]*huma.MediaType{"text/event-stream": {Schema: schemaOf[api.Event](d)}}
		}
	}
}

func (d *Door) followEvents(ctx context.Context, in *eventsInput) (*streamOutput, error) {
	p := principal(ctx)
	filter := events.Filter{Kinds: in.Kinds, Server: in.Server, Tenant: records(ctx), Servers: inScope(ctx), Decides: p.Role.May(hub.MayDecide)}
	if !p.Role.May(hub.MayOperate) {
		filter.Subject = p.Subject
	}
	if !oversees(&p) || p.Scope != "" {
		filter.Sees = func(server string) bool {
			see, err := d.sight(ctx) // servers come and go
			return err == nil && see.sees(server)
		}
	}
	if in.Session != "" {
		filter.Sessions = []string{in.Session, callstate.Named(p, in.Session)}
	}
	after := events.Now
	for _, given := range [...]string{in.LastID, in.After} {
		if given != "" {
			after, _ = strconv.ParseInt(given, 10, 64) // the pattern holds
			break
		}
	}
	reader := d.opt.Events.Read(after, filter)
	first, more, err := reader.Next(ctx, nil) // while it can be refused
	if err != nil {
		reader.Close()
		return nil, failed(err)
	}
	return &streamOutput{func(c huma.Context) {
		defer reader.Close()
		d.tell(c, reader, first, more)
	}}, nil
}

// written is how much goes out at once, about: of very many listeners each holds
// as much, and events come to all of them together.
const written = 32 << 10

// tell streams events until the client is gone or the hub stops.
func (d *Door) tell(c huma.Context, reader *events.Reader, next []events.Event, more <-chan struct{}) {
	s := newStream(c, d.beat)
	defer s.close()
	text := append(strconv.AppendInt([]byte("retry: "), reconnect.Milliseconds(), 10), "\n\n"...)
	for {
		for i := range next {
			if text = d.appendFrame(c.Context(), text, &next[i]); len(text) >= written {
				if !s.write(text) {
					return
				}
				text = text[:0]
			}
		}
		if len(text) > 0 && !s.write(text) {
			return
		}
		if text = text[:0]; cap(text) > 2*written { // of one that is large
			text = nil
		}
		clear(next)
		if more != nil {
			select {
			case <-c.Context().Done():
				return
			case <-d.closed:
				return
			case <-more:
			}
		}
		var err error
		if next, more, err = reader.Next(c.Context(), next[:0]); err != nil {
			return // the client goes on from here when it can be read again
		}
	}
}

// appendFrame appends an event as the stream has it, and as whoever asks may know it.
func (d *Door) appendFrame(ctx context.Context, b []byte, e *events.Event) []byte {
	b = strconv.AppendInt(append(b, "id: "...), e.ID, 10)
	b = append(b, "\nevent: "...)
	b = append(b, e.Kind...)
	b = append(b, "\ndata: "...)
	if who := principal(ctx); e.Kind == api.KindServerChanged && !who.Hubwide() {
		return append(append(b, d.blind(&who, e.AppendData(nil))...), "\n\n"...)
	}
	return append(e.AppendData(b), "\n\n"...)
}
