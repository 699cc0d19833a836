package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDialledEntries has endpoints and backends set, changed and removed, and all
// else of the text stay.
func TestDialledEntries(t *testing.T) {
	const text = `{
  // servers
  "mcpServers": {},
  "xiaozhi": {
    "endpoints": {
      // mine
      "a": {
        "url": "ws://a", // here
        "ours": [1], /* kept */
        "group": "home"
      }, // after a
      "b": { "url": "ws://b" }
    }
  }
}
`
	for name, one := range map[string]struct {
		change func(text []byte) ([]byte, error)
		want   string
	}{
		"a member": {
			func(text []byte) ([]byte, error) {
				return SetDialled(text, Endpoints, "a", []byte(`{"url":"ws://a","ours":[1],"group":"work"}`))
			},
			strings.Replace(text, `"home"`, `"work"`, 1),
		},
		"nothing": {
			func(text []byte) ([]byte, error) {
				entry, _, err := DialledEntry(text, Endpoints, "a")
				if err != nil {
					return nil, err
				}
				return SetDialled(text, Endpoints, "a", entry)
			},
			text,
		},
		"another": {
			func(text []byte) ([]byte, error) {
				return SetDialled(text, Endpoints, "c", []byte(`{"url":"ws://c"}`))
			},
			strings.Replace(text, `"ws://b" }`, `"ws://b" },
      "c": {
        "url": "ws://c"
      }`, 1),
		},
		"a backend": {
			func(text []byte) ([]byte, error) {
				return SetDialled(text, Backends, "d", []byte(`{"url":"ws://d"}`))
			},
			strings.Replace(text, `"ws://b" }
    }`, `"ws://b" }
    },
    "backends": {
      "d": {
        "url": "ws://d"
      }
    }`, 1),
		},
		"removed": {
			func(text []byte) ([]byte, error) {
				text, found, err := RemoveDialled(text, Endpoints, "b")
				if !found {
					return nil, errors.New("it was not found")
				}
				return text, err
			},
			strings.Replace(text, `}, // after a
      "b": { "url": "ws://b" }`, `} // after a`, 1),
		},
		"of the other kind": {
			func(text []byte) ([]byte, error) {
				text, found, err := RemoveDialled(text, Backends, "a")
				if found {
					return nil, errors.New("it was found")
				}
				return text, err
			},
			text,
		},
	} {
		got, err := one.change([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(one.want, string(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	for text, entry := range map[string]string{
		`[]`: `{}`, `{"xiaozhi":1}`: `{}`, `{"xiaozhi":{"endpoints":[]}}`: `{}`, `{}`: `[]`, ``: `{`,
	} {
		if got, err := SetDialled([]byte(text), Endpoints, "a", []byte(entry)); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestGivenEndpointIsRemoved empties the address in "mcpEndpoint", and leaves the
// others their names.
func TestGivenEndpointIsRemoved(t *testing.T) {
	for _, one := range [][3]string{
		{`{"mcpEndpoint":"ws://a"}`, "endpoint", `{"mcpEndpoint":""}`},
		{`{"mcpEndpoint":["ws://a","ws://b"]}`, "endpoint", `{"mcpEndpoint":["","ws://b"]}`},
		{`{"mcpEndpoint":["ws://a", "ws://b"],"xiaozhi":{"endpoints":{"endpoint-2":{}}}}`, "endpoint-2", `{"mcpEndpoint":["ws://a", ""],"xiaozhi":{"endpoints":{}}}`},
		{`{"mcpEndpoint":["ws://a", ""]}`, "endpoint-2", ""},
		{`{"mcpEndpoint":7}`, "endpoint", ""},
	} {
		got, found, err := RemoveDialled([]byte(one[0]), Endpoints, one[1])
		if err != nil || found != (one[2] != "") || found && string(got) != one[2] || !found && string(got) != one[0] {
			t.Errorf("%s without %s is %s; %v, %v", one[0], one[1], got, found, err)
		}
	}
	c, _, err := Parse("f", []byte(`{"mcpEndpoint":["","ws://b"]}`), nil)
	if err != nil || len(c.Endpoints) != 1 || c.Endpoints[0].Name != "endpoint-2" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSealDialled puts tokens into the store, from where they come back to the
// byte, and masks what is left.
func TestSealDialled(t *testing.T) {
	store := make(map[string]string)
	put := func(name, value string) error {
		store[name] = value
		return nil
	}
	for _, one := range []struct{ url, sealed string }{
		{"wss://h/mcp/?token=a+b/c%2B==", "wss://h/mcp/?token=${secret:xiaozhi.endpoints.x.url}"},
		{"wss://h/mcp/?token=a&other=b", "wss://h/mcp/?${secret:xiaozhi.endpoints.x.url}"},
		{"wss://h/mcp/?plain", "wss://h/mcp/?${secret:xiaozhi.endpoints.x.url}"},
		{"wss://h/mcp/?token=${env:TOKEN}", "wss://h/mcp/?token=${env:TOKEN}"},
		{"wss://h/mcp/?token=x${env:TOKEN}", "wss://h/mcp/?token=x${env:TOKEN}"},
		{"wss://h/mcp/?${unchanged}", "wss://h/mcp/?${unchanged}"},
		{"wss://h/sk-0123456789abcdef0123456789/?token=b", "wss://h/${secret:xiaozhi.endpoints.x.url}/?token=${secret:xiaozhi.endpoints.x.url.2}"},
		{"wss://h/mcp/", "wss://h/mcp/"},
	} {
		clear(store)
		got, err := SealDialled([]byte(`{"url":"`+one.url+`"}`), Endpoints, "x", put)
		if want := `{"url":"` + one.sealed + `"}`; err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s; %v", one.url, got, want, err)
			continue
		}
		if strings.Contains(one.sealed, "unchanged") || strings.Contains(one.sealed, "env:") {
			continue
		}
		back := one.sealed
		for name, value := range store {
			back = strings.ReplaceAll(back, "${secret:"+name+"}", value)
		}
		if back != one.url {
			t.Errorf("%s comes back as %s", one.url, back)
		}
		if shown := MaskURL(one.sealed); shown != one.sealed {
			t.Errorf("%s is shown as %s", one.sealed, shown)
		}
	}
	got, err := SealDialled([]byte(`{"url":"ws://h","ota":"http://h?k=v","token":"SECRET","deviceId":"a"}`), Backends, "y", put)
	want := `{"url":"ws://h","ota":"http://h?k=${secret:xiaozhi.backends.y.ota}","token":"${secret:xiaozhi.backends.y.token}","deviceId":"a"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, want %s; %v", got, want, err)
	}
	text := []byte(`{"xiaozhi":{"backends":{"y":` + want + `}}}`)
	if diff := cmp.Diff([]string{"xiaozhi.backends.y.ota", "xiaozhi.backends.y.token"}, SealedByDialled(text, Backends, "y")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if names := SealedByDialled(text, Endpoints, "y"); len(names) > 0 {
		t.Errorf("%q", names)
	}
	if masked, err := Masked([]byte(`{"xiaozhi":{"backends":{"token":{"token":"SECRET","ota":"http://h?SECRET","group":"open"}}}}`)); err != nil ||
		strings.Contains(string(masked), "SECRET") || !strings.Contains(string(masked), "open") {
		t.Errorf("%s, %v", masked, err)
	}
}

// TestRenderEndpoint writes endpoints of the samples down, and reads the same again.
func TestRenderEndpoint(t *testing.T) {
	n := 0
	for _, name := range []string{"voice", "xiaozhi", "xiaozhi-settings"} {
		c, _, err := Load("testdata/"+name+".json", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Endpoints {
			text, err := SetDialled(nil, Endpoints, e.Name, RenderEndpoint(e))
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := Parse("f", text, nil)
			if err != nil || len(again.Endpoints) != 1 {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(e, again.Endpoints[0]); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", text, diff)
			}
			n++
		}
	}
	if n < 6 {
		t.Errorf("there are %d", n)
	}
}
