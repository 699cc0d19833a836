package api

import (
	"encoding/json"
	"time"
)

// CallState is what a session shows of its calls: of the one that it began last,
// until 3 seconds after it went well or 5 seconds after it failed. A session
// that has called nothing lately is idle.
type CallState struct {
	Session    string          `json:"session" doc:"The session, by the name that the record of calls has for it"`
	Tenant     string          `json:"tenant,omitempty" doc:"Of the caller; not there if it is of the hub itself"`
	Subject    string          `json:"subject" doc:"Whose it is"`
	Status     string          `json:"status" enum:"idle,calling,success,failed,retrying"`
	Call       string          `json:"call,omitempty" doc:"Id of the call"`
	Server     string          `json:"server,omitempty" doc:"That it was sent to, the last one if there were several"`
	Tool       string          `json:"currentTool,omitempty" doc:"As the caller put it"`
	Arguments  json.RawMessage `json:"arguments,omitempty" doc:"Without what may be a secret; not there if they are not kept"`
	Started    *time.Time      `json:"startTime,omitempty"`
	Ended      *time.Time      `json:"endTime,omitempty"`
	Retries    int             `json:"retryCount" doc:"By the hub and by hand"`
	MaxRetries int             `json:"maxRetries"`
	Outcome    string          `json:"outcome,omitempty" enum:"ok,tool_error,failed,cancelled,unknown" doc:"How it ended, as in the record of calls: unknown if it may have taken effect, or not; not there while it is under way"`
	Code       string          `json:"code,omitempty" doc:"What went wrong: the stable code; not there if the server itself says that it failed"`
	Error      string          `json:"errorMessage,omitempty" doc:"What went wrong"`
	Message    string          `json:"userFriendlyMessage,omitempty" doc:"One sentence for a person, in the language of the caller"`
	Result     json.RawMessage `json:"result,omitempty" doc:"Of the tool, if it is no larger than 16 KiB"`
	Others     int             `json:"others" doc:"Other calls of the session under way"`
	Resets     *time.Time      `json:"resets,omitempty" doc:"When it becomes idle by itself"`
	Executing  bool            `json:"isExecuting" doc:"calling or retrying"`
	Completed  bool            `json:"isCompleted" doc:"success or failed"`
	CanRetry   bool            `json:"canRetry" doc:"failed, and retried less often than it may be"`
	Duration   *float64        `json:"durationMs,omitempty" doc:"Of the call, up to now if it is under way; not there if idle"`
}

// CallStateList is the sessions that are not idle, the one that began a call
// last first.
type CallStateList struct {
	States []CallState `json:"states"`
}
