package storetest

import (
	"strings"

	"github.com/paidonce/paidonce/store"
)

func tokenClauses() []clause {
	return []clause{
		{"a token names its tenant and nobody else's", tokenNamesTenant},
		{"a token that was changed, revoked or never made gives nothing", tokenRefused},
		{"only the digest of a token is stored", tokenDigestOnly},
	}
}

func (f *fixture) token(tenant int64) string {
	f.Helper()
	token, err := f.store.CreateToken(f.Context(), tenant, "console")
	f.must(err)
	return token
}

func tokenNamesTenant(f *fixture) {
	for _, tenant := range []int64{f.tenant, f.tenant + 1000, 1<<63 - 1} {
		if got, err := f.store.TokenTenant(f.Context(), f.token(tenant)); err != nil || got != tenant {
			f.Errorf("TokenTenant = %d, %v; want %d", got, err, tenant)
		}
	}
	_, err := f.store.CreateToken(f.Context(), 0, "console")
	f.wantError(err, store.ErrToken)
}

func tokenRefused(f *fixture) {
	token := f.token(f.tenant)
	parts := strings.Split(token, "_")
	other := strings.Split(f.token(f.tenant+1000), "_")
	flipped := []byte(token)
	flipped[len(flipped)-1] ^= 1
	for name, bad := range map[string]string{
		"empty": "", "no form": "secret", "another secret": string(flipped),
		"another tenant": strings.Join([]string{parts[0], other[1], parts[2], parts[3]}, "_"),
		"another id":     strings.Join([]string{parts[0], parts[1], other[2], parts[3]}, "_"),
		"no tenant":      strings.Join([]string{parts[0], "0", parts[2], parts[3]}, "_"),
		"cut":            token[:len(token)-1], "more": token + "0", "no secret": strings.TrimSuffix(token, parts[3]),
		"wild card": strings.Join([]string{parts[0], parts[1], strings.Repeat("%", 26), parts[3]}, "_"),
	} {
		if tenant, err := f.store.TokenTenant(f.Context(), bad); tenant != 0 || err == nil {
			f.Errorf("%s: tenant %d, %v", name, tenant, err)
		}
	}
	f.must(f.store.RevokeToken(f.Context(), f.tenant, parts[2]))
	_, err := f.store.TokenTenant(f.Context(), token)
	f.wantError(err, store.ErrToken)
	f.wantError(f.store.RevokeToken(f.Context(), f.tenant, parts[2]), store.ErrToken)
	f.wantError(f.store.RevokeToken(f.Context(), f.tenant, other[2]), store.ErrToken)
	if _, err := f.store.TokenTenant(f.Context(), strings.Join(other, "_")); err != nil {
		f.Errorf("another tenant's token ended too: %v", err)
	}
}

func tokenDigestOnly(f *fixture) {
	parts := strings.Split(f.token(f.tenant), "_")
	if n := f.count("SELECT COUNT(*) FROM api_token WHERE secret_digest = '" + parts[3] + "'"); n != 0 {
		f.Error("the secret itself is stored")
	}
	tokens, err := f.store.Tokens(f.Context(), f.tenant)
	f.must(err)
	if len(tokens) != 1 || tokens[0].ID != parts[2] || tokens[0].Name != "console" || tokens[0].CreatedUs <= 0 ||
		tokens[0].RevokedUs != 0 {
		f.Errorf("tokens %+v", tokens)
	}
}
