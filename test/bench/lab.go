//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// The targets of a scenario: the upstream itself, the least a hub can do, and ours.
const (
	direct  = "direct"
	minimum = "yardstick"
	subject = "toolcrib"
	earlier = "before" // another build of ours, if there is one to compare with
)

// exposedSeparator stands between server and tool in an exposed name.
const exposedSeparator = "__"

// serverLetter begins the names of all servers, and so those of all tools that are not a hub's own.
const serverLetter = "u"

// readyPatience is how long a target has to get ready.
const readyPatience = 60 * time.Second

// hubConfig is the configuration file that both hubs read.
type hubConfig struct {
	Servers map[string]hubServer `json:"mcpServers"`

	// Of toolcrib's only.
	XiaoZhi *hubVoice   `json:"xiaozhi,omitempty"`
	Devices *hubDevices `json:"devices,omitempty"`
}

// hubVoice has the endpoints of voice assistants that the hub dials.
type hubVoice struct {
	Endpoints map[string]hubServer `json:"endpoints"`
}

// hubDevices has the ids of devices that need no token.
type hubDevices struct {
	Allow []string `json:"allow"`
}

// hubServer is an upstream: a URL or a command.
type hubServer struct {
	Type    string   `json:"type,omitempty"`
	URL     string   `json:"url,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`

	// Of toolcrib's only.
	AutoStart   bool   `json:"autoStart,omitempty"`
	IdleStop    string `json:"cleanupInterval,omitempty"`
	HealthCheck string `json:"healthCheckInterval,omitempty"`
}

// target is an endpoint that load can go to.
type target struct {
	name    string
	url     string
	prefix  string // of the upstream's tools here; %d in it stands for 1 ... servers
	servers int
	pid     int
}

// lab starts processes for the scenarios and ends them. Everything that it writes is below dir.
type lab struct {
	self    string // this binary
	hubPath string // toolcrib; empty if there is none
	before  string // an earlier toolcrib; empty if there is none
	dir     string
	files   int
	running []*child
}

// stopAll ends everything that still runs, the last started first: hubs before their upstreams.
func (l *lab) stopAll() {
	for _, c := range slices.Backward(l.running) {
		c.stop()
	}
	l.running = nil
}

// path returns a new path below the lab's folder.
func (l *lab) path(name string) string {
	l.files++
	return filepath.Join(l.dir, fmt.Sprintf("%03d-%s", l.files, name))
}

func (l *lab) start(ctx context.Context, name string, argv ...string) (*child, error) {
	c, err := startChild(ctx, name, l.path(name+".log"), argv)
	if err != nil {
		return nil, err
	}
	l.running = append(l.running, c)
	return c, nil
}

// upstream is a running echo server.
type upstream struct {
	target

	child *child
	addr  string
}

// startUpstream starts an echo server with that many tools and waits until it answers.
func (l *lab) startUpstream(ctx context.Context, tools int, flags ...string) (*upstream, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	argv := append([]string{l.self, "echo", "-addr", addr, "-tools", strconv.Itoa(tools)}, flags...)
	c, err := l.start(ctx, "echo", argv...)
	if err != nil {
		return nil, err
	}
	u := &upstream{target: target{name: direct, url: "http://" + addr + "/mcp", pid: c.pid}, child: c, addr: addr}
	if _, err := waitTools(ctx, c, u.url, "", tools); err != nil {
		return nil, err
	}
	return u, nil
}

// servers names n servers u1 ... un that all are this upstream.
func (u *upstream) servers(n int) hubConfig {
	config := hubConfig{Servers: map[string]hubServer{}}
	for i := range n {
		name := serverLetter + strconv.Itoa(i+1)
		config.Servers[name] = hubServer{Type: "http", URL: "http://" + u.addr + "/" + name + "/mcp", AutoStart: true}
	}
	return config
}

// stdioServers names n servers u1 ... un, each a process with that many tools.
func (l *lab) stdioServers(n, tools int) hubConfig {
	config := hubConfig{Servers: map[string]hubServer{}}
	for i := range n {
		config.Servers[serverLetter+strconv.Itoa(i+1)] = hubServer{
			Command: l.self, Args: []string{"echo", "-stdio", "-tools", strconv.Itoa(tools)}, AutoStart: true,
		}
	}
	return config
}

// stats reads the upstream's counters.
func (u *upstream) stats(ctx context.Context) (stats echoStats, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.addr+"/stats", http.NoBody)
	if err != nil {
		return stats, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return stats, fmt.Errorf("read the upstream's counters: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if err := json.NewDecoder(response.Body).Decode(&stats); err != nil {
		return stats, fmt.Errorf("read the upstream's counters: %w", err)
	}
	return stats, nil
}

// settle waits until nobody has posted to the upstream for a while: what hubs do after their start is over.
func (u *upstream) settle(ctx context.Context) error {
	const still, patience = 300 * time.Millisecond, 10 * time.Second
	last, err := u.stats(ctx)
	for begin := time.Now(); err == nil && time.Since(begin) < patience; {
		if err := pause(ctx, still); err != nil {
			return err
		}
		var now echoStats
		if now, err = u.stats(ctx); now.Posts == last.Posts {
			break
		}
		last = now
	}
	return err
}

// hubs tells which hubs there are to measure.
func (l *lab) hubs() []string {
	kinds := []string{minimum}
	if l.hubPath != "" {
		kinds = append(kinds, subject)
	}
	if l.before != "" {
		kinds = append(kinds, earlier)
	}
	return kinds
}

// hub is a running hub.
type hub struct {
	target

	child   *child
	dataDir string
}

// startHub starts a hub with a data directory of its own and waits until it lists that many tools of its servers.
func (l *lab) startHub(ctx context.Context, kind string, config hubConfig, tools int) (*hub, error) {
	h, err := l.spawnHub(ctx, kind, config, l.path("data"))
	if err != nil {
		return nil, err
	}
	_, err = h.awaitTools(ctx, tools)
	return h, err
}

// spawnHub starts a hub, toolcrib with further flags, and does not wait for it.
func (l *lab) spawnHub(ctx context.Context, kind string, config hubConfig, dataDir string, flags ...string) (*hub, error) {
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write the configuration of %s: %w", kind, err)
	}
	file := l.path(kind + ".json")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration of %s: %w", kind, err)
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	argv := []string{l.self, "yardstick", "-config", file, "-listen", addr}
	if kind != minimum {
		binary := l.hubPath
		if kind == earlier {
			binary = l.before
		}
		argv = []string{binary, "serve", "--config", file, "--listen", addr, "--data-dir", dataDir}
		argv = append(argv, flags...)
	}
	c, err := l.start(ctx, kind, argv...)
	if err != nil {
		return nil, err
	}
	return &hub{
		target: target{
			name: kind, url: "http://" + addr + "/mcp", pid: c.pid,
			prefix: serverLetter + "%d" + exposedSeparator, servers: len(config.Servers),
		},
		child: c, dataDir: dataDir,
	}, nil
}

// awaitTools returns how long after its start the hub listed that many tools of its servers.
func (h *hub) awaitTools(ctx context.Context, tools int) (time.Duration, error) {
	return waitTools(ctx, h.child, h.url, serverLetter, tools)
}

// load runs the load generator as a process of its own, so that its memory and the runner's do not meddle.
func (l *lab) load(ctx context.Context, t target, options loadOptions) (loadResult, error) {
	var result loadResult
	options.url, options.pid = t.url, t.pid
	options.tool, options.servers = t.prefix+options.tool, t.servers
	if t.prefix != "" {
		options.prefix = serverLetter
	}
	ctx, cancel := context.WithTimeout(ctx, options.warm+options.last+4*options.timeout)
	defer cancel()
	command := exec.CommandContext(ctx, l.self, options.arguments()...)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		return result, fmt.Errorf("load %s: %w: %s", t.name, err, bytes.TrimSpace(complaints.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return result, fmt.Errorf("load %s: read the result: %w", t.name, err)
	}
	return result, nil
}

// waitTools returns how long after the start of c its endpoint listed that many tools named prefix and a number.
func waitTools(ctx context.Context, c *child, endpoint, prefix string, tools int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	ask := asker{endpoint: endpoint, list: &listRequester{prefix: prefix, want: tools}}
	defer ask.hangUp()
	for {
		arrived, err := ask.tools(ctx)
		if err == nil {
			return arrived.Sub(c.started), nil
		}
		// Often enough to time a start of some ten milliseconds, and not so often that asking slows it down.
		interval := 5 * time.Millisecond
		if ask.conn == nil {
			interval = time.Millisecond
		}
		select {
		case <-c.ended:
			return 0, c.complain(fmt.Errorf("wait for %d tools: %w", tools, err))
		default:
		}
		if pause(ctx, interval) != nil {
			return 0, c.complain(fmt.Errorf("wait for %d tools: gave up: %w", tools, err))
		}
	}
}

// asker asks an endpoint for its tools until it has them, in one session if it can.
type asker struct {
	endpoint string
	list     *listRequester
	conn     *conn // nil while there is no session
}

// tools asks once and returns when the answer had come.
func (a *asker) tools(ctx context.Context) (time.Time, error) {
	if a.conn == nil {
		c, err := dialConn(ctx, a.endpoint, 5*time.Second)
		if err != nil {
			return time.Time{}, err
		}
		if err := c.open(); err != nil {
			return time.Time{}, errors.Join(err, c.close())
		}
		a.conn = c
	}
	arrived, err := a.list.request(a.conn)
	if a.conn.broken {
		a.hangUp()
	}
	return arrived, err
}

func (a *asker) hangUp() {
	if a.conn != nil {
		_ = a.conn.end() // Nothing is left to be lost.
		a.conn = nil
	}
}

// freeAddress returns a loopback address that nobody listens on at the moment.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// pause waits for d; its error is that ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
