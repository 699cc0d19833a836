package catalog_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// page is the page at a cursor.
func page(t testing.TB, c *catalog.Catalog, era protocol.Era, cursor string) string {
	t.Helper()
	text, err := c.List(era, hub.ListTools, cursor)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestListText(t *testing.T) {
	c := open(t, catalog.Options{})
	if got, want := page(t, c, protocol.Legacy, ""), `{"tools":[]}`; got != want {
		t.Errorf("empty list %s, want %s", got, want)
	}
	if got, want := page(t, c, protocol.Modern, ""), `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`; got != want {
		t.Errorf("empty list %s, want %s", got, want)
	}

	// All that a server may write differently from everybody else stays.
	odd := "{ \"title\" : \"\\u0041\\/\" ,\r\n\t\"n\\u0061me\" :  \"a\\u002eb\" , \"inputSchema\":{\"maximum\":9007199254740993,\"x\":1.0e+2, \"name\":\"a.b\"},\"\":{ }}"
	plain := "{\"name\":\"\\u0078\", \"inputSchema\" : {} }"
	b := server("b")
	b.BareNames = true
	c.SetServers([]hub.Server{server("a"), b})
	c.Replace(server("a"), hub.Offer{Tools: []hub.Tool{parse(t, odd)}})
	c.Replace(server("b"), hub.Offer{Tools: []hub.Tool{parse(t, plain)}})
	tools := strings.Replace(odd, `"a\u002eb"`, `"a__a_b`+suffix("a", "a.b")+`"`, 1) + "," + plain
	if got, want := page(t, c, protocol.Legacy, ""), `{"tools":[`+tools+`]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := page(t, c, protocol.Modern, ""), `{"tools":[`+tools+`],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// names makes n names.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i)
	}
	return all
}

// follow reads all pages from a cursor on.
func follow(t testing.TB, c *catalog.Catalog, era protocol.Era, cursor string) (all []string, pages int) {
	t.Helper()
	for {
		some, next := list(t, c, era, cursor)
		all = append(all, some...)
		pages++
		if cursor = next; cursor == "" {
			return all, pages
		}
	}
}

func TestListPagesByCount(t *testing.T) {
	for n, want := range map[int]int{999: 1, 1000: 1, 1001: 2, 2500: 3} {
		c := open(t, catalog.Options{})
		c.SetServers([]hub.Server{server("a"), server("b")})
		c.Replace(server("a"), offer(t, names("x", n/2)...))
		c.Replace(server("b"), offer(t, names("y", n-n/2)...))
		for _, era := range []protocol.Era{protocol.Legacy, protocol.Modern} {
			all, pages := follow(t, c, era, "")
			if pages != want {
				t.Errorf("%d tools are on %d pages, want %d", n, pages, want)
			}
			if diff := cmp.Diff(exposed(c.Snapshot()), all); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestListPagesBySize(t *testing.T) {
	sized := func(name string, size int) hub.Tool {
		return parse(t, `{"name":"`+name+`","description":"`+strings.Repeat("x", size)+`"}`)
	}
	const mib = 1 << 20
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), hub.Offer{Tools: []hub.Tool{
		sized("a", mib), sized("b", mib), sized("c", mib), // and no room for 1 more
		sized("d", mib), sized("e", mib),
		sized("giant", 5*mib),
		sized("f", 10), sized("g", 10),
	}})
	var got [][]string
	for cursor := ""; ; {
		some, next := list(t, c, protocol.Legacy, cursor)
		got = append(got, some)
		if cursor = next; cursor == "" {
			break
		}
	}
	want := [][]string{{"a__a", "a__b", "a__c"}, {"a__d", "a__e"}, {"a__giant"}, {"a__f", "a__g"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A client that is paging sees one list, whatever happens meanwhile, until the
// list is the ninth last.
func TestCursorKeepsItsList(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a"), server("b")})
	c.Replace(server("a"), offer(t, names("old", 2500)...))
	want := exposed(c.Snapshot())[1000:]
	_, cursor := list(t, c, protocol.Legacy, "")

	for change := range 7 {
		c.Replace(server("a"), offer(t, names(fmt.Sprint("new", change, "-"), 1+change*500)...))
		got, _ := follow(t, c, protocol.Legacy, cursor)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %d changes: %s", change+1, diff)
		}
	}
	if got, _ := follow(t, c, protocol.Modern, cursor); len(got) != 1500 {
		t.Errorf("the cursor gives %d tools in the other era", len(got))
	}
	// What leaves the list as it is does not age it.
	offer := offer(t, "last")
	for range 20 {
		c.SetServers([]hub.Server{server("a"), server("b")})
	}
	list(t, c, protocol.Legacy, cursor)
	c.Replace(server("b"), offer)
	if _, err := c.List(protocol.Legacy, hub.ListTools, cursor); !hub.IsCode(err, message.CursorUnknown) {
		t.Errorf("after 8 changes: error %v", err)
	}
}

func TestForgedCursors(t *testing.T) {
	big := func() *catalog.Catalog {
		c := open(t, catalog.Options{})
		c.SetServers([]hub.Server{server("a")})
		c.Replace(server("a"), offer(t, names("x", 2500)...))
		return c
	}
	c := big()
	_, cursor := list(t, c, protocol.Legacy, "")
	if strings.ContainsAny(cursor, "+/=") {
		t.Errorf("%q is not base64url", cursor)
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	// to changes the last byte of the cursor's parts: nonce, snapshot, place.
	to := func(snapshot uint64, place uint32) string {
		b := bytes.Clone(raw)
		binary.BigEndian.PutUint64(b[8:], snapshot)
		binary.BigEndian.PutUint32(b[16:], place)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	id := c.Snapshot().ID()
	if got := to(id, 1000); got != cursor {
		t.Fatalf("the cursor is %q, not %q as this test believes", cursor, got)
	}
	list(t, c, protocol.Legacy, to(id, 2000))

	_, foreign := list(t, big(), protocol.Legacy, "")
	trailing := []byte(cursor)
	trailing[len(trailing)-1]++ // sets bits that encode nothing
	for name, bad := range map[string]string{
		"of another catalog":  foreign,
		"the first page":      to(id, 0),
		"in a page":           to(id, 1001),
		"behind the end":      to(id, 3000),
		"far behind the end":  to(id, 1<<32-1),
		"an older list":       to(id-1, 1000),
		"a list to come":      to(id+1, 1000),
		"no list at all":      to(0, 0),
		"short":               cursor[:len(cursor)-1],
		"long":                cursor + "A",
		"padded":              cursor + "=",
		"with a line break":   cursor[:20] + "\n" + cursor[21:],
		"with one line break": cursor + "\n",
		"other spelling":      string(trailing),
		"not base64":          strings.Repeat("!", len(cursor)),
		"text":                "2",
	} {
		if text, err := c.List(protocol.Legacy, hub.ListTools, bad); !hub.IsCode(err, message.CursorUnknown) || text != nil {
			t.Errorf("%s: page %.50q, error %v", name, text, err)
		}
	}
}
