package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/paidonce/paidonce/sandbox"
)

// rememberPayment appends a sandbox payment to the data folder, one JSON document a line, so that a later call can
// deliver it again.
func (f folder) rememberPayment(p *sandbox.Payment) error {
	line, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("sandbox payments: %w", err)
	}
	file, err := os.OpenFile(f.file(paymentsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("sandbox payments: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// payments reads all sandbox payments of the data folder, oldest first; there may be none.
func (f folder) payments() ([]*sandbox.Payment, error) {
	file, err := os.Open(f.file(paymentsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox payments: %w", err)
	}
	defer func() { _ = file.Close() }()
	var list []*sandbox.Payment
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		p := &sandbox.Payment{}
		if err := json.Unmarshal(lines.Bytes(), p); err != nil {
			return nil, fmt.Errorf("sandbox payments: %s cannot be read: %w", f.file(paymentsFile), err)
		}
		list = append(list, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("sandbox payments: %w", err)
	}
	return list, nil
}

// recallPayment finds the latest payment of an order; an empty channel or account means any.
func (f folder) recallPayment(channel, account, orderNo string) (*sandbox.Payment, error) {
	payments, err := f.payments()
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(payments) {
		if p.OrderNo == orderNo && (channel == "" || p.Account.Channel == channel) &&
			(account == "" || p.Account.Name == account) {
			return p, nil
		}
	}
	if len(payments) == 0 {
		return nil, errors.New("nothing was paid with sandbox pay yet")
	}
	return nil, fmt.Errorf("order %q was not paid with sandbox pay", orderNo)
}
