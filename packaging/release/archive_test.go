package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// entry is what an archive says of a file.
type entry struct {
	Name, Content string
	Mode          int64
	Time          time.Time
	Owner         [2]int
}

func untar(t *testing.T, raw []byte) (all []entry) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("the compression has a time or a name of its own: %+v", z.Header)
	}
	for tape := tar.NewReader(z); ; {
		h, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tape)
		if err != nil || h.Uname != "" || h.Gname != "" {
			t.Fatalf("%s: %q %q %v", h.Name, h.Uname, h.Gname, err)
		}
		all = append(all, entry{h.Name, string(content), h.Mode, h.ModTime.UTC(), [2]int{h.Uid, h.Gid}})
	}
}

func unzip(t *testing.T, raw []byte) (all []entry) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{Name: f.Name, Content: string(content), Mode: int64(f.Mode().Perm()), Time: f.Modified.UTC()})
	}
	return all
}

func TestArchives(t *testing.T) {
	at := time.Date(2026, 11, 21, 7, 0, 2, 0, time.UTC)
	files := []file{
		{name: "toolcrib", content: bytes.Repeat([]byte("program "), 10_000), program: true},
		{name: "LICENSE", content: []byte("free\n")},
		{name: "docs/运行.md", content: nil},
	}
	want := []entry{
		{Name: "top/LICENSE", Content: "free\n", Mode: 0o644, Time: at},
		{Name: "top/docs/运行.md", Mode: 0o644, Time: at},
		{Name: "top/toolcrib", Content: string(files[0].content), Mode: 0o755, Time: at},
	}
	for name, kind := range map[string]struct {
		pack   func(string, []file, time.Time) ([]byte, error)
		unpack func(*testing.T, []byte) []entry
	}{
		"tar": {tarball, untar},
		"zip": {zipball, unzip},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := kind.pack("top", files, at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, kind.unpack(t, raw)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			// Neither the order of the files nor the place on Earth matters.
			again := slices.Clone(files)
			slices.Reverse(again)
			other, err := kind.pack("top", again, at.In(time.FixedZone("", 8*3600)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(raw, other) {
				t.Error("the same files give other bytes")
			}
		})
	}
}

func TestParseTarget(t *testing.T) {
	if got, err := parseTarget("linux/arm64"); err != nil || got != (target{"linux", "arm64"}) {
		t.Error(got, err)
	}
	for _, s := range []string{"", "linux", "linux/", "/arm64"} {
		if _, err := parseTarget(s); err == nil {
			t.Errorf("%q was let through", s)
		}
	}
}
