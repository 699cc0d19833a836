package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// The risky tools do what each call says, and leave marks in the -tally file,
// which outlives the process: "seen" when a call has arrived, and "work" when its
// deed is done. They differ only in what they say about themselves.
func riskyTools() []tool {
	const schema = `{"type":"object","properties":{"text":{"type":"string"},"risks":{"type":"object"}},"required":["text"]}`
	return []tool{
		define("risk_plain", "Does its deed, and what risks says for this server. It must not be repeated.", schema, "", risk),
		define("risk_again", "The same; it may be repeated.", schema, `,"annotations":{"idempotentHint":true}`, risk),
		define("risk_look", "The same; it changes nothing.", schema, `,"annotations":{"readOnlyHint":true}`, risk),
	}
}

// Risks, besides "": each is "before" or "after" the deed, save for leave and
// forget, which come after the answer.
const (
	riskCrash  = "crash"  // the process ends
	riskHang   = "hang"   // there is no answer, until the caller gives up
	riskSilent = "silent" // there is no answer; an event stream ends without it
	riskDrop   = "drop"   // HTTP: the connection ends
	riskStatus = "status" // HTTP: status 500
	riskHalf   = "half"   // HTTP: half of an answer
	riskLeave  = "leave"  // the process ends
	riskForget = "forget" // HTTP: the session is forgotten
)

// risk is a risky tool. The risk of a call is that which stands for this server,
// by its -name, and for how often it has got the call with that text: so it is the
// same whichever process of the server it is.
func risk(ctx context.Context, s *server, c call) (json.RawMessage, *rpcError) {
	var args struct {
		Text  string              `json:"text"`
		Risks map[string][]string `json:"risks"`
	}
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(c.Params, &p) != nil || json.Unmarshal(p.Arguments, &args) != nil {
		return nil, &rpcError{Code: codeBadParams, Message: "risk: text and risks"}
	}
	if err := record(s.opt.tally, "seen "+s.opt.name+" "+args.Text); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	when, what := "", ""
	if all := args.Risks[s.opt.name]; len(all) > 0 {
		n := s.marks("seen " + s.opt.name + " " + args.Text)
		what, when, _ = strings.Cut(all[min(n, len(all))-1], " ")
	}
	if when == "before" && s.goWrong(ctx, c, what) {
		return nil, nil
	}
	if err := record(s.opt.tally, "work "+s.opt.name+" "+args.Text); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	if when == "after" && s.goWrong(ctx, c, what) {
		return nil, nil
	}
	if c.end != nil && (what == riskLeave || what == riskForget) {
		*c.end = what
	}
	return textResult(args.Text), nil
}

// goWrong has a call go wrong, and reports whether it has no answer.
func (s *server) goWrong(ctx context.Context, c call, what string) bool {
	switch what {
	case riskCrash:
		os.Exit(exitCrash)
	case riskHang:
		<-ctx.Done()
		return true
	case riskSilent, riskDrop, riskStatus, riskHalf:
		*c.end = what
		return true
	}
	return false
}

// marks is how many lines of the -tally file say this.
func (s *server) marks(line string) int {
	all, err := os.ReadFile(s.opt.tally)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultserver:", err)
		os.Exit(exitUsage)
	}
	n := 0
	for l := range strings.Lines(string(all)) {
		if l == line+"\n" {
			n++
		}
	}
	return n
}

// finish ends an HTTP answer as a risky tool has it, and reports whether there is
// nothing more to send.
func (r *response) finish(what string, id json.RawMessage) bool {
	switch what {
	case riskDrop:
		panic(http.ErrAbortHandler)
	case riskStatus:
		http.Error(r.w, "internal server error", http.StatusInternalServerError)
	case riskHalf:
		body := reply{id: id, result: textResult("the rest of this is missing")}.encode()
		r.w.Header().Set("Content-Type", "application/json")
		r.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = r.w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	case riskSilent:
		r.startEvents()
	default:
		return false
	}
	return true
}
