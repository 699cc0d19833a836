package api

import (
	"encoding/json"
	"time"
)

// Policy is what the rules are that calls are judged by.
type Policy struct {
	Version      string                       `json:"version" doc:"Another one for each policy that says something else"`
	Given        bool                         `json:"given" doc:"The configuration has a policy; without one MCP callers are only observed"`
	Modes        map[string]string            `json:"modes" doc:"By door: enforce (it is done as the verdicts say) or observe (they are only recorded)"`
	Defaults     map[string]map[string]string `json:"defaults" doc:"By door and risk: what is said to calls that no rule is met by"`
	SecondPerson bool                         `json:"secondPerson" doc:"Critical calls need two persons, and not one twice"`
	Rules        []PolicyRule                 `json:"rules"`
}

// PolicyRule is one rule, as the configuration has it.
type PolicyRule struct {
	ID      string   `json:"id"`
	Effect  string   `json:"effect" enum:"allow,ask,deny"`
	Tenants []string `json:"tenant,omitempty"`
	Callers []string `json:"caller,omitempty"`
	Roles   []string `json:"role,omitempty"`
	Doors   []string `json:"door,omitempty"`
	Groups  []string `json:"group,omitempty"`
	Clients []string `json:"client,omitempty"`
	Methods []string `json:"method,omitempty"`
	Servers []string `json:"server,omitempty"`
	Tools   []string `json:"tool,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	Risks   []string `json:"risk,omitempty"`
	When    string   `json:"when,omitempty" doc:"CEL"`
	Because string   `json:"because,omitempty"`
}

// PolicyQuestion is a call that is to be judged and not made.
type PolicyQuestion struct {
	Tool      string          `json:"tool" doc:"By the name under which it is called" example:"files__delete_file"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"JSON object"`
	Caller    string          `json:"caller,omitempty" doc:"As if this one called; who asks if it is not given"`
	Tenant    string          `json:"tenant,omitempty" doc:"Of this tenant; that of who asks if it is not given. Only the hub's own principals may name another than their own"`
	Role      string          `json:"role,omitempty" enum:"viewer,caller,approver,operator,admin" doc:"With this role"`
	Door      string          `json:"door,omitempty" enum:"mcp,sse,ws,stdio,rest,agent,xiaozhi,device" doc:"By this way; rest if it is not given"`
	Group     string          `json:"group,omitempty" doc:"At the address of this group"`
	Client    string          `json:"client,omitempty" doc:"By a program that calls itself so"`
}

// PolicyAnswer is what the rules say to a call.
type PolicyAnswer struct {
	Verdict      string   `json:"verdict" enum:"allow,ask,deny"`
	Mode         string   `json:"mode" enum:"observe,enforce" doc:"Whether it is done as the verdict says"`
	Risk         string   `json:"risk" enum:"low,medium,high,critical"`
	Reasons      []string `json:"reasons" doc:"For the risk, the gravest first"`
	Warning      string   `json:"warning,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Unclear      bool     `json:"unclear,omitempty" doc:"Part of the arguments could not be read"`
	Rule         string   `json:"rule,omitempty" doc:"That decides; not there if the risk alone does"`
	Because      string   `json:"because,omitempty"`
	Persons      int      `json:"persons,omitempty" doc:"How often somebody has to agree"`
	SecondPerson bool     `json:"secondPerson,omitempty"`
	Version      string   `json:"version"`
}

// PolicyTest holds a draft of a policy against the record.
type PolicyTest struct {
	Policy json.RawMessage `json:"policy,omitempty" doc:"The member policy of a configuration; the policy in force if it is not given"`
	Since  string          `json:"since,omitempty" doc:"Of calls that ended at this time (RFC 3339) or after it, or not longer ago than this; 7d if it is not given"`
	Limit  int             `json:"limit,omitempty" minimum:"1" maximum:"100000" doc:"Of so many calls at most, the newest; 10000 if it is not given"`
}

// PolicyTestResult is what would have become of past calls.
type PolicyTestResult struct {
	Version    string          `json:"version" doc:"Of the draft"`
	Since      time.Time       `json:"since"`
	Calls      int             `json:"calls" doc:"That were looked at"`
	Unjudged   int             `json:"unjudged" doc:"Of them, of which there is no verdict from before"`
	Same       int             `json:"same"`
	Stricter   int             `json:"stricter" doc:"Than they were judged before"`
	Laxer      int             `json:"laxer"`
	CannotTell map[string]int  `json:"cannotTell" doc:"By the reason: gone (the tool is not there any more), absent (the arguments were not kept), hidden (part of them was redacted), role (the caller's role is not on record)"`
	Now        map[string]int  `json:"now" doc:"By verdict"`
	Changes    []PolicyChange  `json:"changes" doc:"Calls that would be judged otherwise, the newest first; 100 at most"`
	Warnings   []ConfigProblem `json:"warnings,omitempty" doc:"About the draft"`
	Cut        bool            `json:"cut,omitempty" doc:"There were more calls than are looked at"`
}

// PolicyChange is a past call that would be judged otherwise.
type PolicyChange struct {
	Call    string    `json:"call"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Door    string    `json:"door"`
	Name    string    `json:"name"`
	Before  string    `json:"before"`
	Now     string    `json:"now"`
	Mode    string    `json:"mode" doc:"Now, at the call's door"`
	Rule    string    `json:"rule,omitempty" doc:"That decides now"`
}
