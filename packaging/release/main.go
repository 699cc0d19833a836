// Command release builds what is given to people: for each system an archive
// with the program and what belongs to it, and the checksums of all archives.
//
//	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) go run ./packaging/release -version v1.2.3 -out dist
//
// It is run in the root of the repository. The same source, built by the same
// Go under the same version and SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch), gives the same
// bytes, wherever and whenever that is done.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the `version` to stamp and to name the archives by")
	out := flag.String("out", "dist", "the `directory` to write to")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64",
		"the `systems` to build for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *version, *out, strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes an archive for each target, and SHA256SUMS, which is checked
// by "sha256sum -c".
func release(ctx context.Context, version, out string, targets []string) error {
	if !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]*$`).MatchString(version) {
		return fmt.Errorf("-version %q cannot be part of a file name", version)
	}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH has to be the seconds since 1970 of the last change of the source")
	}
	work, err := os.MkdirTemp("", "toolcrib-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b := builder{version: version, dir: work}
	extras, err := b.completions(ctx)
	if err != nil {
		return err
	}
	var sums []string
	for _, name := range targets {
		t, err := parseTarget(name)
		if err != nil {
			return err
		}
		files, err := b.files(ctx, t, extras)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		top := fmt.Sprintf("toolcrib_%s_%s_%s", version, t.os, t.arch)
		archive, pack := top+".tar.gz", tarball
		if t.os == "windows" {
			archive, pack = top+".zip", zipball
		}
		raw, err := pack(top, files, time.Unix(epoch, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if err := os.WriteFile(filepath.Join(out, archive), raw, 0o644); err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), archive))
		fmt.Printf("%s  %.1f MiB\n", filepath.Join(out, archive), float64(len(raw))/(1<<20))
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}
