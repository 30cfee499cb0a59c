package optout

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
)

// MaxLinks is how many links are made at once.
const MaxLinks = 1_000

// Link is what following a signed link leads to.
type Link struct {
	Organization string // its name
	Target       string // in lower case
	Unsubscribed bool   // already on the list
}

// Token returns the secret part of the link for a target, which is always the same for the same target in any spelling of its case.
// The first call of an organization makes the secret that its links are signed with. It refuses what Add refuses.
func (s *Store) Token(ctx context.Context, v account.View, target string, form *fault.Form) (string, error) {
	t := read(target, "target", form)
	if err := form.Err(); err != nil {
		return "", err
	}
	k, err := s.signingKey(ctx, v)
	if err != nil {
		return "", err
	}
	return k.sign(t.folded), nil
}

// Tokens is Token for up to MaxLinks targets, in the order given.
func (s *Store) Tokens(ctx context.Context, v account.View, targets []string, form *fault.Form) ([]string, error) {
	all, err := readAll(targets, MaxLinks, form)
	if err != nil {
		return nil, err
	}
	k, err := s.signingKey(ctx, v)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, len(all))
	for i, t := range all {
		tokens[i] = k.sign(t.folded)
	}
	return tokens, nil
}

// Follow says what a link is about, and changes nothing: mail scanners open links, too. A token that was not signed by
// an organization for that target is fault.NotFound, whatever is wrong with it.
func (s *Store) Follow(ctx context.Context, token string) (Link, error) {
	l, v, t, err := s.open(ctx, token)
	if err != nil {
		return Link{}, err
	}
	err = s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM push_unsubscribe WHERE organization_id = $1 AND folded = $2)`,
		v.Org(), t.folded).Scan(&l.Unsubscribed)
	if err != nil {
		return Link{}, fmt.Errorf("follow link: %w", err)
	}
	return l, nil
}

// Unsubscribe puts the target of a link on its organization's list; a second time changes nothing. It refuses what Follow refuses.
func (s *Store) Unsubscribe(ctx context.Context, token string) (Link, error) {
	l, v, t, err := s.open(ctx, token)
	if err != nil {
		return Link{}, err
	}
	if _, _, err := s.add(ctx, v, t); err != nil {
		return Link{}, err
	}
	l.Unsubscribed = true
	return l, nil
}

// open takes no view: it derives one from a secret, as authentication does.
func (s *Store) open(ctx context.Context, token string) (Link, account.View, target, error) {
	unknown := fault.New(fault.NotFound, "There is nothing at this address.")
	sealed, ok := parse(token)
	if !ok {
		return Link{}, account.View{}, target{}, unknown
	}
	l, k := Link{}, key{org: sealed.org, version: sealed.version}
	err := s.db.QueryRow(ctx, `
		SELECT s.secret, o.name
		FROM unsubscribe_secret s
		JOIN organization o ON o.id = s.organization_id
		WHERE s.organization_id = $1 AND s.version = $2`, k.org, k.version).Scan(&k.secret, &l.Organization)
	if errors.Is(err, pgx.ErrNoRows) {
		return Link{}, account.View{}, target{}, unknown
	}
	if err != nil {
		return Link{}, account.View{}, target{}, fmt.Errorf("read secret of links: %w", err)
	}
	if l.Target, ok = k.open(sealed); !ok {
		return Link{}, account.View{}, target{}, unknown
	}
	return l, account.Whole(k.org), target{text: l.Target, folded: l.Target}, nil
}

// signingKey reads the newest secret of an organization, or makes its first.
func (s *Store) signingKey(ctx context.Context, v account.View) (key, error) {
	k := key{org: v.Org()}
	for {
		err := s.db.QueryRow(ctx, `
			SELECT version, secret FROM unsubscribe_secret
			WHERE organization_id = $1
			ORDER BY version DESC LIMIT 1`, k.org).Scan(&k.version, &k.secret)
		if err == nil {
			return k, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return key{}, fmt.Errorf("read secret of links: %w", err)
		}
		fresh := make([]byte, secretSize)
		_, _ = rand.Read(fresh) // never fails
		// Of two that arrive together one is kept, and both read that one.
		_, err = s.db.Exec(ctx, `
			INSERT INTO unsubscribe_secret (organization_id, version, secret) VALUES ($1, 1, $2)
			ON CONFLICT DO NOTHING`, k.org, fresh)
		if err != nil {
			return key{}, fmt.Errorf("make secret of links: %w", err)
		}
	}
}

// A token is the version of the secret, the organization, an HMAC-SHA-256 over both and the target, and the target, encrypted: addresses
// end up in logs and histories that are not ours, and must not tell there who was written to. The HMAC is the start of the key
// stream as well (this is the SIV construction), so that one target has one token and nothing random has to be kept.
const (
	secretSize = 64 // half for the HMAC, half for the encryption
	headSize   = 1 + 4
	macSize    = sha256.Size
	longest    = headSize + macSize + 4*MaxTarget // four bytes are the most a character has
)

// key is a secret of an organization.
type key struct {
	org     account.OrgID
	version uint8
	secret  []byte
}

// sealed is a token taken apart, of which nothing is believed yet.
type sealed struct {
	org     account.OrgID
	version uint8
	mac     []byte
	target  []byte // encrypted
}

func (k key) sign(folded string) string {
	mac := k.mac([]byte(folded))
	token := append(k.head(), mac...)
	token = append(token, k.crypt(mac, []byte(folded))...)
	return base64.RawURLEncoding.EncodeToString(token)
}

func (k key) open(s sealed) (folded string, ok bool) {
	text := k.crypt(s.mac, s.target)
	return string(text), hmac.Equal(k.mac(text), s.mac)
}

// head is what stands before the HMAC. An organization's id fits four bytes; the schema says so.
func (k key) head() []byte {
	return binary.BigEndian.AppendUint32([]byte{k.version}, uint32(k.org))
}

func (k key) mac(folded []byte) []byte {
	h := hmac.New(sha256.New, k.secret[:secretSize/2])
	h.Write(k.head())
	h.Write(folded)
	return h.Sum(nil)
}

// crypt encrypts, and decrypts what it encrypted.
func (k key) crypt(mac, text []byte) []byte {
	block, err := aes.NewCipher(k.secret[secretSize/2:])
	if err != nil {
		panic(err) // the schema keeps secrets at one length
	}
	out := make([]byte, len(text))
	cipher.NewCTR(block, mac[:aes.BlockSize]).XORKeyStream(out, text)
	return out
}

// parse takes a token apart. It accepts one spelling of each: the decoder alone would pass over line ends and spare bits.
func parse(token string) (sealed, bool) {
	if len(token) > base64.RawURLEncoding.EncodedLen(longest) {
		return sealed{}, false
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) <= headSize+macSize || base64.RawURLEncoding.EncodeToString(b) != token {
		return sealed{}, false
	}
	return sealed{
		version: b[0],
		org:     account.OrgID(binary.BigEndian.Uint32(b[1:headSize])),
		mac:     b[headSize : headSize+macSize],
		target:  b[headSize+macSize:],
	}, true
}
