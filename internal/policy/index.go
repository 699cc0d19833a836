package policy

import "slices"

// index finds those of the rules with one effect that may be met by a call, so
// that the others need not be looked at. A rule is found by the names of its tools
// if each of them says how it begins, else by those of its servers, else always.
type index struct {
	tools, servers names
	rest           []int32
	all            []int32 // each rule, in order
}

// names finds rules by what a name is, or begins with.
type names struct {
	exact    map[string][]int32
	prefixes map[string][]int32
	lengths  []int // of the prefixes, each once
}

func (x *index) add(r *rule, at int32) {
	x.all = append(x.all, at)
	switch {
	case begin(r.tools):
		x.tools.add(r.tools, at)
	case begin(r.servers):
		x.servers.add(r.servers, at)
	default:
		x.rest = append(x.rest, at)
	}
}

// begin reports whether there are patterns, and each says how a name begins.
func begin(patterns []pattern) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p pattern) bool { return p.start == "" && !p.exact() })
}

func (n *names) add(patterns []pattern, at int32) {
	if n.exact == nil {
		n.exact, n.prefixes = make(map[string][]int32), make(map[string][]int32)
	}
	for i := range patterns {
		p := &patterns[i]
		if p.exact() {
			n.exact[p.text] = append(n.exact[p.text], at)
			continue
		}
		n.prefixes[p.start] = append(n.prefixes[p.start], at)
		if !slices.Contains(n.lengths, len(p.start)) {
			n.lengths = append(n.lengths, len(p.start))
		}
	}
}

// find hands out what a name leads to; some of it may come more than once.
func (n *names) find(name string, yield func([]int32)) {
	if n.exact == nil {
		return
	}
	if list := n.exact[name]; list != nil {
		yield(list)
	}
	for _, length := range n.lengths {
		if length > len(name) {
			continue
		}
		if list := n.prefixes[name[:length]]; list != nil {
			yield(list)
		}
	}
}
