package testdb_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/internal/testdb"
)

// role tells the copy of this test that it is the one to be killed.
const role = "PAIDONCE_TESTDB_VICTIM"

// A test process may be killed, run into its time limit or panic. Its servers must not outlive it.
func TestServersEndWithAKilledProcess(t *testing.T) {
	if os.Getenv(role) != "" {
		victim(t)
		return
	}
	testdb.MariaDB(t)
	testdb.Postgres(t) // both are installed, or this test ends here
	run := exec.Command(os.Args[0], "-test.run", "^TestServersEndWithAKilledProcess$", "-test.v")
	run.Env = append(os.Environ(), role+"=1", "PAIDONCE_TEST_MARIADB=", "PAIDONCE_TEST_POSTGRES=")
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for lines := bufio.NewScanner(output); len(addresses) < 3 && lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "serves "); ok {
			addresses = append(addresses, address)
		}
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err == nil || len(addresses) != 3 {
		t.Fatalf("the victim ended by itself: %v, %q", err, addresses)
	}
	for _, address := range addresses {
		if err := silent(address); err != nil {
			t.Error(err)
		}
	}
}

// victim starts one private and both common servers, says where they are, and waits for its end.
func victim(t *testing.T) {
	fmt.Println("serves " + testdb.PrivatePostgres(t).Address())
	for _, dsn := range []string{testdb.MariaDB(t), testdb.Postgres(t)} {
		start := strings.Index(dsn, "127.0.0.1:")
		fmt.Println("serves " + dsn[start:start+len("127.0.0.1:20000")])
	}
	time.Sleep(time.Minute)
}

func silent(address string) error {
	for range 200 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return nil
		}
		if err := connection.Close(); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New(address + " is still served")
}
