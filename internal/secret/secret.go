// Package secret fills in the placeholders of configured texts, keeps sealed
// values, and takes secrets out of what is shown.
//
// A text of the configuration may hold placeholders:
//
//	${env:NAME}        the environment variable NAME of the hub
//	${NAME}            the same, as Claude Code and Gemini CLI write it
//	${NAME:-default}   the same, or the default if it is not set (Claude Code)
//	${file:PATH}       what the file holds, without one line end at its end
//	${secret:NAME}     the value sealed under NAME
//	${input:ID}        the value sealed under "input.ID", else the variable
//	                   TOOLCRIB_INPUT_ID: VS Code's files ask a person for it
//	${workspaceFolder} the project that the configuration file belongs to
//	${workspaceFolderBasename}, ${userHome}, ${pathSeparator}, ${/}
//	                   as in VS Code and Cursor
//	$${                stands for ${ itself
//
// What is filled in is never looked at again for placeholders. A placeholder
// that cannot be filled in is an error, never an empty text.
package secret

import (
	"fmt"

	"github.com/toolcrib/toolcrib/internal/message"
)

// UnresolvedError says why a placeholder cannot be filled in. It holds no
// value.
type UnresolvedError struct {
	Placeholder string         // as it was written, without what may be a secret
	Reason      message.Phrase // a clause, such as: the environment variable X is not set
}

// Error names the placeholder and the reason.
func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("%s cannot be filled in: %s", e.Placeholder, e.Reason)
}
