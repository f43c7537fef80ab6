package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/ledger"
)

// headsDocument is the form of ledger-heads.json: the ends of the tenants' chains of seals, kept outside of the
// database so that a database that was rewritten as a whole does not agree with it.
type headsDocument struct {
	Heads []paidonce.LedgerHead `json:"heads"` // by tenant
}

// heads keeps the file. It is safe for concurrent use.
type heads struct {
	path string
	// seal reads one seal of the chain as the database has it now.
	seal func(ctx context.Context, tenant, number int64) (ledger.Head, bool, error)

	mu   sync.Mutex
	last map[int64]paidonce.LedgerHead
}

// openHeads reads what the file holds. A file that cannot be read is evidence and is not overwritten.
func openHeads(path string, seal func(context.Context, int64, int64) (ledger.Head, bool, error)) (*heads, error) {
	list, err := readHeads(path)
	if err != nil {
		return nil, err
	}
	h := &heads{path: path, seal: seal, last: map[int64]paidonce.LedgerHead{}}
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

// errRewritten: the chain in the database is not the one whose end was kept. The kept end is evidence and stays.
var errRewritten = errors.New("the chain of seals was rewritten behind its kept head; run paidonce ledger verify")

// keep writes a longer chain's end to the file. A shorter one is ignored: heads never go back. A chain that does not
// hold the kept end any more is errRewritten, so that going on to seal never wipes out the proof of it.
func (h *heads) keep(ctx context.Context, head paidonce.LedgerHead) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, known := h.last[head.Tenant]
	if known && head.Seal <= kept.Seal {
		return nil
	}
	if known {
		stored, found, err := h.seal(ctx, kept.Tenant, kept.Seal)
		if err != nil {
			return fmt.Errorf("ledger heads: %w", err)
		}
		if !found || stored != kept {
			return fmt.Errorf("ledger heads: tenant %d, seal %d: %w", kept.Tenant, kept.Seal, errRewritten)
		}
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
