package testdb

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// errNotInstalled: the server's programs are not on this machine.
var errNotInstalled = errors.New("not installed")

// software is what differs between the two servers.
type software struct {
	name     string
	driver   string
	variable string         // environment variable with the DSN of a server that is already there
	user     string         // whom the distribution made for this server; used when we are root
	stop     syscall.Signal // ends the server in good order without waiting for clients

	// prepare is the command that makes an empty data folder, serve the one that runs the server on it.
	prepare func(data string) ([]string, error)
	serve   func(data string, port int) ([]string, error)

	admin  func(port int) string                    // DSN of the administrator
	within func(admin, name string) (string, error) // the same for another database
	drop   func(name string) []string
}

const loopback = "127.0.0.1"

func postgres() software {
	return software{
		name: "postgres", driver: "pgx", variable: "PAIDONCE_TEST_POSTGRES", user: "postgres", stop: syscall.SIGINT,
		prepare: func(data string) ([]string, error) {
			initdb, err := find("initdb", "/usr/lib/postgresql/*/bin")
			return []string{initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
				"--no-sync"}, err
		},
		serve: func(data string, port int) ([]string, error) {
			server, err := find("postgres", "/usr/lib/postgresql/*/bin")
			return []string{server, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=" + loopback,
				"-c", "unix_socket_directories=", "-c", "max_connections=500", "-c", "shared_buffers=128MB",
				"-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on"}, err
		},
		admin: func(port int) string {
			return fmt.Sprintf("postgres://postgres@%s:%d/postgres?sslmode=disable", loopback, port)
		},
		within: func(admin, name string) (string, error) {
			dsn, err := url.Parse(admin)
			if err != nil {
				return "", errors.New("the administrator's DSN is not a URL")
			}
			dsn.Path = "/" + name
			return dsn.String(), nil
		},
		drop: func(name string) []string { return []string{"DROP DATABASE " + name + " WITH (FORCE)"} },
	}
}

func mariadb() software {
	return software{
		name: "mariadb", driver: "mysql", variable: "PAIDONCE_TEST_MARIADB", user: "mysql", stop: syscall.SIGTERM,
		prepare: func(data string) ([]string, error) {
			install, err := find("mariadb-install-db", "/usr/bin")
			return []string{install, "--no-defaults", "--datadir=" + data, "--tmpdir=" + data, "--skip-test-db",
				"--auth-root-authentication-method=normal"}, err
		},
		serve: func(data string, port int) ([]string, error) {
			server, err := find("mariadbd", "/usr/sbin")
			// A server that starts clears its folder for temporary tables, so no two may share one.
			return []string{server, "--no-defaults", "--datadir=" + data, "--tmpdir=" + data, "--port=" + strconv.Itoa(port),
				"--bind-address=" + loopback, "--socket=" + data + ".sock", "--pid-file=" + data + ".pid",
				"--skip-name-resolve", "--skip-log-bin", "--max-connections=500", "--innodb-buffer-pool-size=128M",
				"--innodb-flush-log-at-trx-commit=1", "--character-set-server=utf8mb4"}, err
		},
		admin: func(port int) string { return fmt.Sprintf("root@tcp(%s:%d)/", loopback, port) },
		within: func(admin, name string) (string, error) {
			config, err := mysql.ParseDSN(admin)
			if err != nil {
				return "", errors.New("the administrator's DSN is not one of go-sql-driver/mysql")
			}
			config.DBName = name
			return config.FormatDSN(), nil
		},
		// A transaction that a test left open must not hold up the whole run.
		drop: func(name string) []string { return []string{"SET lock_wait_timeout = 5", "DROP DATABASE " + name} },
	}
}

// find looks for a program where the distribution puts it, newest version first, and then on the path.
func find(program, folders string) (string, error) {
	places, err := filepath.Glob(filepath.Join(folders, program))
	if err != nil {
		return "", err
	}
	slices.Sort(places)
	for _, place := range slices.Backward(places) {
		if found, err := exec.LookPath(place); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is %w", program, errNotInstalled)
	}
	return found, nil
}
