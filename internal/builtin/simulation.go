package builtin

import "context"

// newSimulation returns a machine that exists in memory only, and tells of a
// system that is the same each time.
func newSimulation() *device {
	load := 12.5
	return &device{
		screen:    &remembered{setting{percent: 50}},
		speakers:  &remembered{setting{percent: 50}},
		simulated: true,
		limit:     deviceLimit,
		system: func(context.Context) systemInfo {
			return systemInfo{
				OS: "simulated", Platform: "simulated", Version: "1.0", Kernel: "1.0", Architecture: "simulated",
				UptimeSeconds: 3600,
				CPU:           processor{Model: "Simulated processor", Count: 4, LoadPercent: &load},
				Memory:        space{Total: 8 * gibibyte, Used: 2 * gibibyte},
				Disk:          diskSpace{Path: "/", space: space{Total: 64 * gibibyte, Used: 16 * gibibyte}},
				Battery:       battery{Percent: 80, State: "Discharging"},
			}
		},
	}
}

// remembered is a knob that is not there. Its device lets one call at a time
// in.
type remembered struct{ now setting }

func (r *remembered) read(context.Context) (setting, error) { return r.now, nil }

func (r *remembered) turn(_ context.Context, percent int) error {
	r.now.percent = percent
	return nil
}
