package optout

import "earshot/internal/account"

// Sign makes a token with a secret of the test's own.
func Sign(org account.OrgID, version uint8, secret []byte, folded string) string {
	return key{org: org, version: version, secret: secret}.sign(folded)
}

// Open reads a token with a secret; ok is false when it was not signed with that.
func Open(version uint8, secret []byte, token string) (org account.OrgID, folded string, ok bool) {
	s, ok := parse(token)
	if !ok || s.version != version {
		return 0, "", false
	}
	folded, ok = key{org: s.org, version: s.version, secret: secret}.open(s)
	return s.org, folded, ok
}

// Pattern is the LIKE pattern of a filter.
var Pattern = pattern
