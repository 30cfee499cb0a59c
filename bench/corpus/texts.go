package corpus

import "strings"

// Texts are what customers say, some fifteen words each. They are the same every time.
func Texts(n int) []string {
	pieces := sentences()
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Join([]string{pieces[3*i%fragments], pieces[(3*i+1)%fragments], pieces[(3*i+2)%fragments]}, " ")
	}
	return out
}
