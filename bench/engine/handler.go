package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
)

// plan is what the bare handler answers, by path.
type plan struct {
	URL   string
	Conns int32
	Calls map[string][]call // any of them
}

// handler is the least that a Go program can do between HTTP and the same statements: it looks at nothing that is asked, and answers with
// the columns as they came. What the product does beyond this is what it costs.
type handler struct {
	plan
	pools map[bool]*pgxpool.Pool // by whether every execution is planned
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	path, id, _ := strings.Cut(r.URL.Path, "/id/")
	var c call
	if all := h.Calls[path]; len(all) > 0 { // /readyz needs none
		c = all[rand.IntN(len(all))]
	}
	answer, err := h.play(r.Context(), c, id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer) // a client that left
}

// play sends a call, on one connection for each stretch of trips with the same plans, as the product does within a transaction.
func (h *handler) play(ctx context.Context, c call, id string) (answer []byte, err error) {
	fresh := &values{id: id, random: rand.Int64()}
	for len(c) > 0 {
		n := 1
		for n < len(c) && c[n].Custom == c[0].Custom {
			n++
		}
		err := h.pools[c[0].Custom].AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			for _, t := range c[:n] {
				b := &pgx.Batch{}
				for _, s := range t.Statements {
					b.Queue(s.SQL, fresh.arguments(s)...).Query(func(rows pgx.Rows) error {
						for rows.Next() {
							for _, value := range rows.RawValues() {
								answer = append(answer, value...)
							}
							if s.Kept {
								fresh.kept = fmt.Sprint(binary.BigEndian.Uint64(rows.RawValues()[0]))
							}
						}
						return rows.Err()
					})
				}
				if err := conn.SendBatch(ctx, b).Close(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		c = c[n:]
	}
	return answer, nil
}

// values are what differs from one call to the next.
type values struct {
	id, kept string
	random   int64
}

// arguments are those of a statement.
func (v *values) arguments(s statement) []any {
	var args []any
	for _, a := range s.Args {
		switch {
		case a.From == ids:
			args = append(args, v.id)
		case a.From == kept:
			args = append(args, v.kept)
		case a.From == fingerprints:
			args = append(args, v.array(a.N, func(text string) string { return text }))
		case a.From == hashes:
			args = append(args, v.array(a.N, func(text string) string { return fmt.Sprintf(`"\\x%x"`, sha256.Sum256([]byte(text))) }))
		case a.Text == nil:
			args = append(args, nil)
		default:
			args = append(args, *a.Text)
		}
	}
	return args
}

func (v *values) array(n int, element func(string) string) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = element(strconv.FormatInt(v.random+int64(i), 36))
	}
	return "{" + strings.Join(elements, ",") + "}"
}

// handle is the process of the bare handler.
func handle(ctx context.Context, file, address string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	h := &handler{pools: map[bool]*pgxpool.Pool{}}
	if err := json.Unmarshal(text, &h.plan); err != nil {
		return err
	}
	for _, custom := range []bool{false, true} {
		if h.pools[custom], err = pg.Open(ctx, pg.Settings{URL: h.URL, MaxConns: h.Conns, CustomPlans: custom, OnePlan: !custom}); err != nil {
			return err
		}
	}
	server := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}
