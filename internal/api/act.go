package api

import "time"

// Act is something that somebody did to the hub, or tried to, as the record has
// it. What was sent with it is not kept.
type Act struct {
	ID        string     `json:"id"`
	Time      time.Time  `json:"time" doc:"When it began"`
	Ended     *time.Time `json:"ended,omitempty" doc:"Not there while it is being done"`
	Operation string     `json:"operation" example:"stopServer" doc:"Of this API, by its id, or such as login or reload"`
	Target    string     `json:"target,omitempty" example:"key=git" doc:"What it was done to; not there if that is the hub as a whole"`
	Server    string     `json:"server,omitempty" doc:"That it was done to"`
	Tenant    string     `json:"tenant,omitempty" doc:"Of who did it; not there if it is of the hub itself"`
	Subject   string     `json:"subject" doc:"Who did it"`
	Role      string     `json:"role,omitempty" doc:"Of who did it"`
	Door      string     `json:"door" doc:"By which way: rest, or file for what the configuration file says"`
	Token     string     `json:"token,omitempty" doc:"Id of the token or login session that was shown"`
	Request   string     `json:"request,omitempty" doc:"Id of the HTTP request"`
	Outcome   string     `json:"outcome" doc:"ok, failed, unknown (it was begun, and the hub ended meanwhile), or empty while it is being done"`
	Code      string     `json:"code,omitempty" doc:"Why it failed, or was refused"`
	Status    int        `json:"status,omitempty" doc:"Of HTTP"`
	Duration  float64    `json:"durationMs"`
	Node      string     `json:"node" doc:"The chain that it stands in"`
	Seq       int64      `json:"seq" doc:"Of the entry that tells how it ended, or that it began"`
}

// ActList is some acts, newest first.
type ActList struct {
	Acts []Act  `json:"acts"`
	Next string `json:"next,omitempty" doc:"The cursor of those that follow, also if there are fewer here than were asked for; not there if none do"`
}
