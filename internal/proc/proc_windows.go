package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a job object that ends all its processes when its last handle is
// closed, that is also when this process dies.
type tree struct {
	*account
	job windows.Handle
}

// newTree puts a running child into a job of its own, or ends it. What the
// child starts before it is in the job stays outside; it would have to do so
// within microseconds of its own start.
func newTree(leader *os.Process, a *account) (*tree, error) {
	job, err := killOnCloseJob(a.limits)
	if err == nil {
		if err = assign(job, leader); err == nil {
			return &tree{account: a, job: job}, nil
		}
		_ = windows.CloseHandle(job)
	}
	_ = leader.Kill()
	_, _ = leader.Wait()
	return nil, err
}

func killOnCloseJob(l Limits) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if l.Memory > 0 {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		limits.JobMemoryLimit = uintptr(l.Memory)
	}
	if l.Processes > 0 {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		limits.BasicLimitInformation.ActiveProcessLimit = uint32(min(l.Processes, math.MaxUint32))
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("set limits of job object: %w", err)
	}
	return job, nil
}

func assign(job windows.Handle, leader *os.Process) error {
	var err error
	handleErr := leader.WithHandle(func(handle uintptr) {
		process := windows.Handle(handle)
		err = windows.AssignProcessToJobObject(job, process)
		if err == nil {
			return
		}
		// A child that has ended already needs no job.
		if event, waitErr := windows.WaitForSingleObject(process, 0); waitErr == nil && event == windows.WAIT_OBJECT_0 {
			err = nil
		}
	})
	if err = errors.Join(handleErr, err); err != nil {
		return fmt.Errorf("assign to job object: %w", err)
	}
	return nil
}

// terminate reports that there is no way to ask: a child without a console
// cannot be signalled. All it gets is the end of standard input.
func (t *tree) terminate() bool { return false }

func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

// empty reports whether no process of the job is left.
func (t *tree) empty() bool {
	// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION of winnt.h.
	var accounting struct {
		TotalUserTime             int64
		TotalKernelTime           int64
		ThisPeriodTotalUserTime   int64
		ThisPeriodTotalKernelTime int64
		TotalPageFaultCount       uint32
		TotalProcesses            uint32
		ActiveProcesses           uint32
		TotalTerminatedProcesses  uint32
	}
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&accounting)), uint32(unsafe.Sizeof(accounting)), nil)
	return err == nil && accounting.ActiveProcesses == 0
}

// onlyZombies is always false: Windows has none.
func (t *tree) onlyZombies() bool { return false }

func (t *tree) close() { _ = windows.CloseHandle(t.job) }

// limit says what the job does not limit.
func (t *tree) limit() {
	if t.limits.CPU > 0 {
		t.notes = append(t.notes, "the use of processors is not limited on this system")
	}
	if t.limits.Files > 0 {
		t.notes = append(t.notes, "open files are not limited on this system")
	}
}

// endStrays has nobody to end: what leaves a job is never in it.
func (t *tree) endStrays(time.Duration, <-chan struct{}) bool { return true }

func (a *account) launch(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
	if isBatchFile(path) {
		line, err := batchCommandLine(path, argv[1:])
		if err != nil {
			return nil, err
		}
		system, err := windows.GetSystemDirectory()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(system, "cmd.exe")
		attr.Sys.CmdLine = line
	}
	return os.StartProcess(path, argv, attr)
}

func startReason(err error) Reason {
	switch {
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT):
		return BadFormat
	case errors.Is(err, fs.ErrPermission):
		return PermissionDenied
	default:
		return Failed
	}
}

// executable returns the program that file stands for: itself, if it has one
// of the extensions of PATHEXT, or file with the first of them that is there.
func executable(file string, env []string) (string, error) {
	extensions := getenv(env, "PATHEXT")
	if extensions == "" {
		extensions = ".COM;.EXE;.BAT;.CMD"
	}
	candidates := []string{}
	for _, extension := range filepath.SplitList(strings.ToLower(extensions)) {
		if strings.EqualFold(filepath.Ext(file), extension) {
			candidates = []string{file}
			break
		}
		candidates = append(candidates, file+extension)
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
			return candidate, nil
		}
	}
	if _, err := os.Stat(file); err == nil {
		return "", errNotExecutable
	}
	return "", fs.ErrNotExist
}

func describe(state *os.ProcessState) string {
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
