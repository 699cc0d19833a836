package config

import (
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// shortestSecret is the length of a text from which on it is taken for a
// secret because of the place in which it stands. Shorter ones are words, and
// taking those out of all that a server says would leave nothing to read.
const shortestSecret = 6

// Resolve returns the server as it is to be connected now: with the
// placeholders in its command, arguments, environment, folder, sandbox, URL and
// headers filled in, relative folders made absolute and files of environment
// variables read. The server that was given stays as it is.
//
// The texts returned besides are not to be shown: what was filled in, and what
// may be a secret by its place. They may have any length, may occur twice, and
// are in no particular order.
//
// The error is a [message.PlaceholderUnresolved].
func Resolve(s hub.Server, r *secret.Resolver) (hub.Server, []string, *hub.Error) {
	f := filling{resolver: r}
	switch {
	case s.Kind == hub.KindStdio:
		f.stdio(&s)
	case s.Kind.Remote():
		f.remote(&s)
	case s.Kind == hub.KindBuiltin:
		s.Env = f.env(s.Env, "")
	}
	if f.err == nil {
		return s, f.secrets, nil
	}
	return hub.Server{}, nil, hub.E(message.PlaceholderUnresolved, nil, "server", message.Quote(s.Key),
		"placeholder", message.Quote(f.err.Placeholder)).With("reason", f.err.Reason)
}

// filling fills in one server. After the first error it does nothing more.
type filling struct {
	resolver *secret.Resolver
	secrets  []string
	err      *secret.UnresolvedError
}

// fail keeps the first error.
func (f *filling) fail(err error) {
	if f.err != nil || err == nil {
		return
	}
	if e, ok := errors.AsType[*secret.UnresolvedError](err); ok {
		f.err = e
		return
	}
	f.err = &secret.UnresolvedError{Placeholder: "a placeholder", Reason: message.Cause(err)}
}

// unfit is the error of a text that is of no use with what was filled in, which
// may be no more than a "${" that was written as such.
func (f *filling) unfit(text string, reason message.Phrase) {
	placeholder := "$${"
	if all := secret.Placeholders(text); len(all) > 0 {
		placeholder = all[0].String()
	}
	f.fail(&secret.UnresolvedError{Placeholder: placeholder, Reason: message.Say("with it, %s", reason)})
}

// text fills in one text.
func (f *filling) text(text string) string {
	filled, secrets, err := f.resolver.Fill(text)
	f.fail(err)
	f.secrets = append(f.secrets, secrets...)
	return filled
}

// hide keeps texts for what is not to be shown, if they are long enough.
func (f *filling) hide(texts ...string) {
	for _, t := range texts {
		if len(t) >= shortestSecret {
			f.secrets = append(f.secrets, t)
		}
	}
}

func (f *filling) stdio(s *hub.Server) {
	command := f.text(s.Command)
	if blank(command) && f.err == nil {
		f.unfit(s.Command, message.Say(`"command" is empty`))
	}
	s.Command = command
	for _, span := range commandLine(command) { // people write the arguments there, too
		f.hide(command[span.from:span.to])
	}
	s.Args = slices.Clone(s.Args)
	before := ""
	for i, arg := range s.Args {
		s.Args[i] = f.text(arg)
		_, spans := judge(inArgs, before, s.Args[i])
		for _, span := range spans {
			f.hide(s.Args[i][span.from:span.to])
		}
		before = s.Args[i]
	}
	s.Env, s.EnvFile = f.env(s.Env, s.EnvFile), ""
	if s.Dir != "" {
		dir, err := f.resolver.Resolve(s.Dir)
		f.fail(err)
		s.Dir, err = f.resolver.Path(dir)
		f.fail(err)
	}
	if s.Sandbox != nil {
		box := *s.Sandbox
		box.Read, box.Write = f.paths(box.Read, s.Dir), f.paths(box.Write, s.Dir)
		s.Sandbox = &box
	}
}

// paths fills in paths of a server's sandbox, which start from its working
// directory, and makes them absolute. One with which nothing is left is an
// error: it would open the whole directory.
func (f *filling) paths(paths []string, dir string) []string {
	filled := slices.Clone(paths)
	for i, text := range filled {
		path, err := f.resolver.Resolve(text)
		f.fail(err)
		switch {
		case f.err != nil:
			return nil
		case path == "":
			f.unfit(text, message.Say("a path of the sandbox is empty"))
			return nil
		case strings.HasPrefix(path, "~"): // for the user's home
			path, err = f.resolver.Path(path)
		case !filepath.IsAbs(path):
			path, err = filepath.Abs(filepath.Join(dir, path))
		}
		f.fail(err)
		filled[i] = path
	}
	return filled
}

// env fills in environment variables. What the file of variables holds gives
// way to what stands in the configuration.
func (f *filling) env(env map[string]string, file string) map[string]string {
	filled := make(map[string]string, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		filled[name] = f.text(env[name])
		f.hide(filled[name])
	}
	if file != "" {
		path, err := f.resolver.Resolve(file)
		f.fail(err)
		if f.err != nil {
			return nil
		}
		more, err := f.resolver.EnvFile(path)
		f.fail(err)
		for name, value := range more {
			f.hide(value)
			if _, given := filled[name]; !given {
				filled[name] = value
			}
		}
	}
	if len(filled) == 0 {
		return nil
	}
	return filled
}

func (f *filling) remote(s *hub.Server) {
	link := f.text(s.URL)
	if link != s.URL && f.err == nil {
		// What the address is like is known only now.
		if kind := kindOfURL(link, false); s.Kind == hub.KindHTTP && kind == hub.KindWebSocket {
			s.Kind = kind
		}
		if fault := urlFault(link, s.Kind); fault != "" {
			f.unfit(s.URL, message.Say(`"url" %s`, message.Term(fault)))
		}
	}
	s.URL = link
	if u, err := url.Parse(link); err == nil {
		f.hide(u.RawQuery)
		for _, values := range u.Query() {
			f.hide(values...)
		}
	}
	headers := make(map[string]string, len(s.Headers))
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := f.text(s.Headers[name])
		if hasControl(value) && f.err == nil {
			f.unfit(s.Headers[name], message.Say("the header %q has a control character", name))
		}
		f.hide(value)
		if _, credentials, found := strings.Cut(value, " "); found { // such as Bearer
			f.hide(credentials)
		}
		headers[name] = value
	}
	if s.Headers = headers; len(headers) == 0 {
		s.Headers = nil
	}
	f.oauth(s)
}
