package message

// ClassesOf are the classes that a code is entered under.
func ClassesOf(code Code) []Class {
	var all []Class
	for class, codes := range classified {
		for _, c := range codes {
			if c == code {
				all = append(all, class)
			}
		}
	}
	return all
}

// Phrases has the Chinese of all phrases of ours, by their English formats.
func Phrases() map[string]string { return ours() }
