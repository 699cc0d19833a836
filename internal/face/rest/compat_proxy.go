package rest

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	proxyCallInput      struct{ Body api.ProxyCall }
	proxyCallOutput     struct{ Body api.ProxyCallResult }
	proxyRegisterInput  struct{ Body api.ProxyRegister }
	proxyRegisterOutput struct{ Body api.ProxyRegistered }
	proxyLeaveInput     struct{ Body api.ProxyUnregister }
	proxyLeaveOutput    struct{ Body api.CompatDone }
)

// maxProxyID is the longest id of a proxy, in characters.
const maxProxyID = 100

// compatProxies registers what proxies of voice assistants use: they hold the
// servers of their tools by leases.
func (d *Door) compatProxies() {
	add(d, operation{
		id: "proxyCall", method: http.MethodPost, path: "/tools/call", group: aboutCompat, summary: "Call a tool for a proxy",
		about: "Whatever the tool says of itself, an answer of its server is a success; that of the tool stands in the result, which is to be passed on. " +
			"It is none if the hub has refused the call: `code` and `error` say why, and so does the result.",
		needs: hub.MayCall, limit: 16, errors: unanswered(),
		example: map[string]any{"toolName": "calculator__calculator", "arguments": map[string]any{"expression": "2 + 3"}, "proxyId": "proxy-1"},
	}, d.proxyCall)
	add(d, operation{
		id: "registerProxy", method: http.MethodPost, path: "/proxies/register", group: aboutCompat, summary: "Keep the servers of tools running for a proxy",
		about: "Starts those that are idle, and waits for none. It holds for 5 minutes from the end of the last call with the proxy's id or the last time that it registered, which replaces what it had.",
		needs: hub.MayCall, limit: 1, example: map[string]any{"proxyId": "proxy-1", "requiredTools": []string{"datetime__get_current_time"}},
	}, d.registerProxy)
	add(d, operation{
		id: "unregisterProxy", method: http.MethodPost, path: "/proxies/unregister", group: aboutCompat, summary: "End what a proxy has registered",
		about: "Servers that nobody needs any more end after their `cleanupInterval`. Of a proxy that has registered nothing there is nothing to end, which is a success.",
		needs: hub.MayCall, limit: 1, example: map[string]any{"proxyId": "proxy-1"},
	}, func(ctx context.Context, in *proxyLeaveInput) (*proxyLeaveOutput, error) {
		holder, err := holderOf(in.Body.ProxyID)
		if err == nil {
			err = d.opt.Control.Release(principal(ctx), holder)
		}
		if err != nil && !hub.IsCode(err, message.LeaseUnknown) {
			return nil, failed(err)
		}
		return &proxyLeaveOutput{api.CompatDone{Success: true}}, nil
	})
}

// holderOf is the name under which a proxy holds its leases.
func holderOf(proxy string) (string, error) {
	if proxy == "" || utf8.RuneCountInString(proxy) > maxProxyID || strings.ContainsFunc(proxy, unicode.IsControl) {
		return "", unfit(message.Say(`body: "proxyId" must have 1 to %d characters, and no control characters`, maxProxyID))
	}
	return "proxy:" + proxy, nil
}

func (d *Door) proxyCall(ctx context.Context, in *proxyCallInput) (*proxyCallOutput, error) {
	b, holder := &in.Body, ""
	if b.ProxyID != "" {
		var err error
		if holder, err = holderOf(b.ProxyID); err != nil {
			return nil, failed(err)
		}
	}
	defer d.opt.Control.Use(principal(ctx), holder)() // a call may take longer than a lease holds
	result, err := d.carry(ctx, &carried{tool: b.ToolName, arguments: b.Arguments, session: holder, timeout: b.Timeout})
	if err != nil {
		return nil, failed(err)
	}
	r := api.ProxyCallResult{Success: result.Code == "", Result: result.Result, Code: result.Code}
	if !r.Success {
		r.Error = firstText(lang(ctx), result.Result)
	}
	return &proxyCallOutput{r}, nil
}

func (d *Door) registerProxy(ctx context.Context, in *proxyRegisterInput) (*proxyRegisterOutput, error) {
	holder, err := holderOf(in.Body.ProxyID)
	if err != nil {
		return nil, failed(err)
	}
	g, err := d.opt.Control.Lease(principal(ctx), holder, in.Body.RequiredTools, control.DefaultTTL)
	if err != nil {
		return nil, failed(err)
	}
	return &proxyRegisterOutput{api.ProxyRegistered{
		Success: true, RegisteredTools: g.Tools, StartedServices: g.Started, UnknownTools: g.Unknown, Expires: g.Expires,
	}}, nil
}
