package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/internal/fault"
	"earshot/internal/pg"
)

const (
	secretPrefix = "es_live_"
	secretRandom = 30
	secretCheck  = 6
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// TokenChannel carries the hash of a token whose meaning has changed.
const TokenChannel = "earshot_token"

// Token is an issued token without its secret.
type Token struct {
	ID        int64
	Name      string
	Scopes    []Scope
	UserID    *UserID
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
}

// NewToken is what a token is to be. Without scopes it gets all of them; with a user, the user's role narrows it.
type NewToken struct {
	Name      string
	Scopes    []Scope
	UserID    *UserID
	ExpiresAt *time.Time
}

const tokenColumns = "id, name, scopes, user_id, created_at, expires_at, revoked_at"

// IssueToken creates a token and returns its secret, which is stored nowhere and cannot be shown again.
// It refuses unknown scopes, an expiry in the past and a user the organization does not have.
func (s *Store) IssueToken(ctx context.Context, v View, n NewToken) (Token, string, error) {
	if len(n.Scopes) == 0 {
		n.Scopes = Scopes()
	}
	var form fault.Form
	return s.issue(ctx, v, n, &form)
}

// IssueTokenFor is IssueToken on behalf of a caller, who cannot hand on what they do not have: without scopes the token
// gets all of the caller's, and any other one is refused.
func (s *Store) IssueTokenFor(ctx context.Context, p Principal, n NewToken, form *fault.Form) (Token, string, error) {
	if len(n.Scopes) == 0 {
		n.Scopes = slices.DeleteFunc(Scopes(), func(scope Scope) bool { return !p.May(scope) })
	}
	for i, scope := range n.Scopes {
		if slices.Contains(Scopes(), scope) && !p.May(scope) {
			form.Add(fmt.Sprintf("scopes.%d", i), "cannot be given by a token that does not have it")
		}
	}
	return s.issue(ctx, p.view, n, form)
}

func (s *Store) issue(ctx context.Context, v View, n NewToken, form *fault.Form) (Token, string, error) {
	var scopes []Scope
	for i, scope := range n.Scopes {
		if !slices.Contains(Scopes(), scope) {
			form.Add(fmt.Sprintf("scopes.%d", i), "must be one of %s", join(Scopes()))
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(time.Now()) {
		form.Add("expires_at", "must be in the future")
	}
	if n.Name = strings.TrimSpace(n.Name); n.Name == "" {
		n.Name = "Unnamed token"
	}
	if n.UserID != nil {
		if _, err := s.User(ctx, v, *n.UserID); fault.Is(err, fault.NotFound) {
			form.Add("user_id", userIsUnknown)
		} else if err != nil {
			return Token{}, "", err
		}
	}
	if err := form.Err(); err != nil {
		return Token{}, "", err
	}
	secret := newSecret()
	t, err := one[Token](ctx, s.db, "token", `
		INSERT INTO token (organization_id, name, sha256, scopes, user_id, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING `+tokenColumns,
		v.org, n.Name, hash(secret), scopes, n.UserID, n.ExpiresAt)
	if pg.Violates(err, "token_user") { // deleted a moment ago
		form.Add("user_id", userIsUnknown)
		return Token{}, "", form.Err()
	}
	if err != nil {
		return Token{}, "", fmt.Errorf("issue token: %w", err)
	}
	return t, secret, nil
}

const userIsUnknown = "is not a user of this organization"

// State is what became of a token: active, expired or revoked.
func (t Token) State(now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	}
	return "active"
}

// Token returns a token without its secret. An unknown id is fault.NotFound.
func (s *Store) Token(ctx context.Context, v View, id int64) (Token, error) {
	return one[Token](ctx, s.db, "token", `SELECT `+tokenColumns+` FROM token WHERE organization_id = $1 AND id = $2`, v.org, id)
}

// TokenPage returns one page of what Tokens lists, and how many there are in all.
func (s *Store) TokenPage(ctx context.Context, v View, offset, limit int) ([]Token, int, error) {
	tokens, total, err := page[Token](ctx, s.db, tokenColumns, `FROM token WHERE organization_id = $1`, `id DESC`, offset, limit, pg.Args{v.org})
	if err != nil {
		return nil, 0, fmt.Errorf("list tokens: %w", err)
	}
	return tokens, total, nil
}

// Tokens lists the organization's tokens, the newest first, revoked and expired ones included.
func (s *Store) Tokens(ctx context.Context, v View) ([]Token, error) {
	rows, err := s.db.Query(ctx, `SELECT `+tokenColumns+` FROM token WHERE organization_id = $1 ORDER BY id DESC`, v.org)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowToStructByName[Token])
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return tokens, nil
}

// RevokeToken makes a token useless at once, here and within a second in every other process.
// Revoking twice keeps the first time. An unknown id is fault.NotFound.
func (s *Store) RevokeToken(ctx context.Context, v View, id int64) error {
	var sum []byte
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			UPDATE token SET revoked_at = coalesce(revoked_at, now())
			WHERE organization_id = $1 AND id = $2
			RETURNING sha256`, v.org, id).Scan(&sum)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, $2)`, TokenChannel, hex.EncodeToString(sum))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Missing("token")
	}
	if err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	s.ForgetToken(hex.EncodeToString(sum))
	return nil
}

// ForgetToken drops what is remembered of the token with this hash, given in hexadecimal.
func (s *Store) ForgetToken(sum string) { s.tokens.Forget(sum) }

// ForgetTokens drops everything remembered.
func (s *Store) ForgetTokens() { s.tokens.ForgetAll() }

// identity is what a token's hash leads to; expiry is looked at on every use.
type identity struct {
	principal Principal
	expiresAt *time.Time
}

// Authenticate finds who presents a secret. Whatever is wrong with it, the answer is the same fault.
func (s *Store) Authenticate(ctx context.Context, secret string) (Principal, error) {
	refused := fault.New(fault.Unauthenticated, "The access token is missing, unknown, expired or revoked.")
	if !wellFormed(secret) {
		return Principal{}, refused
	}
	sum := hash(secret)
	id, err := s.tokens.Get(ctx, hex.EncodeToString(sum), func(ctx context.Context) (identity, error) {
		return s.identify(ctx, sum)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Principal{}, refused
	}
	if err != nil {
		return Principal{}, fmt.Errorf("authenticate: %w", err)
	}
	if id.expiresAt != nil && !time.Now().Before(*id.expiresAt) {
		return Principal{}, refused
	}
	return id.principal, nil
}

// identify names no organization: it derives one from a secret.
func (s *Store) identify(ctx context.Context, sum []byte) (identity, error) {
	var (
		id     identity
		p      = &id.principal
		userID *UserID
		role   *Role
	)
	err := s.db.QueryRow(ctx, `
		SELECT t.organization_id, t.id, t.scopes, t.expires_at, u.id, u.role
		FROM token t
		LEFT JOIN app_user u ON u.organization_id = t.organization_id AND u.id = t.user_id
		WHERE t.sha256 = $1 AND t.revoked_at IS NULL`, sum).
		Scan(&p.view.org, &p.TokenID, &p.scopes, &id.expiresAt, &userID, &role)
	if err != nil {
		return identity{}, err
	}
	if userID != nil {
		p.UserID, p.Role = *userID, *role
		if p.Role == RestrictedViewer {
			p.view.owner = p.UserID
		}
	}
	return id, nil
}

func newSecret() string {
	b := make([]byte, secretRandom)
	for i := range b {
		b[i] = base62[randomBelow62()]
	}
	return secretPrefix + string(b) + checksum(string(b))
}

// randomBelow62 throws bytes away rather than favour the first letters.
func randomBelow62() byte {
	var b [1]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if b[0] < 4*62 {
			return b[0] % 62
		}
	}
}

// checksum lets a secret scanner, and us, tell a real token from a lookalike without asking the database.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var b [secretCheck]byte
	for i := range b {
		b[secretCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(b[:])
}

func wellFormed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	return ok && len(rest) == secretRandom+secretCheck && checksum(rest[:secretRandom]) == rest[secretRandom:]
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func join(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
