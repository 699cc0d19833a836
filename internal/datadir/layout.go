package datadir

import "path/filepath"

// Layout is the absolute path of a data directory, and knows where each file
// in it lies. That a path is returned does not mean that the file is there.
type Layout string

// Path is the absolute path of the directory.
func (l Layout) Path() string { return string(l) }

// Index is the file in which the catalog keeps what servers offer.
func (l Layout) Index() string { return l.join("index.json") }

// Pins is the file in which the catalog keeps what was accepted of the tools of
// pinned servers.
func (l Layout) Pins() string { return l.join("pins.json") }

// Trees is the directory with the records of the processes that run.
func (l Layout) Trees() string { return l.join("trees") }

// AdminToken is the file with the administrator's token.
func (l Layout) AdminToken() string { return l.join("admin.token") }

// CallerToken is the file with the callers' token.
func (l Layout) CallerToken() string { return l.join("caller.token") }

// SealKey is the file with the key of the sealed values. Its directory is
// there, for the owner only, once the data directory has been opened.
func (l Layout) SealKey() string { return l.join("keys", "age.key") }

// Secrets is the file with the sealed values.
func (l Layout) Secrets() string { return l.join("secrets.json") }

// Logins is the file with the sealed logins at servers.
func (l Layout) Logins() string { return l.join("logins.json") }

// Store is the file of the database, unless it is kept elsewhere.
func (l Layout) Store() string { return l.join("toolcrib.db") }

// AuditKey is the file of the key that the record of calls is signed with.
func (l Layout) AuditKey() string { return l.join("keys", "audit.key") }

// DeviceKey is the file of the key that tokens of devices are made with.
func (l Layout) DeviceKey() string { return l.join("keys", "device.key") }

// DeviceEpochs is the file that says what tokens of devices were revoked.
func (l Layout) DeviceEpochs() string { return l.join("keys", "device-epochs.json") }

// Backends is the file with who the hub is to the backends whose device it is.
func (l Layout) Backends() string { return l.join("backends.json") }

// AuditJournal is the directory with what the record of calls has and the database
// does not have yet.
func (l Layout) AuditJournal() string { return l.join("audit") }

// HubFile is the file that says how to reach the hub that holds the directory.
func (l Layout) HubFile() string { return l.join("hub.json") }

func (l Layout) lockFile() string    { return l.join("lock") }
func (l Layout) versionFile() string { return l.join("version") }

func (l Layout) join(name ...string) string {
	return filepath.Join(append([]string{string(l)}, name...)...)
}
