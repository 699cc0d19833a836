package rig

import (
	"path/filepath"
	"testing"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/datadir"
)

// Home is the home directory of a person of the test's own, who has set
// nothing.
type Home struct {
	Dir string
	Env []string // for programs that are to run there
}

// NewHome returns an empty home.
func NewHome(tb testing.TB) Home {
	tb.Helper()
	h := Home{Dir: tb.TempDir()}
	h.Env = []string{
		"HOME=" + h.Dir, "XDG_CONFIG_HOME=" + filepath.Join(h.Dir, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(h.Dir, ".local", "share"),
		"TOOLCRIB_DATA_DIR=", "TOOLCRIB_CONFIG=", "LC_ALL=C", AtOnce,
	}
	return h
}

// Config is where a hub looks for the configuration file.
func (h Home) Config() string { return filepath.Join(h.Dir, ".config", "toolcrib", "toolcrib.json") }

// Data is the data directory.
func (h Home) Data() string { return filepath.Join(h.Dir, ".local", "share", "toolcrib") }

// API returns a client of the hub's HTTP API, with the administrator's token.
func (h *Hub) API() *apiclient.Client { return h.APIAs(Token(h.Process.tb, h.DataDir)) }

// APIAs is API with another token, "" for none.
func (h *Hub) APIAs(token string) *apiclient.Client {
	h.Process.tb.Helper()
	c, err := apiclient.New(apiclient.Options{URL: h.URL, Token: token})
	if err != nil {
		h.Process.tb.Fatal(err)
	}
	h.Process.tb.Cleanup(c.Close)
	return c
}

// Token is the administrator's token of the hub with the data directory.
func Token(tb testing.TB, dataDir string) string {
	tb.Helper()
	token, err := auth.ReadToken(datadir.Layout(dataDir).AdminToken())
	if err != nil {
		tb.Fatal(err)
	}
	return token
}
