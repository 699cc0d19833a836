package proc

import (
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	unix := []string{
		"PATH=/bin", "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "TMPDIR=/t", "TZ=UTC",
		"HTTP_PROXY=p", "https_proxy=p", "NO_PROXY=n", "NPM_CONFIG_REGISTRY=r", "npm_config_cache=c",
		"UV_INDEX=i", "SSL_CERT_FILE=f", "SSL_CERT_DIR=d", "NODE_EXTRA_CA_CERTS=x", "EMPTY=", "LC_EMPTY=",
		"AWS_SECRET_ACCESS_KEY=s", "PATHS=no", "Path=no", "UVX=no", "NODE_OPTIONS=no", "LD_PRELOAD=no", "APPDATA=no", "=odd", "broken",
	}
	windows := []string{
		"Path=C:\\bin", "SystemRoot=C:\\W", "AppData=a", "LocalAppData=l", "TEMP=t", "TMP=t", "PathExt=.EXE", "ComSpec=c",
		"UserProfile=u", "ProgramFiles(x86)=p", "ProgramFiles=p", "Http_Proxy=p", "=C:=C:\\", "SECRET=s",
	}
	tests := []struct {
		name    string
		parent  []string
		extra   map[string]string
		windows bool
		want    string
	}{
		{
			"unix", unix,
			map[string]string{"HOME": "/mine", "TOKEN": "t", "path": "other"},
			false,
			"HOME=/mine HTTP_PROXY=p LANG=C LC_ALL=C LC_EMPTY= NODE_EXTRA_CA_CERTS=x NO_PROXY=n NPM_CONFIG_REGISTRY=r PATH=/bin " +
				"SSL_CERT_DIR=d SSL_CERT_FILE=f TMPDIR=/t TOKEN=t TZ=UTC USER=u UV_INDEX=i https_proxy=p npm_config_cache=c path=other",
		},
		{
			"windows", windows,
			map[string]string{"PATH": "D:\\bin", "Token": "t"},
			true,
			"AppData=a ComSpec=c Http_Proxy=p LocalAppData=l PATH=D:\\bin PathExt=.EXE ProgramFiles(x86)=p ProgramFiles=p " +
				"SystemRoot=C:\\W TEMP=t TMP=t Token=t UserProfile=u",
		},
		{"nothing", nil, nil, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Join(environ(test.parent, test.extra, test.windows), " ")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// An empty environment must stay empty: to the system, nil stands for all of
// this process's.
func TestEnvironIsNeverNil(t *testing.T) {
	if environ(nil, nil, false) == nil {
		t.Error("nil")
	}
	t.Setenv("PROC_TEST_SECRET", "x")
	if env := Environ(map[string]string{"A": "b"}); slices.Contains(env, "PROC_TEST_SECRET=x") || !slices.Contains(env, "A=b") {
		t.Error(env)
	}
}
