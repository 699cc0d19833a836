package telemetry

import "github.com/toolcrib/toolcrib/internal/hub"

// voice is how endpoints, backends and devices stand. Labels are the names that the
// configuration has for them: no address, and no token.
func (c *collector) voice(put put) {
	for kind, tell := range map[string]func() []hub.EndpointStatus{"endpoint": c.opt.Endpoints, "backend": c.opt.Backends} {
		if tell == nil {
			continue
		}
		for _, st := range tell() {
			for _, s := range endpointStates() {
				put("toolcrib_endpoint_state", truth(st.State == s), kind, st.Name, string(s))
			}
			if !st.Since.IsZero() {
				put("toolcrib_endpoint_state_since_timestamp_seconds", float64(st.Since.Unix()), kind, st.Name)
			}
			put("toolcrib_endpoint_connects_total", float64(st.Connects), kind, st.Name)
			put("toolcrib_endpoint_callers", float64(st.Callers), kind, st.Name)
			if st.CloseCode != 0 {
				put("toolcrib_endpoint_last_close_code", float64(st.CloseCode), kind, st.Name)
			}
			if !st.LastPing.IsZero() {
				put("toolcrib_endpoint_last_ping_timestamp_seconds", float64(st.LastPing.Unix()), kind, st.Name)
			}
			put("toolcrib_endpoint_calls_total", float64(st.Calls), kind, st.Name)
			put("toolcrib_endpoint_calls_in_flight", float64(st.Running), kind, st.Name)
			put("toolcrib_endpoint_truncated_total", float64(st.Truncated), kind, st.Name)
			put("toolcrib_endpoint_timeouts_total", float64(st.TimedOut), kind, st.Name)
			put("toolcrib_endpoint_junk_total", float64(st.Junk), kind, st.Name)
			put("toolcrib_endpoint_tools", float64(st.Tools), kind, st.Name)
			if !st.TokenExpires.IsZero() {
				put("toolcrib_endpoint_token_expiry_timestamp_seconds", float64(st.TokenExpires.Unix()), kind, st.Name)
			}
		}
	}
	if c.opt.Devices == nil {
		return
	}
	var online, calls, late, junk, audio float64
	for _, st := range c.opt.Devices() {
		online += truth(st.Online)
		calls, late, junk, audio = calls+float64(st.Calls), late+float64(st.Late), junk+float64(st.Junk), audio+float64(st.Audio)
	}
	put("toolcrib_devices_online", online)
	put("toolcrib_device_calls_total", calls)
	put("toolcrib_device_late_answers_total", late)
	put("toolcrib_device_junk_total", junk)
	put("toolcrib_device_audio_frames_total", audio)
}

// endpointStates are all that an endpoint can be in.
func endpointStates() []hub.EndpointState {
	return []hub.EndpointState{
		hub.EndpointDisabled, hub.EndpointConnecting, hub.EndpointConnected, hub.EndpointWaiting,
		hub.EndpointReplaced, hub.EndpointAuthFailed, hub.EndpointStopped,
	}
}
