//go:build !linux && !darwin

package proc

// here is not known, so that a sweep trusts no process id of a record. On
// Windows none is left to be trusted: a job ends with the hub.
func here() place { return place{} }

func find(int) (entry, bool) { return entry{}, false }

func processes() ([]entry, error) { return nil, nil }
