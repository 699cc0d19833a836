// Package search finds documents by words: an index in memory that ranks by
// BM25 over weighted fields. It knows nothing of what the documents are.
package search

import (
	"cmp"
	"math"
	"slices"
)

// The parameters of BM25 that are usual where nothing was tuned (Robertson and
// Zaragoza, "The Probabilistic Relevance Framework", 2009, section 3.5): how soon
// more of the same word counts no more, and how much a long document is held
// against it.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// maxTerms is how many different words of a query count. A query is somebody
// else's text of any length.
const maxTerms = 256

// Field is a text of a document, and how often each of its words counts.
type Field struct {
	Text   string
	Weight float64 // more than 0
}

// Hit is a document that was found.
type Hit struct {
	Document int     // its place among those that the index was made of
	Score    float64 // more than 0; comparable within one answer only
}

// Index is what documents are found by. It never changes, and may be used from
// any goroutine.
type Index struct {
	norms    []float64 // by document: the part of BM25 that is the length's
	postings map[string][]posting
}

// posting says how much of a word a document has.
type posting struct {
	document int32
	weight   float64 // its occurrences, each by the weight of its field
}

// New makes an index of documents, each given by its fields. Nothing of them is
// kept but the words.
func New(documents [][]Field) *Index {
	x := &Index{norms: make([]float64, len(documents)), postings: make(map[string][]posting)}
	total := 0.0
	for i, fields := range documents {
		length := 0.0
		for _, f := range fields {
			for term := range Terms(f.Text) {
				x.note(term, int32(i), f.Weight)
				length += f.Weight
			}
		}
		x.norms[i] = length
		total += length
	}
	mean := max(total/float64(max(len(documents), 1)), 1)
	for i, length := range x.norms {
		x.norms[i] = saturation * (1 - lengthNorm + lengthNorm*length/mean)
	}
	return x
}

// note adds one occurrence of a term. Documents come one after another.
func (x *Index) note(term string, document int32, weight float64) {
	list := x.postings[term]
	if last := len(list) - 1; last >= 0 && list[last].document == document {
		list[last].weight += weight
		return
	}
	x.postings[term] = append(list, posting{document, weight})
}

// Search returns the documents that have at least one word of the query, the best
// first and of equals the first; at most so many as limit says.
func (x *Index) Search(query string, limit int) []Hit {
	scores := make([]float64, len(x.norms))
	seen := make(map[string]bool)
	for term := range Terms(query) {
		if seen[term] {
			continue
		}
		if len(seen) == maxTerms {
			break
		}
		seen[term] = true
		list := x.postings[term]
		rarity := x.rarity(len(list))
		for _, p := range list {
			scores[p.document] += rarity * p.weight * (saturation + 1) / (p.weight + x.norms[p.document])
		}
	}
	var hits []Hit
	for i, score := range scores {
		if score > 0 {
			hits = append(hits, Hit{i, score})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Document, b.Document))
	})
	return hits[:min(len(hits), max(limit, 0))]
}

// rarity is the inverse document frequency of a word that n documents have. By
// the 1 it is never negative, so that a word which most of them have is still
// better than none.
func (x *Index) rarity(n int) float64 {
	all := float64(len(x.norms))
	return math.Log(1 + (all-float64(n)+0.5)/(float64(n)+0.5))
}
