package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal makes a pseudo-terminal: what a program writes to one end is read at the other.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	var locked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		_, _, fault := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(value)))
		if fault != 0 {
			t.Fatal(fault)
		}
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// A person at a terminal is shown a first token, once, and it works.
func TestAPersonIsShownTheFirstToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for start := range 2 {
		ours, theirs := openTerminal(t)
		s := &serving{cmd: p.command("serve", "--listen", "127.0.0.1:0")}
		s.cmd.Stdout = theirs
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.cmd.Process.Kill() })
		if err := theirs.Close(); err != nil { // so that reading ends when the program does
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(ours); !strings.Contains(s.banner, "New token:") && lines.Scan(); {
			s.banner += lines.Text() + "\n"
		}
		s.url = bannerAddress.FindStringSubmatch(s.banner)[1]
		token := tokenText.FindString(s.banner)
		if (token != "") != (start == 0) {
			t.Errorf("start %d shows\n%s", start+1, s.banner)
		}
		if status, _ := s.get(t, "/v1/orders", token); (status == http.StatusOK) != (start == 0) {
			t.Errorf("start %d: the token is answered %d", start+1, status)
		}
		if code := s.end(t); code != exitOK {
			t.Errorf("start %d ends with %d", start+1, code)
		}
	}
}
