package property_test

import "encoding/json"

// frame is a message as both ends read it: the members of JSON-RPC and MCP, and
// those of the test's own by which it is known whose a message is.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result *answer         `json:"result"`
	Error  *failure        `json:"error"`
}

type params struct {
	Capabilities  capabilities    `json:"capabilities"`
	RequestID     json.RawMessage `json:"requestId"`
	ProgressToken json.RawMessage `json:"progressToken"`
	Progress      int             `json:"progress"`
	Level         string          `json:"level"`
	URI           string          `json:"uri"`
	ElicitationID string          `json:"elicitationId"`
	Mode          string          `json:"mode"`
	Notifications filter          `json:"notifications"`
	Meta          struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Script        []string        `json:"t/script"`
		Nonce         string          `json:"t/nonce"`
		LogLevel      string          `json:"io.modelcontextprotocol/logLevel"`
		Subscription  json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
	} `json:"_meta"`
	Mark mark `json:"t/mark"`
	Data struct {
		Mark mark `json:"t/mark"`
	} `json:"data"`
}

type capabilities struct {
	Sampling     *struct{} `json:"sampling"`
	Elicitation  *struct{} `json:"elicitation"`
	Roots        *struct{} `json:"roots"`
	Experimental map[string]struct{}
}

type filter struct {
	Tools     bool     `json:"toolsListChanged"`
	Prompts   bool     `json:"promptsListChanged"`
	Resources bool     `json:"resourcesListChanged"`
	URIs      []string `json:"resourceSubscriptions"`
}

// mark says whose a message of a server's is.
type mark struct {
	Nonce string `json:"n,omitempty"`   // of the call in which it was said, or who is meant by it
	K     int    `json:"k,omitempty"`   // its number in the call, from 1
	At    int64  `json:"at,omitempty"`  // what came before what
	Since int64  `json:"t,omitempty"`   // when, in nanoseconds since the run began
	Own   bool   `json:"own,omitempty"` // it was said on the caller's own connection
	How   string `json:"how,omitempty"` // a question is to be answered
	By    string `json:"by,omitempty"`  // who answers
}

func (m mark) json() string {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

type answer struct {
	Meta struct {
		Nonce    string `json:"t/nonce"`
		Progress int    `json:"t/progress"`
	} `json:"_meta"`
	Type            string                  `json:"resultType"`
	ProtocolVersion string                  `json:"protocolVersion"`
	Mark            mark                    `json:"t/mark"`
	Tools           []struct{ Name string } `json:"tools"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Code  string `json:"code"`
		Nonce string `json:"t/nonce"`
	} `json:"data"`
}
