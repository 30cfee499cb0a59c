package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"earshot/bench/rig"
)

// How many clients there are, and how many of them take their time: a connection that is idle when a server stops is one that its
// client may use at the very moment it is closed.
const (
	visitors = 50
	strolls  = 20 // pause for some milliseconds between requests
	naps     = 5  // pause for seconds
)

// visitor is one client. It knows both servers and goes to the other when one ends its connection or refuses one: nothing can have been
// taken then.
type visitor struct {
	org       rig.Organization
	addresses []string
	at        int
	pause     time.Duration
	random    *rand.Rand
	conn      *rig.Conn
	latest    int64 // a feedback to retrieve

	mu sync.Mutex
	ledger
}

// ledger is what became of requests.
type ledger struct {
	answered   map[int]int // by status
	created    []int64
	closed     int // answers after which the server closed the connection, as it said
	idle       int // connections found closed before anything was sent
	elsewhere  int // connections refused
	unanswered []string
}

// turn returns what happened since the last, and begins a new page.
func (v *visitor) turn() ledger {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.ledger
	v.ledger = ledger{answered: map[int]int{}}
	return l
}

// visit sends one request after the other until ctx ends: half creates, the rest retrieves and lists.
func (v *visitor) visit(ctx context.Context) {
	create := v.org.Create(rig.Opinion)
	list := rig.Request("GET", "/v4/feedback?per_page=5&include=items", v.org.Token, "")
	for ctx.Err() == nil {
		text, what := list, "list"
		switch n := v.random.IntN(10); {
		case n < 5:
			text, what = create, "create"
		case n < 8 && v.latest > 0:
			text, what = rig.Request("GET", fmt.Sprintf("/v4/feedback/%d", v.latest), v.org.Token, ""), "retrieve"
		}
		if !v.connect(ctx) {
			continue
		}
		began := time.Now()
		a, err := v.conn.Do(text)
		v.note(what, a, err, time.Since(began))
		if v.pause > 0 {
			time.Sleep(time.Duration(v.random.Int64N(int64(v.pause))))
		}
	}
	v.leave()
}

// connect makes sure of a connection, to the other server if need be.
func (v *visitor) connect(ctx context.Context) bool {
	if v.conn != nil && v.conn.Over() {
		v.leave()
		v.mu.Lock()
		v.idle++
		v.mu.Unlock()
	}
	if v.conn != nil {
		return true
	}
	c, err := rig.Dial(ctx, v.addresses[v.at])
	if err == nil {
		v.conn = c
		return true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if rig.Refused(err) {
		v.elsewhere++
		v.at = (v.at + 1) % len(v.addresses)
	} else if ctx.Err() == nil {
		v.unanswered = append(v.unanswered, fmt.Sprintf("connect: %v", err))
	}
	return false
}

func (v *visitor) leave() {
	if v.conn != nil {
		_ = v.conn.Close() // the server may have done so
		v.conn = nil
	}
}

func (v *visitor) note(what string, a rig.Answer, err error, took time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.unanswered = append(v.unanswered, fmt.Sprintf("%s: %v after %v", what, err, took.Round(time.Microsecond)))
		v.leave()
		return
	}
	v.answered[a.Status]++
	if what == "create" && a.Status == 201 {
		if id, err := firstID(a.Body); err == nil {
			v.latest = id
			v.created = append(v.created, id)
		}
	}
	if a.Closes {
		v.closed++
		v.leave()
		v.at = (v.at + 1) % len(v.addresses)
	}
}

// firstID reads {"id":12,… without reading the rest.
func firstID(body []byte) (int64, error) {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(body, []byte(`{"id":`)), []byte(","))
	return strconv.ParseInt(string(digits), 10, 64)
}

// stopUnderLoad stops one of two servers again and again under the load of all clients, and starts it anew.
func (b *bench) stopUnderLoad(ctx context.Context) (outcome, error) {
	restarts, steady := 10, 3*time.Second
	if b.short {
		restarts, steady = 2, time.Second
	}
	database, drop, err := b.fresh(ctx, "stop")
	if err != nil {
		return outcome{}, err
	}
	defer drop()
	org, err := b.program.Organization(ctx, database, "Acme")
	if err != nil {
		return outcome{}, err
	}
	var servers [2]*rig.Process
	var addresses []string
	for i := range servers {
		if servers[i], err = b.program.Serve(ctx, database, "", placesForAll...); err != nil {
			return outcome{}, err
		}
		addresses = append(addresses, servers[i].Address)
	}
	clients, stop := welcome(ctx, org, addresses)
	defer stop()
	t := rig.Table{Title: fmt.Sprintf("A server of two stops under the load of %d clients", visitors), Rows: [][]string{{
		"stop", "answers meanwhile", "of them 5xx", "that closed their connection", "connections refused", "idle connections closed", "sent without an answer", "exit", "after",
	}}}
	var all ledger
	var ends int
	var longest time.Duration
	for n := range restarts {
		if err := pause(ctx, steady); err != nil {
			return outcome{}, err
		}
		all.add(page(clients))
		took, err := servers[n%2].Stop()
		during := page(clients)
		all.add(during)
		exit := "0"
		if err != nil {
			exit = err.Error()
			ends++
		}
		longest = max(longest, took)
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(n + 1), rig.Thousands(int64(during.sum(0))), fmt.Sprint(during.sum(500)), fmt.Sprint(during.closed), fmt.Sprint(during.elsewhere),
			fmt.Sprint(during.idle), fmt.Sprint(len(during.unanswered)), exit, rig.Span(took),
		})
		if servers[n%2], err = b.program.Serve(ctx, database, addresses[n%2], placesForAll...); err != nil {
			return outcome{}, err
		}
	}
	if err := pause(ctx, steady); err != nil {
		return outcome{}, err
	}
	stop()
	all.add(page(clients))
	for _, s := range servers {
		if _, err := s.Stop(); err != nil {
			ends++
		}
	}
	for _, what := range all.unanswered {
		rig.Progress("sent without an answer: %s", what)
	}
	lost, surplus, err := all.compare(ctx, database, org)
	t.Rows = append(t.Rows, []string{
		"in all", rig.Thousands(int64(all.sum(0))), fmt.Sprint(all.sum(500)), fmt.Sprint(all.closed), fmt.Sprint(all.elsewhere), fmt.Sprint(all.idle),
		fmt.Sprint(len(all.unanswered)), "", "",
	})
	kept := rig.Table{Title: "What was created, in the answers and in the database", Rows: [][]string{
		{"answered 201", "of them not in the database", "in the database without an answer"},
		{rig.Thousands(int64(len(all.created))), fmt.Sprint(lost), fmt.Sprint(surplus)},
	}}
	return outcome{
		tables: []rig.Table{t, kept},
		rules: []rig.Bar{
			none("stop: requests sent that got no answer", len(all.unanswered)), none("stop: answers 5xx", all.sum(500)),
			none("stop: answers neither 200 nor 201", all.sum(0)-all.answered[200]-all.answered[201]),
			none("stop: processes that did not end with 0", ends),
			none("stop: creates answered and lost", lost), none("stop: creates kept without an answer", surplus),
			some("stop: answers that told a client to go elsewhere", all.closed),
		},
		bars: []rig.Bar{within("stop: longest stop", longest, 10*time.Second)},
	}, err
}

// placesForAll lets a server take on all clients at once, though they are of one organization: what is looked at here is not overload.
var placesForAll = []string{"--database-conns", "34"}

// welcome starts the clients; stop ends them.
func welcome(ctx context.Context, org rig.Organization, addresses []string) (clients []*visitor, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var busy sync.WaitGroup
	for i := range visitors {
		v := &visitor{org: org, addresses: addresses, at: i % len(addresses), random: rand.New(rand.NewPCG(20, uint64(i)))}
		switch {
		case i < naps:
			v.pause = 5 * time.Second
		case i < naps+strolls:
			v.pause = 20 * time.Millisecond
		}
		v.turn()
		clients = append(clients, v)
		busy.Go(func() { v.visit(ctx) })
	}
	return clients, func() {
		cancel()
		busy.Wait()
	}
}

// page sums what became of all requests since the last page.
func page(clients []*visitor) ledger {
	sum := ledger{answered: map[int]int{}}
	for _, v := range clients {
		sum.add(v.turn())
	}
	return sum
}

func (l *ledger) add(o ledger) {
	if l.answered == nil {
		l.answered = map[int]int{}
	}
	for status, n := range o.answered {
		l.answered[status] += n
	}
	l.created = append(l.created, o.created...)
	l.unanswered = append(l.unanswered, o.unanswered...)
	l.closed += o.closed
	l.idle += o.idle
	l.elsewhere += o.elsewhere
}

// sum is how many answers have this status or a higher one.
func (l *ledger) sum(low int) (n int) {
	for status, count := range l.answered {
		if status >= low {
			n += count
		}
	}
	return n
}

// compare holds what was answered against what is there.
func (l *ledger) compare(ctx context.Context, database string, org rig.Organization) (lost, surplus int, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left open on it
	rows, err := conn.Query(ctx, `SELECT id FROM feedback WHERE organization_id = $1 ORDER BY id`, org.ID)
	if err != nil {
		return 0, 0, err
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, 0, err
	}
	for _, id := range l.created {
		if _, ok := slices.BinarySearch(there, id); !ok {
			lost++
		}
	}
	return lost, len(there) - (len(l.created) - lost), nil
}
