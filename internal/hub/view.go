package hub

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
)

// Group is a named part of what there is, at an address of its own. It is a
// value: once handed out nobody changes it or what it refers to.
type Group struct {
	Name        string // of letters, digits, "-" and "_"; unique
	Description string
	Servers     []string // by key: all that they offer
	Tools       []string // by exposed name or server__tool, "*" standing for any text: these as well
	Exclude     []string // by the same: not these, whatever is said above

	// Rename has, by exposed name or server__tool, the name under which the group
	// has a tool instead.
	Rename map[string]string
}

// Profile is what is known of a kind of client. It is a value, as [Group] is.
type Profile struct {
	Client     string // its name in clientInfo, "*" standing for any text; upper and lower case are the same
	MaxName    int    // longest name of a tool that it takes; 0 for 64. More than 64 also allows dots
	MaxTools   int    // tools that it takes; 0 for any number
	Deaf       bool   // it does not listen to list_changed, so that it is not told
	EmbedLinks bool   // it cannot read resources: links in results are replaced by what they lead to

	// Hold is how long its calls wait for a person to agree before they are answered
	// with a ticket; 0 for as long as others.
	Hold time.Duration

	// Language is that of what the hub says to it, whatever it asks for; "" for
	// what it asks for.
	Language message.Lang
}

// Viewer says through which view a caller looks. The zero value sees everything
// as it is.
type Viewer struct {
	Group  string // "" for none
	Client string // the client's name in clientInfo; "" if it did not say

	Tenant string // whose servers it sees, besides those that are everybody's; "" is who the hub itself belongs to
	Scope  string // [Principal.Scope]: which of them

	// Person says that a person has asked for just this call, and not a program that
	// works for one: tools that devices keep for people can be called as well, by who
	// may operate the hub. They are in no list all the same.
	Person bool
}
