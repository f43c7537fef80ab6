package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	sqlInsertToken = `INSERT INTO api_token (tenant_id, token_id, secret_digest, name, created_us, revoked_us)
 VALUES (?, ?, ?, ?, $NOW, 0)`
	sqlReadToken   = `SELECT secret_digest FROM api_token WHERE tenant_id = ? AND token_id = ? AND revoked_us = 0`
	sqlListTokens  = `SELECT token_id, name, created_us, revoked_us FROM api_token WHERE tenant_id = ? ORDER BY token_id`
	sqlRevokeToken = `UPDATE api_token SET revoked_us = $NOW WHERE tenant_id = ? AND token_id = ? AND revoked_us = 0`
)

// ErrToken: a bearer token is unknown, revoked or malformed.
var ErrToken = errors.New("store: token is not valid")

// Token is what may be shown of a bearer token.
type Token struct {
	ID        string `json:"token_id"`
	Name      string `json:"name"`
	CreatedUs int64  `json:"created_us"`
	RevokedUs int64  `json:"revoked_us,omitempty"`
}

// CreateToken makes a bearer token for one tenant and returns its text, which is shown once and stored only as a
// digest. The text names its tenant, so that it is found by the tenant's own key; only the secret gives the right.
func (s *Store) CreateToken(ctx context.Context, tenant int64, name string) (string, error) {
	if tenant <= 0 {
		return "", fmt.Errorf("%w: tenant must be positive", ErrToken)
	}
	id, err := s.newID()
	if err != nil {
		return "", err
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("store: token: %w", err)
	}
	text := hex.EncodeToString(secret[:])
	err = s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, sqlInsertToken, tenant, id, tokenDigest(text), name)
		return err
	})
	return "pdo_" + strconv.FormatInt(tenant, 10) + "_" + id + "_" + text, err
}

// TokenTenant returns the tenant of a bearer token; ErrToken if it is not valid.
func (s *Store) TokenTenant(ctx context.Context, token string) (int64, error) {
	parts := strings.Split(token, "_")
	if len(parts) != 4 || parts[0] != "pdo" || len(parts[2]) != 26 || len(parts[3]) != 64 {
		return 0, ErrToken
	}
	tenant, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || tenant <= 0 {
		return 0, ErrToken
	}
	var digest string
	err = s.list(ctx, sqlReadToken, []any{tenant, parts[2]}, func(rows *sql.Rows) error { return rows.Scan(&digest) })
	if err != nil {
		return 0, err
	}
	if subtle.ConstantTimeCompare([]byte(digest), []byte(tokenDigest(parts[3]))) != 1 {
		return 0, ErrToken
	}
	return tenant, nil
}

// Tokens lists a tenant's tokens without their secrets.
func (s *Store) Tokens(ctx context.Context, tenant int64) ([]Token, error) {
	var tokens []Token
	err := s.list(ctx, sqlListTokens, []any{tenant}, func(rows *sql.Rows) error {
		var t Token
		err := rows.Scan(&t.ID, &t.Name, &t.CreatedUs, &t.RevokedUs)
		tokens = append(tokens, t)
		return err
	})
	return tokens, err
}

// RevokeToken ends a token; ErrToken if there is no such live one.
func (s *Store) RevokeToken(ctx context.Context, tenant int64, id string) error {
	return s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		rows, err := tx.exec(ctx, sqlRevokeToken, tenant, id)
		if err == nil && rows != 1 {
			return ErrToken
		}
		return err
	})
}

func tokenDigest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
