package pg

import "strconv"

// Args collects the values of a statement whose text is put together from parts.
type Args []any

// Bind adds a value and returns the placeholder that stands for it.
func (a *Args) Bind(v any) string {
	*a = append(*a, v)
	return "$" + strconv.Itoa(len(*a))
}
