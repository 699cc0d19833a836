package message

import "testing"

// No phrase is translated twice, of which only one translation would count.
func TestPhrasesAreOnce(t *testing.T) {
	sum := 0
	for _, part := range append(parts(), systemPhrases) {
		sum += len(part)
	}
	if sum != len(phrases) {
		t.Errorf("%d translations of %d phrases", sum, len(phrases))
	}
}
