package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// windows judges commands of PowerShell and cmd, whose names are read without
// regard to case.
func (s *shell) windows(program string, args []arg) bool {
	name := strings.ToLower(program)
	switch name {
	case "iwr":
		name = "invoke-webrequest"
	case "irm":
		name = "invoke-restmethod"
	}
	if risk, ok := windowsWords[name]; ok {
		switch risk {
		case hub.RiskLow, hub.RiskMedium:
			s.reading(name, args)
		case hub.RiskHigh:
			s.f.add(risk, "write", "\"%s\" changes something", program)
		default:
			s.f.add(risk, "destroy", "\"%s\" deletes or destroys", program)
		}
		return true
	}
	switch name {
	case "reg", "netsh", "sc", "net", "wmic", "schtasks", "bcdedit", "wevtutil", "powercfg", "w32tm", "nltest", "fsutil", "icacls", "certutil", "bitsadmin", "dism", "auditpol", "gpresult", "query", "netdom", "attrib", "cmdkey", "vssadmin", "wsl", "manage-bde", "winget", "choco", "scoop":
		s.windowsTool(name, args[1:])
		return true
	}
	if lower := strings.ToLower(program); lower != program {
		if _, ok := harmless[lower]; ok || harmful[lower] > 0 {
			s.listed(lower, args)
			return true
		}
	}
	action, noun, ok := strings.Cut(name, "-")
	if !ok || noun == "" {
		return false
	}
	switch action {
	case "get", "test", "select", "where", "sort", "measure", "format", "group", "compare", "find", "show", "resolve", "join", "split", "convertto", "convertfrom", "read", "tee", "search":
		if strings.HasPrefix(noun, "credential") || strings.HasPrefix(noun, "secret") || noun == "clipboard" {
			s.f.add(hub.RiskHigh, "secret", "\"%s\" shows passwords or keys", program)
		}
		if name == "tee-object" || name == "format-volume" || name == "format-disk" {
			s.f.add(pick(action == "tee", hub.RiskHigh, hub.RiskCritical), "destroy", "\"%s\" changes something", program)
		}
		s.reading(name, args)
		return true
	case "write", "out":
		if noun == "host" || noun == "output" || noun == "string" || noun == "null" || noun == "verbose" || noun == "debug" || noun == "warning" || noun == "error" || noun == "default" || noun == "gridview" {
			return true
		}
	case "import":
		if noun == "csv" || noun == "clixml" || noun == "json" {
			s.reading(name, args)
			return true
		}
	case "invoke":
		if noun == "restmethod" || noun == "webrequest" {
			s.f.add(hub.RiskMedium, "network", "\"%s\" adds something, or asks the network", program)
			for i, a := range args[1:] {
				s.url(a)
				lower := strings.ToLower(a.text)
				if strings.HasPrefix(lower, "-outf") || strings.HasPrefix(lower, "-body") || strings.HasPrefix(lower, "-inf") || strings.HasPrefix(lower, "-form") || lower == "-method" && i+2 < len(args) && !strings.EqualFold(args[i+2].text, "get") {
					s.f.add(hub.RiskHigh, "message", "it sends a %s request to another machine", shorten(a.text))
				}
			}
			return true
		}
		s.f.add(hub.RiskCritical, "execute", "it runs as a program what another command gives it")
		return true
	case "remove", "clear", "stop", "uninstall", "reset", "disable", "unregister", "restart", "suspend", "initialize", "dismount", "revoke", "block", "repair":
		s.f.add(hub.RiskCritical, "destroy", "\"%s\" deletes or destroys", program)
		return true
	case "foreach":
		if noun == "object" {
			s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
			return true
		}
	}
	if action == "set" && noun == "location" || action == "push" || action == "pop" {
		return true
	}
	if _, ok := lexicon[action]; ok {
		s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", program)
		return true
	}
	return false
}

// windowsTool judges tools that look or change by their first words.
func (s *shell) windowsTool(name string, words []arg) {
	list := strings.ToLower(join(words))
	first, _, _ := strings.Cut(list, " ")
	changes := false
	switch name {
	case "reg", "sc", "winget", "choco", "scoop":
		changes = !hasField("query queryex qc search list show info export status find outdated", first) || first == "export"
	case "net":
		changes = containsAny(list, "/add", "/delete", "stop", "start", "/active") || strings.Count(list, " ") > 1
	case "icacls", "attrib", "auditpol", "cmdkey":
		changes = containsAny(list, "/grant", "/deny", "/remove", "/set", "/reset", "+h", "-h", "+r", "-r", "+s", "-s", "/add", "/delete", "/clear")
	case "schtasks", "wmic", "bcdedit", "netsh", "wevtutil", "powercfg", "fsutil", "vssadmin", "dism", "manage-bde":
		changes = containsAny(list, "/create", "/delete", "/change", "/run", "/end", "delete", "create", "call", "/set", " set ", "set ", "add ", " add", "cl ", "clear", "disable", "reset", "resize", "setzerodata", "/cleanup", "/remove", "/apply", "-off", "-on")
	case "certutil", "bitsadmin", "wsl":
		changes = true
	}
	if changes {
		s.f.add(hub.RiskCritical, "destroy", "\"%s\" changes something", name+" "+shorten(first))
	}
}

// windowsShell judges what PowerShell or cmd is told to run.
func (s *shell) windowsShell(name string, rest []arg) bool {
	for i, a := range rest {
		lower := strings.ToLower(a.text)
		switch {
		case name == "cmd" && (lower == "/c" || lower == "/k" || lower == "//c"), name != "cmd" && (lower == "-c" || strings.HasPrefix("-command", lower) && len(lower) > 3):
			s.script2(rest[i+1:])
			return true
		case name != "cmd" && (strings.HasPrefix(lower, "-e") && strings.HasPrefix("-encodedcommand", lower) || lower == "-ec" || lower == "-enc"):
			s.f.hide(hub.RiskCritical, "execute", "what is run is hidden: \"%s\"", a.text)
			return true
		case lower == "-file" || lower == "-f":
			s.f.add(hub.RiskHigh, "execute", "it runs the program \"%s\", of which nothing is known", name)
			return true
		}
	}
	if words := plainWords(rest); name != "cmd" && len(words) > 0 {
		s.script2(words)
		return true
	}
	s.listens(func(a arg) { s.inner(a.text) })
	return true
}

var windowsWords = table(map[hub.Risk]string{
	hub.RiskLow:  `gci gc gi gp gps gsv gm sls select sort where measure ft fl fw oh dir type ver cls title rem gcm gal get-help`,
	hub.RiskHigh: `copy xcopy robocopy move ren md mklink setx assign subst ni sp spps ac cpi mi rni sal nal start-process saps icm ftp tftp expand compact label msg at`,
	hub.RiskCritical: `del erase rd ri iex taskkill format diskpart cipher takeown shutdown logoff mshta rundll32 regsvr32 cscript wscript
		installutil msbuild msiexec psexec mimikatz kill spsv sajb regedit regedt32 wusa bootcfg bcdboot sdelete forfiles clear-recyclebin`,
})
