package search_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/search"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		" -_./ ":                                 "",
		"Read a file":                            "read a file",
		"read_file read-file a.b/c":              "read file read file a b c",
		"readFile":                               "read file readfile",
		"HTTPServer":                             "http server httpserver",
		"GitHub":                                 "git hub github",
		"parseURL":                               "parse url parseurl",
		"base64 v2Beta":                          "base 64 base64 v 2 beta v2beta",
		"ABC":                                    "abc",
		"issues entries status address news his": "issue entry status address new his",
		"Größe Ärger ΑΘΗΝΑ":                      "größe ärger αθηνα",
		"e\u0301te\u0301":                        "e\u0301te\u0301",
		"读取文件":                                   "读 读取 取 取文 文 文件 件",
		"用GitHub查天气":                             "用 git hub github 查 查天 天 天气 气",
		"天，气":                                    "天 气",
		"コーヒー":                                   "コ コー ー ーヒ ヒ ヒー ー",
		"한국어":                                    "한 한국 국 국어 어",
		"ＡＢＣ　１２":                                 "abc 12",
		"a\xffb\xe4\xb8c":                        "a b c",
		"a\ufffdb":                               "a b",
	} {
		if got := strings.Join(slices.Collect(search.Terms(text)), " "); sorted(got) != sorted(want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// sorted is a text with its words in order. Of a pair and its second character
// neither is the first by nature.
func sorted(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Whoever stops reading terms gets no more.
func TestTermsStop(t *testing.T) {
	for _, text := range []string{"a b c", "fooBarBaz", "文件夹", "a文b件", "x1y2"} {
		all := slices.Collect(search.Terms(text))
		for n := range all {
			var some []string
			for term := range search.Terms(text) {
				if some = append(some, term); len(some) == n+1 {
					break
				}
			}
			if diff := cmp.Diff(all[:n+1], some); diff != "" {
				t.Errorf("%q, %d of %d: %s", text, n+1, len(all), diff)
			}
		}
	}
}

// tools makes an index of names and descriptions.
func tools(pairs ...string) *search.Index {
	var documents [][]search.Field
	for i := 0; i < len(pairs); i += 2 {
		documents = append(documents, []search.Field{{Text: pairs[i], Weight: 3}, {Text: pairs[i+1], Weight: 1}})
	}
	return search.New(documents)
}

// found are the documents that an index finds.
func found(x *search.Index, query string, limit int) []int {
	all := []int{}
	for _, hit := range x.Search(query, limit) {
		all = append(all, hit.Document)
	}
	return all
}

func TestSearch(t *testing.T) {
	x := tools(
		"read_file", "Reads the contents of a file.",
		"write_file", "Writes text to a file.",
		"get_weather", "Current weather in a city, and a forecast.",
		"createIssue", "Opens an issue in a GitHub repository.",
		"calendar_add", "Adds an event to the calendar. See also read_file.",
		"天气查询", "查询某个城市的天气预报",
		"文件读取", "读取一个文件的内容",
	)
	for query, want := range map[string][]int{
		"":                     {},
		"...":                  {},
		"quantum":              {},
		"weather forecast":     {2},
		"WEATHER":              {2},
		"github issues":        {3},
		"GitHub":               {3},
		"write":                {1},
		"read":                 {0, 4}, // the name counts for more than a mention
		"明天北京天气怎么样":            {5},
		"读文件":                  {6},
		"read read read event": {4, 0}, // a word counts once
	} {
		got := found(x, query, 10)
		if len(got) > len(want) {
			got = got[:len(want)]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
	for _, limit := range []int{-1, 0, 1, 2, 1000} {
		if got := found(x, "file", limit); len(got) != min(max(limit, 0), 3) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
}

func TestRanking(t *testing.T) {
	// A rare word counts for more than a frequent one.
	x := tools("a", "server status", "b", "server restart", "c", "server log", "d", "quota")
	if got := found(x, "server quota", 1); !slices.Equal(got, []int{3}) {
		t.Errorf("a rare word: %v", got)
	}
	// The same in a longer text counts for less.
	x = tools("a", "lamp "+strings.Repeat("other words ", 20), "b", "lamp")
	if got := found(x, "lamp", 2); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("a long text: %v", got)
	}
	// More of the same counts for more, but less and less.
	x = tools("a", "lamp door", "b", "lamp lamp", "c", "lamp lamp lamp door")
	hits := x.Search("lamp", 3)
	if hits[0].Document == 0 || hits[2].Document != 0 {
		t.Errorf("repeated words: %v", hits)
	}
	// Equals stay in their order.
	same := make([]string, 0, 200)
	for range 100 {
		same = append(same, "lamp", "a lamp")
	}
	x = tools(same...)
	hits = x.Search("lamp", 100)
	for i, hit := range hits {
		if hit.Document != i || hit.Score != hits[0].Score || hit.Score <= 0 {
			t.Fatalf("equals: %v at %d", hit, i)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, x := range []*search.Index{search.New(nil), search.New([][]search.Field{nil, {}}), tools("", "")} {
		if hits := x.Search("a", 5); len(hits) != 0 {
			t.Errorf("found %v", hits)
		}
	}
}

// A query may be of any length.
func TestLongQuery(t *testing.T) {
	var words strings.Builder
	for i := range 300 {
		fmt.Fprintf(&words, "q%c%c ", 'a'+i/26, 'a'+i%26)
	}
	x := tools("lamp", "")
	if got := found(x, words.String()+"lamp", 1); len(got) != 0 {
		t.Errorf("the 301st word counts: %v", got)
	}
	if got := found(x, strings.Repeat("the ", 5000)+"lamp", 1); len(got) != 1 {
		t.Errorf("repeated words keep others from counting: %v", got)
	}
}

func TestConcurrentSearch(t *testing.T) {
	x := tools("read_file", "", "write_file", "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if got := found(x, "write file", 2); !slices.Equal(got, []int{1, 0}) {
					t.Errorf("found %v", got)
				}
			}
		})
	}
	group.Wait()
}

func FuzzTerms(f *testing.F) {
	for _, text := range []string{"readFile_v2", "读取文件 HTTPServer", "a\xffb\xe4\xb8", "e\u0301ﬀ", "ＡＢ１", "ⅧǅΣς"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			t.Skip()
		}
		total := 0
		for term := range search.Terms(text) {
			if term == "" || !utf8.ValidString(term) || strings.ContainsAny(term, " _-./\x00\ufffd") {
				t.Fatalf("term %q of %q", term, text)
			}
			if 'A' <= term[0] && term[0] <= 'Z' {
				t.Fatalf("term %q of %q is not in lower case", term, text)
			}
			total += len(term)
		}
		// Each character is in at most three terms, and lower case may be longer.
		if total > 3*2*len(text) {
			t.Fatalf("%d bytes of terms from %d", total, len(text))
		}
		// What has a term is found by its own text.
		x := search.New([][]search.Field{{{Text: text, Weight: 1}}})
		if hits := x.Search(text, 1); (total > 0) != (len(hits) == 1) {
			t.Fatalf("%q finds %v in itself", text, hits)
		}
	})
}

// corpus are documents of the size of usual tools.
func corpus(n int) [][]search.Field {
	documents := make([][]search.Field, n)
	for i := range documents {
		documents[i] = []search.Field{
			{Text: fmt.Sprintf("server%d__create_thing_%d", i%20, i), Weight: 3},
			{Text: strings.Repeat(fmt.Sprintf("Creates the thing number %d in a repository, and says where it is. ", i), 4), Weight: 1},
			{Text: "owner repo path branch message content", Weight: 1},
			{Text: "Who owns the repository. Its name. Where the file is, from the root on.", Weight: 1},
		}
	}
	return documents
}

func BenchmarkNew(b *testing.B) {
	documents := corpus(1000)
	for b.Loop() {
		search.New(documents)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := search.New(corpus(1000))
	for b.Loop() {
		x.Search("create a thing number 512 in the repository of an owner", 5)
	}
}
