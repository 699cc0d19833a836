package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a new pseudo-terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func TestReadHidden(t *testing.T) {
	person, program := terminal(t)
	if _, err := person.WriteString("value\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := readHidden(t.Context(), int(program.Fd())); string(text) != "value" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}

	// A person who thinks better of it finds the terminal as it was.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := readHidden(ctx, int(program.Fd()))
		done <- err
	}()
	for echoes(t, program) {
		if t.Context().Err() != nil {
			t.Fatal("the terminal shows what is typed")
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not show what is typed any more")
	}
	// What still reads ends with the line.
	if _, err := person.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
}
