package config

// What of a single value may be shown; the same as [Masked] shows of a file.

// MaskEnv returns environment variables with every value that may be a secret
// replaced by [Unchanged]. It is not nil.
func MaskEnv(env map[string]string) map[string]string {
	shown := make(map[string]string, len(env))
	for name, value := range env {
		_, spans := judge(inEnv, name, value)
		shown[name] = mask(value, spans)
	}
	return shown
}

// MaskURL returns an address with what may be a secret replaced by [Unchanged].
func MaskURL(address string) string {
	_, spans := judge(plain, "url", address)
	return mask(address, spans)
}

// MaskCommand returns a command, which may hold its arguments as well, with what
// may be a secret replaced by [Unchanged].
func MaskCommand(command string) string { return mask(command, commandLine(command)) }

// MaskHeaders returns headers of requests with every value that may be a secret
// replaced by [Unchanged]. It is not nil.
func MaskHeaders(headers map[string]string) map[string]string {
	shown := make(map[string]string, len(headers))
	for name, value := range headers {
		_, spans := judge(inHeader, name, value)
		shown[name] = mask(value, spans)
	}
	return shown
}

// Descriptions returns, by key, what entries of a text have as their
// "description", which has no effect but for people. A text that cannot be parsed
// has none.
func Descriptions(text []byte) map[string]string {
	t, err := plant(text)
	if err != nil {
		return nil
	}
	blocks, err := t.blocks("")
	if err != nil {
		return nil
	}
	all := make(map[string]string)
	for _, b := range blocks {
		c := childrenOf(b.value)
		for i := range c.len() {
			key, ok := entryKey(c, i)
			if v := childrenOf(c.value(i)).member("description"); ok && v != nil && v.Value.Kind() == '"' {
				all[key] = textOf(v)
			}
		}
	}
	return all
}
