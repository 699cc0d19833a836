package protocol

import "net/http"

// JSON-RPC error codes (JSON-RPC 2.0, section 5.1, and MCP).
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodUnknown  = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603

	// Legacy era. The range -32000 to -32019 is the implementation's there.
	CodeUnavailable    = -32000
	CodeRequestTimeout = -32001
	CodeNoResource     = -32002
	CodeElicitation    = -32042 // a person has to go to a URL first (2025-11-25)

	// Modern era (2026-07-28, "Error Codes").
	CodeHeaderMismatch    = -32020
	CodeMissingCapability = -32021
	CodeVersion           = -32022
)

// HTTPStatus returns the status under which an error with the code is sent as
// a JSON answer. The modern era ties some codes to a status (2026-07-28,
// "Streamable HTTP"); in the legacy era an error to a well-formed request is
// an answer like any other.
func HTTPStatus(era Era, code int) int {
	if era == Legacy {
		return http.StatusOK
	}
	switch code {
	case CodeMethodUnknown:
		return http.StatusNotFound
	case CodeParse, CodeInvalidRequest, CodeInvalidParams, CodeHeaderMismatch, CodeMissingCapability, CodeVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// TranslateCode returns the code by which an error of a server that speaks
// from is told to a caller who speaks to. Only the code of a resource that is
// not there changed its number (2026-07-28, changelog, SEP-2164).
func TranslateCode(code int, from, to Era) int {
	if from == Legacy && to == Modern && code == CodeNoResource {
		return CodeInvalidParams
	}
	return code
}
