package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// child is a paidonce serve in a process of its own, which can be killed and started again.
type child struct {
	config, base, log string
	database          secret

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
	killed  int // deaths by SIGKILL, as the operating system reported them
}

// start runs the child and waits until it is ready.
func (c *child) start(ctx context.Context, faults string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has a copy
	process := exec.Command(program, "serve", "--config", c.config, "--leash")
	process.Env = append(os.Environ(), "PAIDONCE_DATABASE_URL="+c.database.reveal(), "PAIDONCE_FAULTS="+faults)
	process.Stdout, process.Stderr = log, log
	// Ctrl-C is for the demo, which then ends the child. The pipe is a leash: it closes when the demo ends, however that
	// happens.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := process.StdinPipe(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := process.Start(); err != nil {
		return fmt.Errorf("demo: start serve: %w", err)
	}
	ended := make(chan struct{})
	go c.wait(process, ended)
	c.mu.Lock()
	c.process, c.ended = process, ended
	c.mu.Unlock()
	return c.ready(ctx, ended)
}

// wait collects the child and counts it if SIGKILL ended it.
func (c *child) wait(process *exec.Cmd, ended chan struct{}) {
	err := process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			c.mu.Lock()
			c.killed++
			c.mu.Unlock()
		}
	}
	close(ended)
}

func (c *child) ready(ctx context.Context, ended chan struct{}) error {
	client := &http.Client{Timeout: time.Second}
	for range 600 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			text, _ := os.ReadFile(c.log)
			return fmt.Errorf("demo: serve ended at once:\n%s", text[max(0, len(text)-2000):])
		case <-time.After(25 * time.Millisecond):
		}
		response, err := client.Get(c.base + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("demo: serve did not become ready")
}

// kill ends the child as a power cut would, and waits until it is gone.
func (c *child) kill() {
	c.mu.Lock()
	process, ended := c.process, c.ended
	c.mu.Unlock()
	if process == nil {
		return
	}
	_ = process.Process.Kill()
	<-ended
}

// end asks the child to end, and kills it if it does not within limit.
func (c *child) end(limit time.Duration) {
	c.mu.Lock()
	process, ended := c.process, c.ended
	c.mu.Unlock()
	_ = process.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(limit):
		c.kill()
	}
}

// gone is closed when the child of this moment has ended.
func (c *child) gone() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *child) kills() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed
}
