package proc

import (
	"errors"
	"path/filepath"
	"strings"
)

// isBatchFile reports whether Windows runs a file by cmd.exe, as it does
// npx.cmd and most of what npm installs.
func isBatchFile(path string) bool {
	ext := filepath.Ext(path)
	return strings.EqualFold(ext, ".cmd") || strings.EqualFold(ext, ".bat")
}

// batchCommandLine makes the command line by which cmd.exe runs a batch file
// with exactly these arguments.
//
// cmd.exe does not split a line like other programs: with the usual quoting an
// argument such as a URL with "&" would run a second command
// (CVE-2024-24576). These are the rules of Rust's standard library for it.
func batchCommandLine(file string, args []string) (string, error) {
	if strings.ContainsAny(file, "\"\x00\r\n%") || strings.HasSuffix(file, `\`) {
		return "", errors.New("file name not fit for cmd.exe")
	}
	var line strings.Builder
	// /e:ON is what the escape of "%" below rests on; /v:OFF keeps "!" plain;
	// /d skips the commands that the registry may name.
	line.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""` + file + `"`)
	for _, arg := range args {
		if strings.ContainsAny(arg, "\x00\r\n") {
			return "", errors.New("argument of a batch file holds a line end or NUL")
		}
		line.WriteByte(' ')
		writeBatchArg(&line, arg)
	}
	line.WriteByte('"')
	return line.String(), nil
}

func writeBatchArg(line *strings.Builder, arg string) {
	quote := arg == "" || strings.HasSuffix(arg, `\`) || strings.ContainsFunc(arg, needsQuotes)
	if quote {
		line.WriteByte('"')
	}
	backslashes := 0
	for _, r := range arg {
		switch r {
		case '\\':
			backslashes++
		case '"':
			// A quote is doubled, and so are the backslashes before it.
			line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
			backslashes = 0
		case '%':
			// "%cd:~,%" expands to nothing, and takes with it the chance that
			// the "%" begins the name of a variable.
			line.WriteString("%%cd:~,")
			backslashes = 0
		default:
			backslashes = 0
		}
		line.WriteRune(r)
	}
	if quote {
		line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
	}
}

// needsQuotes names what is plain, as cmd.exe gives a meaning to most of the
// rest.
func needsQuotes(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	case r < 0x80:
		return !strings.ContainsRune(`#$*+-./:?@\_`, r)
	default:
		return r < 0xa0 // control characters
	}
}
