package proc

import "testing"

func TestBatchCommandLine(t *testing.T) {
	const head = `cmd.exe /e:ON /v:OFF /d /c ""C:\Program Files\npx.cmd"`
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"none", nil, ``},
		{"plain", []string{"-y", "@scope/server_x@1.0", "--port=1"}, ` -y @scope/server_x@1.0 "--port=1"`},
		{"URL", []string{"https://h/?a=1&b=2"}, ` "https://h/?a=1&b=2"`},
		{"second command", []string{`&calc`, `"&calc`}, ` "&calc" """&calc"`},
		{"variable", []string{`%PATH%`}, ` "%%cd:~,%PATH%%cd:~,%"`},
		{"backslashes", []string{`C:\a b\`, `a\\"b`, `C:\x`}, ` "C:\a b\\" "a\\\\""b" C:\x`},
		{"empty", []string{""}, ` ""`},
		{"names", []string{"名前", "a!b", "a^b"}, ` 名前 "a!b" "a^b"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := batchCommandLine(`C:\Program Files\npx.cmd`, test.args)
			if want := head + test.want + `"`; err != nil || got != want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, want)
			}
		})
	}
	for _, bad := range []string{"a\nb", "a\rb", "a\x00b"} {
		if _, err := batchCommandLine(`C:\npx.cmd`, []string{bad}); err == nil {
			t.Errorf("%q was let through", bad)
		}
	}
	for _, bad := range []string{`C:\a"b.cmd`, `C:\%x%.cmd`} {
		if _, err := batchCommandLine(bad, nil); err == nil {
			t.Errorf("%q was let through", bad)
		}
	}
}

func TestIsBatchFile(t *testing.T) {
	for path, want := range map[string]bool{"npx.cmd": true, "X.BAT": true, "node.exe": false, "cmd": false} {
		if isBatchFile(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
