package testdb

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is one running database server that belongs to us. Its methods are for one goroutine at a time.
type Server struct {
	software software
	dir      string // everything of it; the data is in dir/data, the process id in dir/pid
	port     int
	keeper   int // descriptor whose closing tells the watcher to clean up; -1 if there is no watcher
}

// PrivatePostgres starts a server for this test alone, which the test may stop, kill and start again.
func PrivatePostgres(t testing.TB) *Server { t.Helper(); return private(t, postgres()) }

// PrivateMariaDB starts a server for this test alone, which the test may stop, kill and start again.
func PrivateMariaDB(t testing.TB) *Server { t.Helper(); return private(t, mariadb()) }

func private(t testing.TB, s software) *Server {
	t.Helper()
	server, err := launchWatched(s, "")
	if errors.Is(err, errNotInstalled) {
		Missing(t, err.Error())
	}
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.name, err)
	}
	t.Cleanup(func() {
		if err := server.remove(); err != nil {
			t.Errorf("testdb: %s: %v", s.name, err)
		}
	})
	return server
}

// Database makes a fresh database on the server; see MariaDB and Postgres for the form of its DSN.
func (s *Server) Database(t testing.TB) Engine {
	t.Helper()
	return Engine{s.software.name, s.software.driver, database(t, s.software, s.Admin(), nil)}
}

// Admin is the DSN of the server's administrator.
func (s *Server) Admin() string { return s.software.admin(s.port) }

// Address is where the server listens, for a proxy in front of it.
func (s *Server) Address() string { return net.JoinHostPort(loopback, strconv.Itoa(s.port)) }

// Stop ends the server in good order, as a host does that shuts down. Clients are cut off.
func (s *Server) Stop() error { return s.end(s.software.stop) }

// Kill ends the server and its helpers at once, as losing the machine does: only what was synchronised remains.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Restart starts a stopped or killed server on the same data and the same port, and returns when it answers.
func (s *Server) Restart() error {
	if _, err := s.pid(); err == nil {
		return errors.New("testdb: the server is running")
	}
	return s.start()
}

// launchWatched starts a server in a temporary folder, and a watcher that ends it together with this process and
// deletes the folder and the file named marker, if any.
func launchWatched(software software, marker string) (*Server, error) {
	dir, err := os.MkdirTemp("", "paidonce-"+software.name+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{software: software, dir: dir, keeper: -1}
	if err := s.watch(marker); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, s.launch()
}

// launch prepares the data folder and starts the server on it. It leaves nothing behind if that fails.
func (s *Server) launch() error {
	err := s.prepare()
	if err == nil {
		err = s.startSomewhere()
	}
	if err != nil {
		return errors.Join(err, s.remove())
	}
	return nil
}

// prepare makes the data folder. Both servers refuse to run as root, so it belongs to the server's own user then.
func (s *Server) prepare() error {
	data := filepath.Join(s.dir, "data")
	command, err := s.software.prepare(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	credential, err := s.credential()
	if err != nil {
		return err
	}
	for _, name := range []string{s.dir, data} {
		if err := os.Chmod(name, 0o700); err != nil {
			return err
		}
		if credential != nil {
			if err := os.Chown(name, int(credential.Uid), int(credential.Gid)); err != nil {
				return err
			}
		}
	}
	run := exec.Command(command[0], command[1:]...)
	run.Dir = s.dir
	run.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, output)
	}
	return nil
}

// credential is nil for anybody but root, whose server runs as the user that the distribution made for it.
func (s *Server) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	owner, err := user.Lookup(s.software.user)
	if err != nil {
		return nil, fmt.Errorf("user %s is %w", s.software.user, errNotInstalled)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// startSomewhere tries a few ports below the range from which the kernel gives ports to outgoing connections, so
// that nobody takes the port while the server is down.
func (s *Server) startSomewhere() error {
	var failed error
	for range 5 {
		s.port = 20000 + rand.IntN(10000)
		if failed = s.start(); failed == nil {
			return nil
		}
	}
	return failed
}

func (s *Server) start() error {
	command, err := s.software.serve(filepath.Join(s.dir, "data"), s.port)
	if err != nil {
		return err
	}
	credential, err := s.credential()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	run := exec.Command(command[0], command[1:]...)
	run.Dir, run.Stdout, run.Stderr = s.dir, log, log
	run.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setsid: true}
	if err := run.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	if err := os.WriteFile(s.pidFile(), []byte(strconv.Itoa(run.Process.Pid)), 0o600); err != nil {
		return errors.Join(err, s.Kill())
	}
	if err := s.await(ended); err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, s.tail()), s.Kill())
	}
	return nil
}

// await returns when the server answers, or when it has ended or been silent for half a minute.
func (s *Server) await(ended <-chan error) error {
	db, err := sql.Open(s.software.driver, s.Admin())
	if err != nil {
		return err
	}
	defer db.Close()
	for range 300 {
		if err = db.Ping(); err == nil {
			return nil
		}
		select {
		case ended := <-ended:
			return fmt.Errorf("the server ended at once: %w", ended)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server does not answer: %w", err)
}

func (s *Server) tail() string {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(log), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
