package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/paidonce/paidonce"
)

// headsDocument is the form of ledger-heads.json: the ends of the tenants' chains of seals, kept outside of the
// database so that a database that was rewritten as a whole does not agree with it.
type headsDocument struct {
	Heads []paidonce.LedgerHead `json:"heads"` // by tenant
}

// heads keeps the file. It is safe for concurrent use.
type heads struct {
	path string

	mu   sync.Mutex
	last map[int64]paidonce.LedgerHead
}

// openHeads reads what the file holds. A file that cannot be read is evidence and is not overwritten.
func openHeads(path string) (*heads, error) {
	list, err := readHeads(path)
	if err != nil {
		return nil, err
	}
	h := &heads{path: path, last: map[int64]paidonce.LedgerHead{}}
	for _, head := range list {
		h.last[head.Tenant] = head
	}
	return h, nil
}

// readHeads reads the file; one that is not there holds no heads.
func readHeads(path string) ([]paidonce.LedgerHead, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger heads: %w", err)
	}
	var document headsDocument
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("ledger heads: %s cannot be read; keep it as evidence and move it away: %w", path, err)
	}
	return document.Heads, nil
}

// keep writes a longer chain's end to the file. A shorter one is ignored: heads never go back.
func (h *heads) keep(head paidonce.LedgerHead) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if head.Seal <= h.last[head.Tenant].Seal {
		return nil
	}
	h.last[head.Tenant] = head
	byTenant := func(a, b paidonce.LedgerHead) int { return cmp.Compare(a.Tenant, b.Tenant) }
	document := headsDocument{slices.SortedFunc(maps.Values(h.last), byTenant)}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("ledger heads: %w", err)
	}
	if err := replaceFile(h.path, append(text, '\n')); err != nil {
		return fmt.Errorf("ledger heads: %w", err)
	}
	return nil
}
