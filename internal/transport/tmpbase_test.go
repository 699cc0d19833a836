package transport

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
)

func cpu() int64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}

func BenchmarkTmp(b *testing.B) {
	for _, mode := range []string{"direct", "lines"} {
		b.Run(mode, func(b *testing.B) {
			s := startChild(b, "echo", LinesOptions{})
			msg := fmt.Appendf(nil, `{"a":%q}`, bytes.Repeat([]byte("x"), 142))
			line := append(msg, '\n')
			f := s.process.Stdin()
			b.ResetTimer()
			c := cpu()
			for range b.N {
				if mode == "direct" {
					f.Write(line)
				} else {
					s.Write(b.Context(), msg)
				}
				s.Read()
			}
			b.ReportMetric(float64(cpu()-c)/float64(b.N), "cpu-ns/op")
		})
	}
}
