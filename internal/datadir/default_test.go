package datadir

import (
	"path/filepath"
	"testing"
)

func TestDefault(t *testing.T) {
	abs := func(s string) string {
		p, err := filepath.Abs(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	home := abs("/home/ada")
	tests := []struct {
		name string
		goos string
		env  map[string]string
		want string // empty: an error
	}{
		{"linux", "linux", map[string]string{"HOME": home}, filepath.Join(home, ".local", "share", "toolcrib")},
		{"xdg", "linux", map[string]string{"HOME": home, "XDG_DATA_HOME": abs("/data")}, filepath.Join(abs("/data"), "toolcrib")},
		{"relative xdg", "linux", map[string]string{"HOME": home, "XDG_DATA_HOME": "data"}, filepath.Join(home, ".local", "share", "toolcrib")},
		{"darwin", "darwin", map[string]string{"HOME": home, "XDG_DATA_HOME": abs("/data")}, filepath.Join(home, "Library", "Application Support", "Toolcrib")},
		{"windows", "windows", map[string]string{"HOME": home, "LocalAppData": "L"}, filepath.Join("L", "Toolcrib")},
		{"override", "linux", map[string]string{EnvPath: abs("/own"), "HOME": home}, abs("/own")},
		{"override is made absolute", "windows", map[string]string{EnvPath: "own"}, abs("own")},
		{"no home", "linux", nil, ""},
		{"no home on darwin", "darwin", nil, ""},
		{"no local app data", "windows", map[string]string{"HOME": home}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := defaultPath(tt.goos, func(k string) string { return tt.env[k] })
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("defaultPath = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	t.Setenv(EnvPath, home)
	if got, err := Default(); got != home || err != nil {
		t.Errorf("Default() = %q, %v", got, err)
	}
}
