package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// curl judges a request by what is sent, and where the answer goes.
func (s *shell) curl(program string, rest []arg) bool {
	s.f.add(hub.RiskMedium, "network", "\"%s\" adds something, or asks the network", program)
	sends, get := "", false
	for i := 0; i < len(rest); i++ {
		a := rest[i]
		value := arg{}
		if i+1 < len(rest) {
			value = rest[i+1]
		}
		name, attached, _ := strings.Cut(a.text, "=")
		switch {
		case strings.HasPrefix(a.text, "--"):
			if attached != "" {
				value = arg{attached, a.fixed}
			}
			switch name {
			case "--request":
				sends = methodOf(value, sends)
			case "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--form", "--form-string", "--upload-file", "--post-data", "--url-query":
				sends = "POST"
				s.attached(value)
				if name == a.text {
					i++
				}
			case "--get", "--head":
				get = true
			case "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--user-agent", "--header", "--cookie", "--referer", "--proxy", "--user",
				"--write-out", "--resolve", "--cacert", "--cert", "--key", "--limit-rate", "--range", "--interface", "--max-redirs", "--timeout":
				if name == a.text {
					i++
				}
			}
			switch name {
			case "--output":
				s.writesFile(value)
			case "--remote-name", "--remote-name-all", "--output-dir", "--config", "--cookie-jar", "--dump-header", "--trace", "--download", "--remote-header-name", "--unix-socket":
				s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", program+" "+name)
			}
		case a.flag() && program == "curl":
			i += s.curlShort(a.text[1:], value, &sends, &get)
		case !a.flag():
			if m := strings.ToUpper(a.text); program != "curl" && (m == "POST" || m == "PUT" || m == "DELETE" || m == "PATCH") {
				sends = m
				continue
			} else if program != "curl" && (m == "GET" || m == "HEAD" || m == "OPTIONS") {
				continue
			}
			if program != "curl" && strings.Contains(a.text, "=") && !strings.Contains(a.text, "://") && !strings.Contains(a.text, "==") {
				sends = "POST"
			}
			if !s.url(a) {
				judgeURL(s.f, "http://"+a.text, false)
			}
			if strings.HasPrefix(a.text, "file:") {
				judgePath(s.f, a.text, false, nil, true)
			}
			if !a.fixed {
				s.f.add(hub.RiskHigh, "secret", "what it puts together may be told to another machine")
			}
		}
	}
	if sends != "" && !(get && sends == "POST") {
		s.f.add(pick(sends == "DELETE", hub.RiskCritical, hub.RiskHigh), pick(sends == "DELETE", "destroy", "message"), "it sends a %s request to another machine", sends)
	}
	return true
}

// curlShort judges short options, of which several may stand together, and
// returns how many words more they take.
func (s *shell) curlShort(letters string, value arg, sends *string, get *bool) int {
	for i := range len(letters) {
		own := value
		took := 1
		if i+1 < len(letters) {
			own, took = arg{letters[i+1:], true}, 0
		}
		switch letters[i] {
		case 'X':
			*sends = methodOf(own, *sends)
			return took
		case 'd', 'F', 'T':
			*sends = "POST"
			s.attached(own)
			return took
		case 'G', 'I':
			*get = true
		case 'o':
			s.writesFile(own)
			return took
		case 'O', 'K', 'J':
			s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "curl -"+letters)
			if letters[i] == 'K' {
				return took
			}
		case 'c', 'D':
			s.writesFile(own)
			return took
		case 'H', 'u', 'A', 'e', 'b', 'm', 'w', 'x', 'C', 'r', 'E', 'U', 'y', 'Y', 'z', 'P', 'Q', 't':
			if letters[i] == 'H' && !own.fixed && strings.Contains(own.text, "$()") {
				s.f.add(hub.RiskHigh, "secret", "what it puts together may be told to another machine")
			}
			return took
		}
	}
	return 0
}

func methodOf(value arg, before string) string {
	method := strings.ToUpper(value.text)
	if method == "GET" || method == "HEAD" || method == "OPTIONS" {
		return before
	}
	return shorten(method)
}

// attached judges a file that is sent.
func (s *shell) attached(value arg) {
	if at := strings.IndexByte(value.text, '@'); at >= 0 {
		judgePath(s.f, value.text[at+1:], false, nil, true)
		return
	}
	judgePath(s.f, value.text, false, nil, false)
}

func (s *shell) wget(rest []arg) bool {
	s.f.add(hub.RiskMedium, "network", "\"%s\" adds something, or asks the network", "wget")
	writes := !has(rest, "--spider")
	for i, a := range rest {
		value := ""
		if i+1 < len(rest) {
			value = rest[i+1].text
		}
		switch {
		case hasPrefix([]arg{a}, "--post") || hasPrefix([]arg{a}, "--body") || hasPrefix([]arg{a}, "--method") || a.text == "--use-askpass":
			s.f.add(hub.RiskHigh, "message", "it sends a %s request to another machine", "POST")
		case a.flag() && a.text[1] != '-' && strings.HasSuffix(a.text, "O") && (value == "-" || value == "/dev/null"), strings.HasSuffix(a.text, "O-") && a.flag(), a.text == "--output-document=-":
			writes = false
		case !a.flag():
			s.url(a)
			if !a.fixed {
				s.f.add(hub.RiskHigh, "secret", "what it puts together may be told to another machine")
			}
		}
	}
	if writes {
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "wget")
	}
	return true
}

// database judges what clients of databases are told to do.
func (s *shell) database(program string, rest []arg) bool {
	run := "" // the options that are followed by statements
	switch program {
	case "psql", "pgcli", "cockroach":
		run = "-c --command"
	case "mysql", "mariadb", "mycli", "clickhouse-client", "clickhouse", "snowsql", "impala-shell", "beeline", "hive", "presto", "trino":
		run = "-e --execute -q --query"
	case "sqlcmd", "isql", "osql", "bcp":
		run = "-Q -q"
	case "sqlite3", "sqlite", "duckdb", "litecli":
		run = "-cmd -c"
	case "redis-cli", "valkey-cli":
		return s.redis(rest)
	case "mongo", "mongosh":
		return s.mongo(rest)
	case "pg_dump", "pg_dumpall", "mysqldump", "mongodump", "sqldiff":
		s.f.add(hub.RiskMedium, "secret", "it copies a whole database out")
		if has(rest, "-f", "--file", "-r", "--result-file", "-o", "--out") {
			s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
		}
		return true
	default:
		return false
	}
	statements, script := 0, false
	for i, a := range rest {
		option, attached, has := strings.Cut(a.text, "=")
		switch {
		case hasField(run, a.text) && i+1 < len(rest):
			s.statement(rest[i+1])
			statements++
		case has && hasField(run, option):
			s.statement(arg{attached, a.fixed})
			statements++
		case len(a.text) > 2 && a.flag() && a.text[1] != '-' && hasField(run, a.text[:2]) && strings.Contains(a.text, " "):
			s.statement(arg{a.text[2:], a.fixed})
			statements++
		case a.text == "-f" || a.text == "-i" && program == "sqlcmd" || strings.HasPrefix(a.text, "--file"):
			script = true
		}
	}
	if words := plainWords(rest); run == "-cmd -c" && len(words) > 1 {
		for _, w := range words[1:] {
			s.statement(w)
			statements++
		}
	}
	switch {
	case s.fed && s.known:
		s.statement(arg{s.heard, true})
	case script || s.fed:
		s.f.add(hub.RiskHigh, "sql", "it runs the program \"%s\", of which nothing is known", "SQL")
	case statements == 0 && !has(rest, "-l", "--list", "--version", "-V", "--help"):
		s.f.add(hub.RiskHigh, "sql", "it opens a session that goes on")
	}
	return true
}

func (s *shell) statement(a arg) {
	var f findings
	judgeSQL(&f, a.text, s.depth)
	s.f.join(&f)
	if !a.fixed {
		s.f.hide(hub.RiskHigh, "sql", "what is run is put together only when it is run")
	}
}

func (s *shell) redis(rest []arg) bool {
	words := skipAll(rest, "-h -p -a -n -u --user --pass")
	if has(rest, "--scan", "--stat", "--latency", "--bigkeys", "--version") && !s.fed {
		return true
	}
	if s.fed {
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "redis-cli")
	}
	if len(words) == 0 {
		s.f.add(hub.RiskHigh, "write", "it opens a session that goes on")
		return true
	}
	second := ""
	if len(words) > 1 {
		second = strings.ToLower(words[1].text)
	}
	switch strings.ToLower(words[0].text) {
	case "get", "mget", "keys", "scan", "info", "ping", "ttl", "pttl", "type", "exists", "llen", "lrange", "hget", "hgetall", "hkeys", "hlen", "hvals",
		"smembers", "scard", "sismember", "zrange", "zcard", "zscore", "dbsize", "strlen", "time", "lastsave", "hscan", "sscan", "zscan", "memory",
		"object", "echo", "slowlog", "hmget", "lindex", "command", "xlen", "xrange", "monitor", "role":
	case "config", "client", "cluster", "acl", "latency":
		if second != "get" && second != "list" && second != "info" && second != "nodes" && second != "whoami" && second != "doctor" {
			s.f.add(hub.RiskCritical, "destroy", "\"%s\" changes something", "redis-cli "+words[0].text)
		}
	case "flushall", "flushdb", "del", "unlink", "shutdown", "script", "eval", "evalsha", "module", "slaveof", "replicaof", "debug", "migrate", "restore", "swapdb", "failover", "hdel", "srem", "zrem", "ltrim":
		s.f.add(hub.RiskCritical, "destroy", "\"%s\" deletes or destroys", "redis-cli "+words[0].text)
	default:
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "redis-cli "+shorten(words[0].text))
	}
	return true
}

func (s *shell) mongo(rest []arg) bool {
	code := ""
	for i, a := range rest {
		if a.text == "--eval" && i+1 < len(rest) {
			code = rest[i+1].text
		}
		if value, ok := strings.CutPrefix(a.text, "--eval="); ok {
			code = value
		}
	}
	lower := strings.ToLower(code)
	switch {
	case code == "" || s.fed:
		s.f.add(hub.RiskHigh, "sql", "it opens a session that goes on")
	case containsAny(lower, "drop", "delete", "remove", "shutdown"):
		s.f.add(hub.RiskCritical, "destroy", "\"%s\" deletes or destroys", "mongo")
	case containsAny(lower, "insert", "update", "replace", "save(", "create", "rename", "bulkwrite", "$out", "$merge", "eval", "admincommand", "runcommand", "grant", "setparameter", "load("):
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", "mongo")
	}
	return true
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
