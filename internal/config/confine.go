package config

import (
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of "limits". What is less would let no program start, and what is more
// is no limit.
const (
	minMemory    = 1 << 20 // bytes
	maxMemory    = 1 << 50
	minCPU       = 0.01
	maxCPU       = 1024
	maxProcesses = 1_000_000
	minFiles     = 16
	maxFiles     = 1 << 20
	maxPort      = 1<<16 - 1
)

func (e *entry) readLimits(m member) {
	l := &e.server.Limits
	if m.value.Value.Kind() != '{' {
		e.wrong(m.name, m.value, `an object with "memory", "cpu", "processes" and "files"`)
		return
	}
	e.parts(m,
		part{"memory", e.readMemory},
		part{"cpu", e.readCPU},
		part{"processes", func(m member) { e.whole(&l.Processes, m, 1, maxProcesses) }},
		part{"files", func(m member) { e.whole(&l.Files, m, minFiles, maxFiles) }},
	)
}

func (e *entry) readMemory(m member) {
	e.size(m, `a text such as "512MB" or "2GB", or a number of bytes`, minMemory, maxMemory, func(n int64) { e.server.Limits.Memory = n })
}

// size reads a number of bytes, or a text with a unit. form says how people are to
// write it.
func (e *entry) size(m member, form string, least, most int64, to func(int64)) {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' && lit.Kind() != '"' {
		e.wrong(m.name, m.value, form)
		return
	}
	n, ok := bytesOf(lit.String())
	switch {
	case !ok:
		e.problem(m.value.StartOffset, "%s%s must be %s", e.where, quoted(m.name), message.Term(form))
	case n < float64(least) || n > float64(most):
		e.problem(m.value.StartOffset, "%s%s must be from %s to %s", e.where, quoted(m.name), memoryText(least), memoryText(most))
	default:
		to(int64(n))
	}
}

// bytesOf is the amount of memory that a text names. A unit is 1024 of the one
// before it, however it is written, as for Docker and systemd.
func bytesOf(text string) (bytes float64, ok bool) {
	end := until(text, "bBkKmMgGtT \t")
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	unit := strings.ToLower(strings.TrimSpace(text[end:]))
	for i, letter := range []string{"", "k", "m", "g", "t"} {
		if unit == letter || unit == letter+"b" || letter != "" && unit == letter+"ib" {
			return n * float64(int64(1)<<(10*i)), true
		}
	}
	return 0, false
}

// memoryText is an amount of memory as [bytesOf] reads it, in the largest unit
// that is exact.
func memoryText(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for bytes%1024 == 0 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	return strconv.FormatInt(bytes, 10) + units[i]
}

func (e *entry) readCPU(m member) {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		e.wrong(m.name, m.value, "a number of processors, such as 1.5")
		return
	}
	n, err := strconv.ParseFloat(string(lit), 64)
	if err != nil || n < minCPU || n > maxCPU {
		e.problem(m.value.StartOffset, "%s%s must be a number of processors from %v to %v", e.where, quoted(m.name), minCPU, maxCPU)
		return
	}
	e.server.Limits.CPU = n
}

// readSandbox reads an object, false for none, or true for one in which nothing
// is named.
func (e *entry) readSandbox(m member) {
	box := &hub.Sandbox{}
	switch m.value.Value.Kind() {
	case 'f':
		return
	case 't':
	case '{':
		e.parts(m,
			part{"read", func(m member) { box.Read = e.places(m) }},
			part{"write", func(m member) { box.Write = e.places(m) }},
			part{"connect", func(m member) { box.Connect = e.ports(m, 1) }},
			part{"bind", func(m member) { box.Bind = e.ports(m, 0) }},
		)
	default:
		e.wrong(m.name, m.value, `true or false, or an object with "read", "write", "connect" and "bind"`)
		return
	}
	e.server.Sandbox = box
}

// places reads paths, which may have placeholders.
func (e *entry) places(m member) []string {
	var paths []string
	for _, el := range e.elements(m, "an array of paths") {
		path := e.text(el.name, el.value)
		if isString(el.value) && isEmpty(el.value) {
			e.problem(el.at, "%s%s is empty", e.where, quoted(el.name))
		}
		paths = append(paths, path)
	}
	return paths
}

// ports reads numbers of TCP ports.
func (e *entry) ports(m member, least int) []uint16 {
	var ports []uint16
	for _, el := range e.elements(m, "an array of port numbers") {
		port := -1
		if e.whole(&port, el, least, maxPort); port >= 0 {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}
