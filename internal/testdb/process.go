package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func (s *Server) pidFile() string { return filepath.Join(s.dir, "pid") }

// pid is the server's process; an error means that it is not running.
func (s *Server) pid() (int, error) {
	text, err := os.ReadFile(s.pidFile())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// end sends the signal and waits until the process and its helpers are gone: PostgreSQL does not start again while
// a helper of its former life is still attached to its memory.
func (s *Server) end(signal syscall.Signal) error {
	pid, err := s.pid()
	if err != nil {
		return fmt.Errorf("testdb: the server is not running: %w", err)
	}
	family := append(children(pid), pid)
	if signal != syscall.SIGKILL {
		family = []int{pid}
	}
	for _, member := range family {
		if err := syscall.Kill(member, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	for range 600 {
		if !anyAlive(family) {
			return os.Remove(s.pidFile())
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("testdb: process %d survives signal %d", pid, signal)
}

// children are the processes that this one has started and not reaped.
func children(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil && !zombie(pid) {
			return true
		}
	}
	return false
}

// zombie reports whether the process has ended and only waits for its parent to read its status.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, ok := strings.Cut(string(text), ") ")
	return ok && strings.HasPrefix(state, "Z")
}

// remove ends the server, if it runs, and deletes all that it left.
func (s *Server) remove() error {
	var failed error
	if _, err := s.pid(); err == nil {
		failed = s.Stop()
	}
	failed = errors.Join(failed, os.RemoveAll(s.dir))
	if s.keeper >= 0 {
		failed = errors.Join(failed, syscall.Close(s.keeper))
		s.keeper = -1
	}
	return failed
}

// watcher waits until the other end of its standard input is closed, ends the server and deletes its files.
const watcher = `read -r _
pid=$(cat "$1/pid" 2>/dev/null) && kill -s "$2" "$pid" 2>/dev/null && for _ in $(seq 100); do
	kill -0 "$pid" 2>/dev/null || break
	grep -q '^State:.Z' "/proc/$pid/status" && break
	sleep 0.1
done
rm -rf "$1"
[ -z "$3" ] || rm -f "$3"`

// watch starts the watcher. This process alone holds the pipe's other end, and never reads or writes it, so that
// the server ends with this process even if that crashes or is killed. The end is a bare descriptor, because an
// os.File would be closed when nothing refers to it any more.
func (s *Server) watch(marker string) error {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	input := os.NewFile(uintptr(pipe[0]), "watcher")
	defer input.Close()
	run := exec.Command("sh", "-c", watcher, "watcher", s.dir, strconv.Itoa(int(s.software.stop)), marker)
	run.Stdin = input
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := run.Start(); err != nil {
		return errors.Join(err, syscall.Close(pipe[1]))
	}
	go func() { _ = run.Wait() }()
	s.keeper = pipe[1]
	return nil
}
