package device_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/voice"
)

// TestPace has a device speak all the time: its sound is read a few times a second,
// and nobody has to wait for that: neither a call, nor one that finds it gone.
func TestPace(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		speaking := make(chan struct{})
		go func() {
			defer close(speaking)
			for {
				s.Speak(make([]byte, 120)) // which on this pipe takes until it is read
				select {
				case <-s.Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := h.status(mac).Audio; got < 90 || got > 110 {
			t.Errorf("%d frames were read in ten seconds", got)
		}
		for range 20 {
			time.Sleep(33 * time.Millisecond)
			if a := h.ask(status, `{}`); a.err != nil || a.took > 30*time.Millisecond {
				t.Errorf("a call took %v: %v", a.took, a.err)
			}
		}
		time.Sleep(33 * time.Millisecond)
		s.Drop()
		if a := h.ask(status, `{}`); a.err == nil || a.took != 0 {
			t.Errorf("a call of the device that has just gone took %v: %v", a.took, a.err)
		}
		<-speaking
	})
}

// TestPaceOfMuch has a device send large frames of sound, and then something else: each
// waits once at the most.
func TestPaceOfMuch(t *testing.T) {
	in(t, func(t *testing.T) {
		h := open(t, usual())
		s := h.here(voice.FW(mac))
		began := time.Now()
		for range 10 {
			s.Speak(bytes.Repeat([]byte{1}, 300<<10))
		}
		s.Send(`{"type":"ping"}`)
		if s.Hear(t.Context(), `"pong"`) == "" || time.Since(began) > time.Second {
			t.Errorf("answered after %v", time.Since(began))
		}
		if a := h.ask(status, `{}`); a.err != nil && a.err.Code != message.DeviceOffline || a.took != 0 {
			t.Errorf("a call took %v: %v", a.took, a.err)
		}
	})
}
