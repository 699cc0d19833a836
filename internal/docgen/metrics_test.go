package docgen

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/telemetry"
)

// TestMetrics is the table of the metrics for Prometheus.
func TestMetrics(t *testing.T) {
	tr := newTranslation(t, "metrics.zh.txt")
	inBoth(t, "docs/monitoring", func(lang message.Lang) map[string]string {
		rows := [][]string{{tr.say(lang, "metric"), tr.say(lang, "kind"), tr.say(lang, "labels"), tr.say(lang, "meaning")}}
		for _, m := range telemetry.Metrics() {
			labels := ""
			if len(m.Labels) > 0 {
				labels = "`" + strings.Join(m.Labels, "`, `") + "`"
			}
			rows = append(rows, []string{"`" + m.Name + "`", string(m.Kind), labels, tr.say(lang, m.Help)})
		}
		return map[string]string{"metrics": table(rows...)}
	})
	tr.done()
}
