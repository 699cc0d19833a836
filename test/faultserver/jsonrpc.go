package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The JSON-RPC and MCP error codes that this server sends.
const (
	codeParse          = -32700
	codeInvalid        = -32600
	codeUnknownMethod  = -32601
	codeBadParams      = -32602
	codeInternal       = -32603
	codeBadSession     = -32001
	codeHeaderMismatch = -32020
	codeBadVersion     = -32022
)

// message is a JSON-RPC message that came in. The id and the parameters are
// kept as the bytes that came.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func parseMessage(raw []byte) (message, error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("parse a message: %w", err)
	}
	return m, nil
}

func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// tool returns the name of the tool that a tools/call is about.
func (m message) tool() string {
	var p struct {
		Name string `json:"name"`
	}
	if m.Method != "tools/call" || json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	return p.Name
}

// name returns what the header Mcp-Name has to repeat.
func (m message) name() string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = json.Unmarshal(m.Params, &p) // a message without either has no name
	switch m.Method {
	case "tools/call", "prompts/get":
		return p.Name
	case "resources/read":
		return p.URI
	}
	return ""
}

// meta returns one member of the parameters' _meta as the bytes that came, or
// nil.
func (m message) meta(key string) json.RawMessage {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil
	}
	return p.Meta[key]
}

// rpcError is a JSON-RPC error object.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
	raw     json.RawMessage // in place of all that, byte for byte
}

// Error makes an rpcError usable as a Go error.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// reply is what goes out for a request: a result, an error, or, for a server
// that answers with nonsense, raw bytes.
type reply struct {
	id     json.RawMessage
	result json.RawMessage
	err    *rpcError
	raw    []byte
}

// encode returns the reply as one line without a line end.
func (r reply) encode() []byte {
	if r.raw != nil {
		return r.raw
	}
	id := r.id
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	switch {
	case r.err != nil && r.err.raw != nil:
		b.WriteString(`,"error":`)
		b.Write(r.err.raw)
	case r.err != nil:
		b.WriteString(`,"error":`)
		b.Write(encode(r.err))
	default:
		b.WriteString(`,"result":`)
		b.Write(r.result)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func notification(method string, params any) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":%s}`, encode(method), encode(params))
}

// encode marshals what this program made itself and so always can be.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}
