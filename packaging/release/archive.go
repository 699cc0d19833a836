package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Everything in an archive that is not the files' content is made the same for
// all: their order, time, owner and rights.

// tarball packs files in a top directory as a compressed tape.
func tarball(top string, files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	zipper, err := gzip.NewWriterLevel(&buf, gzip.BestCompression) // its header holds no time and no name
	if err != nil {
		return nil, err
	}
	tape := tar.NewWriter(zipper)
	for _, f := range sorted(files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: top + "/" + f.name, Size: int64(len(f.content)),
			Mode: int64(f.mode().Perm()), ModTime: at, Format: tar.FormatPAX,
		}
		if err := tape.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := tape.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(tape.Close(), zipper.Close())
	return buf.Bytes(), err
}

// zipball packs files in a top directory as a zip archive.
func zipball(top string, files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	pack := zip.NewWriter(&buf)
	pack.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range sorted(files) {
		header := &zip.FileHeader{Name: top + "/" + f.name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(f.mode())
		w, err := pack.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := pack.Close()
	return buf.Bytes(), err
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}

func (f file) mode() fs.FileMode {
	if f.program {
		return 0o755
	}
	return 0o644
}
