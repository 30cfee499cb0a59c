package bracket_test

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"earshot/internal/bracket"
)

type (
	object = map[string]any
	list   = []any
)

func Example() {
	pairs, err := bracket.Parse("carrier_id=7&tags[]=a&tags[]=b&attributes[0][name]=plan&attributes[0][value][]=")
	if err != nil {
		fmt.Println(err)
		return
	}
	tree, err := bracket.Tree(pairs)
	fmt.Println(tree, err)
	// Output: map[attributes:[map[name:plan value:[]]] carrier_id:7 tags:[a b]] <nil>
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query string
		want  []bracket.Pair
	}{
		"nothing":             {"", nil},
		"order is kept":       {"b=1&a=2&b=3", []bracket.Pair{{"b", "1"}, {"a", "2"}, {"b", "3"}}},
		"plus and percent":    {"a+b=c+d%20e%2B", []bracket.Pair{{"a b", "c d e+"}}},
		"encoded brackets":    {"a%5B0%5D=x", []bracket.Pair{{"a[0]", "x"}}},
		"encoded separators":  {"a%26b%3Dc=d%26e%3D", []bracket.Pair{{"a&b=c", "d&e="}}},
		"semicolon":           {"a;b=c;d", []bracket.Pair{{"a;b", "c;d"}}},
		"empty pieces":        {"&&a=1&&b=2&", []bracket.Pair{{"a", "1"}, {"b", "2"}}},
		"no equals sign":      {"a&b", []bracket.Pair{{"a", ""}, {"b", ""}}},
		"second equals sign":  {"a=b=c", []bracket.Pair{{"a", "b=c"}}},
		"empty key":           {"=x", []bracket.Pair{{"", "x"}}},
		"any bytes":           {"a=%00%ff", []bracket.Pair{{"a", "\x00\xff"}}},
		"as many as possible": {strings.Repeat("&a&", bracket.MaxPairs), repeat(bracket.Pair{Key: "a"}, bracket.MaxPairs)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := bracket.Parse(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ query, want string }{
		"percent in a value":   {"a=1&&b=2&c=secret%zz", "unreadable percent-encoding in field 3"},
		"percent in a key":     {"secret%=1", "unreadable percent-encoding in field 1"},
		"percent at the end":   {"a=secret%4", "unreadable percent-encoding in field 1"},
		"more than MaxPairs":   {strings.Repeat("a=secret&", bracket.MaxPairs+1), "more than 1000 fields"},
		"the first fault wins": {"a=%&" + strings.Repeat("a&", bracket.MaxPairs), "unreadable percent-encoding in field 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pairs, err := bracket.Parse(tt.query)
			if err == nil || err.Error() != tt.want || pairs != nil {
				t.Errorf("got %d pairs and %v, want %q", len(pairs), err, tt.want)
			}
		})
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query string
		want  object
	}{
		"nothing":                {"", object{}},
		"values":                 {"a=1&b=", object{"a": "1", "b": ""}},
		"last value wins":        {"a=1&a=2", object{"a": "2"}},
		"last element wins":      {"a[3]=1&a[3]=2", object{"a": list{"2"}}},
		"root is an object":      {"0=x&1=y", object{"0": "x", "1": "y"}},
		"no mangling":            {"a.b c=1", object{"a.b c": "1"}},
		"any bytes":              {"a%00[%ff]=%ff%00", object{"a\x00": object{"\xff": "\xff\x00"}}},
		"append":                 {"a[]=x&a[]=y&a[]=x", object{"a": list{"x", "y", "x"}}},
		"index":                  {"a[0]=x", object{"a": list{"x"}}},
		"order of indices":       {"a[10]=z&a[9]=y&a[0]=x", object{"a": list{"x", "y", "z"}}},
		"sparse":                 {"a[999999999]=x", object{"a": list{"x"}}},
		"append past the last":   {"a[999999999]=x&a[]=y&a[]=z&a[3]=w", object{"a": list{"w", "x", "y", "z"}}},
		"append after the last":  {"a[5]=y&a[]=z&a[2]=x", object{"a": list{"x", "y", "z"}}},
		"member":                 {"filter[name]=q&filter[]=r&filter[7]=s&filter[]=t", object{"filter": object{"name": "q", "0": "r", "7": "s", "8": "t"}}},
		"list turned object":     {"a[]=x&a[]=y&a[b]=z", object{"a": object{"0": "x", "1": "y", "b": "z"}}},
		"members of an element":  {"a[0][n]=x&a[1][n]=y&a[0][v]=z", object{"a": list{object{"n": "x", "v": "z"}, object{"n": "y"}}}},
		"two appended elements":  {"a[][n]=x&a[][v]=y", object{"a": list{object{"n": "x"}, object{"v": "y"}}}},
		"leading zero":           {"a[007]=x", object{"a": object{"007": "x"}}},
		"two zeros":              {"a[00]=x&a[0]=y", object{"a": object{"00": "x", "0": "y"}}},
		"plus":                   {"a[%2B1]=x&a[-0]=y", object{"a": object{"+1": "x", "-0": "y"}}},
		"minus":                  {"a[-1]=x&a[]=y", object{"a": object{"-1": "x", "0": "y"}}},
		"ten digits":             {"a[1000000000]=x", object{"a": object{"1000000000": "x"}}},
		"ten digits, and append": {"a[1000000000]=x&a[999999999]=y&a[]=z", object{"a": object{"999999999": "y", "1000000000": "z"}}},
		"other digits":           {"a[٣]=x", object{"a": object{"٣": "x"}}},
		"space is a name":        {"a[ ]=x", object{"a": object{" ": "x"}}},
		"empty list":             {"a[]=", object{"a": list{}}},
		"empty list, no equals":  {"a[]", object{"a": list{}}},
		"empty list inside":      {"a[0][name]=x&a[0][value][]=", object{"a": list{object{"name": "x", "value": list{}}}}},
		"list of an empty list":  {"a[][]=", object{"a": list{list{}}}},
		"two empty strings":      {"a[]=&a[]=", object{"a": list{"", ""}}},
		"one empty string":       {"a[0]=", object{"a": list{""}}},
		"same element, indexed":  {"a[]=&a[0]=", object{"a": list{""}}},
		"empty string and more":  {"a[]=&a[]=x", object{"a": list{"", "x"}}},
		"empty string, member":   {"a[]=&a[b]=x", object{"a": object{"0": "", "b": "x"}}},
		"empty key":              {"=x&a=1", object{"a": "1"}},
		"only opened":            {"a[=1", object{"a[": "1"}},
		"only closed":            {"a]b=1", object{"a]b": "1"}},
		"closed before opened":   {"a][b]=1", object{"a][b]": "1"}},
		"text after brackets":    {"a[b]c=1", object{"a[b]c": "1"}},
		"text between brackets":  {"a[b]c[d]=1", object{"a[b]c[d]": "1"}},
		"brackets in brackets":   {"a[[]]=1&a[b[c]]=2&a[]]=3", object{"a[[]]": "1", "a[b[c]]": "2", "a[]]": "3"}},
		"opened at the end":      {"a[b][=1", object{"a[b][": "1"}},
		"no name":                {"[x]=1&[]=2", object{"[x]": "1", "[]": "2"}},
		"literal beside list":    {"a[=1&a[]=2", object{"a[": "1", "a": list{"2"}}},
		"deepest":                {"a" + strings.Repeat("[]", bracket.MaxDepth) + "=x", object{"a": list{list{list{list{list{list{list{list{"x"}}}}}}}}}},
		"deep but malformed":     {"a" + strings.Repeat("[]", 9) + "b=x", object{"a" + strings.Repeat("[]", 9) + "b": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
		})
	}
}

// Errors name the key, cut to 64 characters, and never a value.
func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[x]", bracket.MaxDepth+1)
	for name, tt := range map[string]struct {
		query string
		is    error
		want  string
	}{
		"value, then list":   {"a=secret&a[]=secret", nil, `field "a": given both as a value and as a list or object`},
		"list, then value":   {"a[]=secret&a=secret", nil, `field "a": given both as a value and as a list or object`},
		"empty value counts": {"a=&a[]=secret", nil, `field "a": given both as a value and as a list or object`},
		"below the root":     {"a[b]=secret&a[b][c][d]=secret", nil, `field "a[b]": given both as a value and as a list or object`},
		"element":            {"a[][b]=secret&a[0]=secret", nil, `field "a[0]": given both as a value and as a list or object`},
		"unreadable key":     {"%00%ff=1&%00%ff[]=2", nil, `field "\x00\xff": given both as a value and as a list or object`},
		"too deep":           {"a" + deep + "=secret", bracket.ErrTooDeep, `field "a` + deep + `": more than 8 brackets`},
		"64 characters":      {strings.Repeat("é", 64) + "=1&" + strings.Repeat("é", 64) + "[]=2", nil, `field "` + strings.Repeat("é", 64) + `": given both as a value and as a list or object`},
		"65 characters":      {strings.Repeat("é", 65) + deep + "=secret", bracket.ErrTooDeep, `field "` + strings.Repeat("é", 64) + `"…: more than 8 brackets`},
		"far too deep":       {"a" + strings.Repeat("[]", 1<<16) + "=secret", bracket.ErrTooDeep, `field "a` + strings.Repeat("[]", 31) + `["…: more than 8 brackets`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := read(tt.query)
			if err == nil || err.Error() != tt.want || tree != nil {
				t.Errorf("got %v and %v, want %q", tree, err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v does not wrap %v", err, tt.is)
			}
		})
	}
}

// The limit holds for pairs that did not come through Parse, as those of a
// multipart body do not.
func TestTreeRefusesTooManyPairs(t *testing.T) {
	t.Parallel()
	pairs := repeat(bracket.Pair{Key: "a[]", Value: "x"}, bracket.MaxPairs)
	tree, err := bracket.Tree(pairs)
	if err != nil || len(tree["a"].(list)) != bracket.MaxPairs {
		t.Errorf("MaxPairs fields: %v", err)
	}
	if _, err := bracket.Tree(append(pairs, bracket.Pair{})); !errors.Is(err, bracket.ErrTooManyPairs) {
		t.Errorf("one more: %v, want %v", err, bracket.ErrTooManyPairs)
	}
}

// Whatever a form can say survives the way into pairs and back.
func TestTreeReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawObject(t, bracket.MaxDepth, rapid.IntRange(0, 4).Draw(t, "fields"))
		// Empty brackets depend on the order of the pairs, indices do not.
		shuffle := rapid.Bool().Draw(t, "shuffle")
		var pairs []bracket.Pair
		for name, v := range want {
			pairs = encode(t, pairs, name, v, !shuffle)
		}
		if len(pairs) > bracket.MaxPairs {
			t.Skip("larger than any form")
		}
		if shuffle {
			pairs = rapid.Permutation(pairs).Draw(t, "pairs")
		}
		query := make([]string, len(pairs))
		for i, p := range pairs {
			query[i] = url.QueryEscape(p.Key) + "=" + url.QueryEscape(p.Value)
		}
		got, err := read(strings.Join(query, "&"))
		if err != nil {
			t.Fatalf("%q: %v", pairs, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: tree (-want +got):\n%s", pairs, diff)
		}
	})
}

// drawObject makes an object that no reader can take for a list.
func drawObject(t *rapid.T, depth, size int) object {
	names := rapid.OneOf(
		rapid.StringN(1, 6, -1).Filter(func(s string) bool { return !strings.ContainsAny(s, "[]") }),
		rapid.StringMatching(`[0-9]{1,3}`),
	)
	o := object{}
	for range size {
		o[names.Draw(t, "name")] = drawValue(t, depth)
	}
	if size > 0 && depth < bracket.MaxDepth {
		o["n"] = drawValue(t, depth)
	}
	return o
}

func drawValue(t *rapid.T, depth int) any {
	if depth == 0 {
		return rapid.String().Draw(t, "leaf")
	}
	size := rapid.IntRange(0, 3)
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0, 1:
		l := list{}
		for range size.Draw(t, "elements") {
			l = append(l, drawValue(t, depth-1))
		}
		return l
	case 2:
		return drawObject(t, depth-1, 1+size.Draw(t, "members"))
	default:
		return rapid.String().Draw(t, "leaf")
	}
}

// encode writes a value the way a client would: lists with indices, which may
// leave gaps, or, where allowed and unambiguous, with empty brackets.
func encode(t *rapid.T, pairs []bracket.Pair, key string, v any, ordered bool) []bracket.Pair {
	switch v := v.(type) {
	case object:
		for name, m := range v {
			pairs = encode(t, pairs, key+"["+name+"]", m, ordered)
		}
	case list:
		if len(v) == 0 {
			return append(pairs, bracket.Pair{Key: key + "[]"})
		}
		index := 0
		for _, e := range v {
			in := strconv.Itoa(index)
			index++
			if _, leaf := e.(string); leaf && ordered && len(v) > 1 && rapid.Bool().Draw(t, "append") {
				in = ""
			} else if rapid.Bool().Draw(t, "gap") {
				index += rapid.IntRange(0, 100_000_000).Draw(t, "missing")
			}
			pairs = encode(t, pairs, key+"["+in+"]", e, ordered)
		}
	case string:
		pairs = append(pairs, bracket.Pair{Key: key, Value: v})
	}
	return pairs
}

func FuzzTree(f *testing.F) {
	for _, seed := range []string{
		"", "a=1&b=2", "a[]=x&a[]=y", "a[]=", "a[0][name]=x&a[0][value][]=1", "a[][n]=x&a[][v]=y",
		"a=1&a[]=2", "a[=1&a]b=2&a[b]c=3&[x]=4&=5", "a[999999999]=x&a[]=y&a[007]=z&a[-1]=w",
		"a[1000000000]=x&a[999999999]=y&a[]=z", "a%5B%5D=%00%ff&;&&", "a=%zz",
		"a" + strings.Repeat("[]", bracket.MaxDepth+1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		pairs, err := bracket.Parse(query)
		if err != nil {
			if pairs != nil {
				t.Fatal("pairs beside an error")
			}
			return
		}
		tree, err := bracket.Tree(pairs)
		again, againErr := bracket.Tree(pairs)
		if diff := cmp.Diff(tree, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(againErr) {
			t.Fatalf("second reading differs: %v, %v\n%s", err, againErr, diff)
		}
		if (tree == nil) != (err != nil) {
			t.Fatalf("want a tree or an error, got %v and %v", tree, err)
		}
		leaves, depth := measure(t, tree)
		if leaves > len(pairs) || depth > 1+bracket.MaxDepth {
			t.Fatalf("%d leaves and %d levels out of %d pairs", leaves, depth, len(pairs))
		}
	})
}

// measure counts the leaves and the levels of containers, the root included.
func measure(t *testing.T, v any) (leaves, depth int) {
	t.Helper()
	var inside []any
	switch v := v.(type) {
	case string:
		return 1, 0
	case list:
		inside = v
	case object:
		for _, m := range v {
			inside = append(inside, m)
		}
	default:
		t.Fatalf("%T in the tree", v)
	}
	for _, m := range inside {
		l, d := measure(t, m)
		leaves, depth = leaves+l, max(depth, d)
	}
	return leaves, depth + 1
}

func BenchmarkTree(b *testing.B) {
	create := []string{"carrier_id=453", "source=email", "fingerprint=order-2026-000123"}
	for i := range 3 {
		create = append(create, fmt.Sprintf("items[%d][question_id]=%d", i, 10+i), fmt.Sprintf("items[%d][value]=The+delivery+was+quick", i))
	}
	for i := range 5 {
		create = append(create, fmt.Sprintf("attributes[%d][name]=attribute-%d", i, i), fmt.Sprintf("attributes[%d][value][]=some+value", i))
	}
	fields := func(n int, format string) string {
		s := make([]string, n)
		for i := range s {
			s[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(s, "&")
	}
	long := strings.Repeat("k", 1000)
	for name, query := range map[string]string{
		"create": strings.Join(create, "&"),
		// Each of these fills a body of 1 MiB or the limit on pairs with one shape.
		"hostile/long-names":    fields(bracket.MaxPairs, long+"%d[]=x"),
		"hostile/one-long-name": fields(bracket.MaxPairs, long+"[%d]=x"),
		"hostile/deep":          fields(bracket.MaxPairs, "a[%d][][][][][][][]=x"),
		"hostile/appended":      fields(bracket.MaxPairs, "a[]=%d"),
		"hostile/many-brackets": "a" + strings.Repeat("[]", 1<<19) + "b=x",
		"hostile/only-openings": fields(bracket.MaxPairs, strings.Repeat("[", 1000)+"%d=x"),
		"hostile/sparse":        fields(bracket.MaxPairs, "a[9%08d]=x"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(query)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = read(query)
			}
		})
	}
}

func read(query string) (object, error) {
	pairs, err := bracket.Parse(query)
	if err != nil {
		return nil, err
	}
	return bracket.Tree(pairs)
}

func repeat(p bracket.Pair, n int) []bracket.Pair {
	pairs := make([]bracket.Pair, n)
	for i := range pairs {
		pairs[i] = p
	}
	return pairs
}
