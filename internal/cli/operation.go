package cli

import (
	"maps"
	"slices"
	"strconv"
)

// operations is the table of what was measured of each operation. Those that
// failed stand apart, under the name with ".error".
func (p *printer) operations(v *sight) []column {
	say := p.say
	all := []column{
		{head: say("OPERATION", "操作"), left: true},
		{head: say("TOTAL", "次数")},
		{head: say("AVG", "平均")},
		{head: say("MIN", "最短"), gives: 4},
		{head: say("MAX", "最长"), gives: 3},
		{head: "P50", gives: 2},
		{head: "P95"},
		{head: "P99", gives: 1},
	}
	for _, name := range slices.Sorted(maps.Keys(v.stats.Operations)) {
		o := v.stats.Operations[name]
		for i, cell := range []string{
			clean(name), strconv.FormatInt(o.Total, 10), took(o, o.Avg), took(o, o.Min), took(o, o.Max),
			took(o, o.P50), took(o, o.P95), took(o, o.P99),
		} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return all
}
