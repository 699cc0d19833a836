//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where struct seccomp_data has the number of the call, the architecture, and
// the lower half of an argument. Both architectures are little-endian.
const (
	dataCall = 0
	dataArch = 4
)

func dataArg(n uint32) uint32 { return 16 + 8*n }

// filterSockets has the calling thread give up the ways to send over TCP that
// Landlock does not see, which only looks at connect(2) and bind(2) on sockets
// of plain TCP:
//
//   - sockets of other families and protocols, such as Multipath TCP (which Go
//     programs use by default to listen), SCTP and SMC, that carry the same
//   - data that is sent along with a connection (TCP Fast Open)
//   - io_uring, which makes sockets past this filter
//   - the system calls of another architecture, which have other numbers
//
// What is refused answers as if the kernel did not have it, to which programs
// know another way. Nobody has to be privileged after no_new_privs is set.
func filterSockets() error {
	program := socketFilter()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("set a seccomp filter: %w", errno)
	}
	return nil
}

func socketFilter() []unix.SockFilter {
	const x32 = 0x40000000 // the bit of amd64's calls with short pointers

	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	var f filter
	f.load(dataArch)
	f.refuseUnless(unix.ENOSYS, arch)
	f.load(dataCall)
	f.refuseIf(unix.BPF_JGE, unix.ENOSYS, x32)
	f.refuseIf(unix.BPF_JEQ, unix.ENOSYS, unix.SYS_IO_URING_SETUP)

	for call, flags := range map[uint32]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		f.on(call, func(f *filter) {
			f.load(dataArg(flags))
			f.refuseIf(unix.BPF_JSET, unix.EOPNOTSUPP, unix.MSG_FASTOPEN)
		})
	}
	f.on(unix.SYS_SOCKET, func(f *filter) {
		f.load(dataArg(0))
		f.allowIf(unix.AF_UNIX)
		f.allowIf(unix.AF_NETLINK)
		f.refuseUnless(unix.EAFNOSUPPORT, unix.AF_INET, unix.AF_INET6)
		f.load(dataArg(1))
		f.add(unix.BPF_ALU|unix.BPF_AND, 0xf, 0, 0) // without SOCK_NONBLOCK and SOCK_CLOEXEC
		f.refuseUnless(unix.ESOCKTNOSUPPORT, unix.SOCK_STREAM, unix.SOCK_DGRAM)
		f.load(dataArg(2))
		f.refuseUnless(unix.EPROTONOSUPPORT, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
	})
	f.answer(unix.SECCOMP_RET_ALLOW)
	return f
}

// filter is a program in classic BPF. It has one register, and its jumps go
// forward only, over as many steps as they name.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, ifTrue, ifFalse uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: k, Jt: ifTrue, Jf: ifFalse})
}

// load reads a word of struct seccomp_data.
func (f *filter) load(at uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }

func (f *filter) answer(action uint32) { f.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

func (f *filter) refuse(err syscall.Errno) { f.answer(unix.SECCOMP_RET_ERRNO | uint32(err)) }

// refuseIf refuses the call if the word stands in a relation to k.
func (f *filter) refuseIf(relation uint16, err syscall.Errno, k uint32) {
	f.add(unix.BPF_JMP|unix.BPF_K|relation, k, 0, 1)
	f.refuse(err)
}

// refuseUnless refuses the call if the word is none of those.
func (f *filter) refuseUnless(err syscall.Errno, words ...uint32) {
	for i, word := range words {
		f.add(unix.BPF_JMP|unix.BPF_K|unix.BPF_JEQ, word, uint8(len(words)-i), 0)
	}
	f.refuse(err)
}

// allowIf allows the call if the word is that one.
func (f *filter) allowIf(word uint32) {
	f.add(unix.BPF_JMP|unix.BPF_K|unix.BPF_JEQ, word, 0, 1)
	f.answer(unix.SECCOMP_RET_ALLOW)
}

// on judges one system call, whose number is the word, by steps of its own. It
// is allowed at their end.
func (f *filter) on(call uint32, judge func(*filter)) {
	var steps filter
	judge(&steps)
	steps.answer(unix.SECCOMP_RET_ALLOW)
	f.add(unix.BPF_JMP|unix.BPF_K|unix.BPF_JEQ, call, 0, uint8(len(steps)))
	*f = append(*f, steps...)
}
