package api

// IndexUpload is a tool index that is to be taken over.
type IndexUpload struct {
	Text  string `json:"text" doc:"Of the file, which is of version 1.0.0"`
	Force bool   `json:"force,omitempty" doc:"Also in place of what a server said itself before the hub started"`
}
