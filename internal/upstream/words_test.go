package upstream

import "testing"

func TestLastWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"\n \n":                  "",
		"one\ntwo\n\n":           "two",
		"one\r\ntwo\r\n":         "two",
		"Node.js v20.20.2\n":     "",
		"starting\n  ^\nat work": "starting",

		// Node.js 20 with a module that is missing.
		`node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
Require stack:
- /srv/run.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
`: "Error: Cannot find module '/srv/index.js'",

		// npm 11 with a package that is not there.
		`npm error code E404
npm error 404 Not Found - GET nosuch - Not found
npm error 404
npm error 404  The requested resource could not be found or you do not have permission to access it.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log
`: "npm error 404 Not Found - GET nosuch - Not found",

		`Traceback (most recent call last):
  File "x.py", line 1, in <module>
ModuleNotFoundError: No module named 'mcp'
`: "ModuleNotFoundError: No module named 'mcp'",
	} {
		if got := lastWords(text); got != want {
			t.Errorf("%q\ngives %q, want %q", text, got, want)
		}
	}
}
