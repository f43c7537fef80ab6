package testdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sharedServer returns the administrator's DSN of the server that all tests of this process use. The first caller
// starts it, unless the environment names one. What it found is kept in a file of the process, whose lock makes
// the others wait: parallel tests agree on one server without any variable of this package.
func sharedServer(s software) (string, error) {
	if admin := os.Getenv(s.variable); admin != "" {
		return admin, nil
	}
	place := filepath.Join(os.TempDir(), fmt.Sprintf("paidonce-tests-%d-%d-%s", os.Getppid(), os.Getpid(), s.name))
	lock, err := os.OpenFile(place, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	known, err := os.ReadFile(place)
	if err != nil {
		return "", err
	}
	if admin := string(known); admin != "" && execute(s, admin, "SELECT 1") == nil {
		return admin, nil
	}
	server, err := launchWatched(s, place)
	if err != nil {
		return "", errors.Join(err, os.Remove(place))
	}
	if err := lock.Truncate(0); err != nil {
		return "", err
	}
	_, err = lock.WriteAt([]byte(server.Admin()), 0)
	return server.Admin(), err
}

// Up starts one server of each kind in dir, for all test processes of a run, and returns the environment that leads
// to them. Servers that are there already are left as they are.
func Up(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the servers' own users must get through
		return nil, err
	}
	var environment []string
	for _, s := range []software{mariadb(), postgres()} {
		server, err := reopen(s, dir)
		if errors.Is(err, fs.ErrNotExist) {
			server = &Server{software: s, dir: filepath.Join(dir, s.name), keeper: -1}
			if err = server.launch(); err == nil {
				err = os.WriteFile(portFile(s, dir), []byte(strconv.Itoa(server.port)), 0o600)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		environment = append(environment, s.variable+"="+server.Admin())
	}
	return environment, nil
}

// Down ends what Up started and deletes dir.
func Down(dir string) error {
	var failed error
	for _, s := range []software{mariadb(), postgres()} {
		server := &Server{software: s, dir: filepath.Join(dir, s.name), keeper: -1}
		failed = errors.Join(failed, server.remove())
	}
	return errors.Join(failed, os.RemoveAll(dir))
}

func portFile(s software, dir string) string { return filepath.Join(dir, s.name, "port") }

// reopen finds the running server of an earlier Up; fs.ErrNotExist if there is none that answers.
func reopen(s software, dir string) (*Server, error) {
	server := &Server{software: s, dir: filepath.Join(dir, s.name), keeper: -1}
	text, err := os.ReadFile(portFile(s, dir))
	if err != nil {
		return nil, err
	}
	if server.port, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return nil, err
	}
	if err := execute(s, server.Admin(), "SELECT 1"); err != nil {
		return nil, errors.Join(fs.ErrNotExist, server.remove())
	}
	return server, nil
}
