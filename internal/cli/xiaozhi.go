package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
)

type xiaozhiCommands struct {
	Endpoint endpointCommands `cmd:"" help:"Addresses at which Toolcrib is an MCP server: list, show, add, remove, log, reconnect."`
	Backend  backendCommands  `cmd:"" help:"Backends to which Toolcrib is a device: list, show, add, remove, log, reconnect."`
}

type endpointCommands struct {
	List      endpointList      `cmd:"" help:"List the endpoints." default:"withargs"`
	Show      endpointShow      `cmd:"" help:"Show one endpoint."`
	Add       endpointAdd       `cmd:"" help:"Connect to an endpoint, or change one."`
	Remove    endpointRemove    `cmd:"" help:"Take endpoints out of the configuration."`
	Log       endpointLog       `cmd:"" help:"Show the log of an endpoint."`
	Reconnect endpointReconnect `cmd:"" help:"Connect to endpoints anew, at once."`
}

type backendCommands struct {
	List      backendList      `cmd:"" help:"List the backends." default:"withargs"`
	Show      backendShow      `cmd:"" help:"Show one backend."`
	Add       backendAdd       `cmd:"" help:"Be a device of a backend, or change one."`
	Remove    backendRemove    `cmd:"" help:"Take backends out of the configuration."`
	Log       backendLog       `cmd:"" help:"Show the log of a backend."`
	Reconnect backendReconnect `cmd:"" help:"Connect to backends anew, at once."`
}

type (
	endpointList struct{}
	backendList  struct{}
	endpointShow struct {
		Name string `arg:"" help:"Name of the endpoint." complete:"endpoint"`
	}
	backendShow struct {
		Name string `arg:"" help:"Name of the backend." complete:"backend"`
	}
	endpointRemove struct {
		Names []string `arg:"" name:"name" help:"Names of the endpoints." complete:"endpoint"`
	}
	backendRemove struct {
		Names []string `arg:"" name:"name" help:"Names of the backends." complete:"backend"`
	}
	endpointReconnect struct {
		Names []string `arg:"" name:"name" help:"Names of the endpoints." complete:"endpoint"`
	}
	backendReconnect struct {
		Names []string `arg:"" name:"name" help:"Names of the backends." complete:"backend"`
	}
	endpointLog struct {
		Name string `arg:"" help:"Name of the endpoint." complete:"endpoint"`
		logFlags
	}
	backendLog struct {
		Name string `arg:"" help:"Name of the backend." complete:"backend"`
		logFlags
	}
)

// logFlags are those of a command that shows a log.
type logFlags struct {
	Follow bool `short:"f" help:"Go on with each new line, until Ctrl-C."`
	Lines  int  `short:"n" help:"How many of the last lines; 0 for all there are." default:"50" placeholder:"N"`
}

// Run lists them.
func (endpointList) Run(ctx context.Context, s *session) error {
	return s.listDialled(ctx, apiclient.Endpoints)
}

// Run lists them.
func (backendList) Run(ctx context.Context, s *session) error {
	return s.listDialled(ctx, apiclient.Backends)
}

// Run shows it.
func (c *endpointShow) Run(ctx context.Context, s *session) error {
	return s.showDialled(ctx, apiclient.Endpoints, c.Name)
}

// Run shows it.
func (c *backendShow) Run(ctx context.Context, s *session) error {
	return s.showDialled(ctx, apiclient.Backends, c.Name)
}

// Run removes them.
func (c *endpointRemove) Run(ctx context.Context, s *session) error {
	return s.removeDialled(ctx, apiclient.Endpoints, c.Names)
}

// Run removes them.
func (c *backendRemove) Run(ctx context.Context, s *session) error {
	return s.removeDialled(ctx, apiclient.Backends, c.Names)
}

// Run reconnects them.
func (c *endpointReconnect) Run(ctx context.Context, s *session) error {
	return s.reconnect(ctx, apiclient.Endpoints, c.Names)
}

// Run reconnects them.
func (c *backendReconnect) Run(ctx context.Context, s *session) error {
	return s.reconnect(ctx, apiclient.Backends, c.Names)
}

// Run shows its log.
func (c *endpointLog) Run(ctx context.Context, s *session) error {
	return s.dialledLog(ctx, apiclient.Endpoints, c.Name, c.logFlags)
}

// Run shows its log.
func (c *backendLog) Run(ctx context.Context, s *session) error {
	return s.dialledLog(ctx, apiclient.Backends, c.Name, c.logFlags)
}

// offerFlags say which tools it gets.
type offerFlags struct {
	Group    *string        `help:"Give it the tools of this group alone." placeholder:"NAME" complete:"group"`
	Allow    []string       `help:"Give it these tools alone; \"*\" stands for any text." placeholder:"TOOL" complete:"tool"`
	Deny     []string       `help:"Do not give it these tools." placeholder:"TOOL" complete:"tool"`
	Deadline *time.Duration `help:"After how long a call is answered that its result will be kept." placeholder:"25s"`
	Enabled  *bool          `help:"Whether it is connected." negatable:""`
}

type endpointAdd struct {
	Name string `arg:"" help:"Name of the endpoint: letters, digits, \"-\" and \"_\"." complete:"endpoint"`
	URL  string `arg:"" optional:"" help:"Its address, as the console of the assistant shows it; sealed. \"-\" reads it from standard input. One that is there keeps its own without." name:"url"`
	offerFlags
	Profile       string   `help:"What is behind the address, by which the deadline, the length of answers and the refresh are as it bears them: xiaozhi, cloud, cloud-short or self-hosted." enum:"xiaozhi,cloud,cloud-short,self-hosted," default:"" placeholder:"PROFILE"`
	RequiredTools []string `help:"Keep the servers of these tools running while it is connected." placeholder:"TOOL" complete:"tool"`
}

// Run defines or changes an endpoint.
func (c *endpointAdd) Run(ctx context.Context, s *session) error {
	return s.addDialled(ctx, apiclient.Endpoints, c.Name, &c.offerFlags, map[string]string{"url": c.URL, "profile": c.Profile}, c.RequiredTools)
}

type backendAdd struct {
	Name     string `arg:"" help:"Name of the backend: letters, digits, \"-\" and \"_\"." complete:"backend"`
	URL      string `arg:"" optional:"" help:"Its address; sealed if it has a token. \"-\" reads it from standard input. One that is there keeps its own without." name:"url"`
	OTA      string `name:"ota" help:"The address to ask for the other one." placeholder:"URL"`
	Key      string `name:"backend-token" help:"Token that it is shown; sealed." placeholder:"TOKEN"`
	DeviceID string `name:"device-id" help:"As which device." placeholder:"ID"`
	offerFlags
}

// Run defines or changes a backend.
func (c *backendAdd) Run(ctx context.Context, s *session) error {
	return s.addDialled(ctx, apiclient.Backends, c.Name, &c.offerFlags, map[string]string{"url": c.URL, "ota": c.OTA, "token": c.Key, "deviceId": c.DeviceID}, nil)
}

// addDialled writes what is given into the entry that there is, or a new one.
func (s *session) addDialled(ctx context.Context, kind apiclient.Dialled, name string, c *offerFlags, texts map[string]string, needs []string) error {
	if texts["url"] == "-" {
		line, err := firstLine(s.env.Stdin)
		if err != nil {
			return err
		}
		texts["url"] = line
	}
	return s.with(ctx, func(h *link) error {
		was, err := h.DialledOne(ctx, kind, name)
		fresh := apiclient.IsCode(err, kindFor(kind).unknown())
		if err != nil && !fresh {
			return err
		}
		entry := make(map[string]any)
		if !fresh {
			if err := json.Unmarshal(was.Entry, &entry); err != nil {
				return err
			}
		}
		for member, text := range texts {
			if text != "" {
				entry[member] = text
			}
		}
		if c.Group != nil {
			entry["group"] = *c.Group
		}
		if c.Allow != nil {
			entry["allow"] = c.Allow
		}
		if c.Deny != nil {
			entry["deny"] = c.Deny
		}
		if needs != nil {
			entry["requiredTools"] = needs
		}
		if c.Deadline != nil {
			entry["deadline"] = c.Deadline.String()
		}
		if c.Enabled != nil {
			entry["enabled"] = *c.Enabled
		}
		raw, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		v, err := h.SetDialled(ctx, kind, name, api.EndpointChange{Entry: raw}, was.ETag)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.out.json(v)
		}
		if fresh {
			s.out.line(s.out.say("Added %s.", "已添加 %s。"), clean(v.Name))
		} else {
			s.out.line(s.out.say("Changed %s.", "已修改 %s。"), clean(v.Name))
		}
		if h.own {
			s.out.line("%s", s.out.say("It is connected once the hub runs: toolcrib serve", "Toolcrib 运行后即会连接：toolcrib serve"))
			return nil
		}
		s.out.line(s.out.say("How it goes: %s", "查看状态：%s"), "toolcrib xiaozhi "+string(kindFor(kind))+" show "+clean(v.Name))
		return nil
	})
}

// kindFor is what names of the kind are.
func kindFor(k apiclient.Dialled) kind {
	if k == apiclient.Endpoints {
		return endpoints
	}
	return backends
}
