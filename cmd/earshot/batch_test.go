package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"earshot/internal/pg/pgtest"
)

// stream opens a batch whose lines are what is written to the pipe, and returns the answer when it begins.
func (s *server) stream(token string) (send *io.PipeWriter, answer <-chan io.ReadCloser) {
	s.t.Helper()
	body, send := io.Pipe()
	s.t.Cleanup(func() { _ = send.Close() }) // it may be over
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v4/feedback/batch", body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/x-ndjson")
	begun := make(chan io.ReadCloser, 1)
	go func() {
		response, err := s.client.Do(r) //nolint:bodyclose // whoever reads it does
		if err != nil {
			s.t.Errorf("the batch: %v", err)
			close(begun)
			return
		}
		begun <- response.Body
	}()
	return send, begun
}

// A batch is read, written and answered as it goes: however long it is, the server's memory stays as it was.
func TestLongBatchTakesLittleMemory(t *testing.T) {
	t.Parallel()
	const lines = 30_000
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database, watched...)
	s.client.Timeout = 10 * patience
	send, begun := s.stream(org.Token)
	var sender sync.WaitGroup
	sender.Go(func() {
		w := bufio.NewWriterSize(send, 64<<10)
		for i := range lines {
			fmt.Fprintf(w, `{"carrier_id":%d,"source":"survey","fingerprint":"%d","attributes":[{"name":"shop","value":"%d"}],"items":[{"question_id":%d,"value":%q}]}`+"\n",
				org.CarrierID, i, i%50, org.Questions["text"], strings.Repeat("Friendly staff, slow delivery. ", 6))
		}
		if err := w.Flush(); err != nil {
			t.Errorf("send: %v", err)
		}
		_ = send.Close() // the end of the body
	})
	answer := <-begun
	if answer == nil {
		t.FailNow()
	}
	defer answer.Close() //nolint:errcheck // it is read to its end
	var most [2]float64  // in the first half of the batch, and in the second
	results, next := bufio.NewScanner(answer), time.Now()
	n := 0
	for results.Scan() {
		if n++; !strings.Contains(results.Text(), `"status":"created"`) {
			t.Fatalf("result %d: %s", n, results.Text())
		}
		if time.Now().After(next) {
			half := &most[n*2/(lines+1)]
			*half = max(*half, s.figures()["process_resident_memory_bytes"])
			next = time.Now().Add(100 * time.Millisecond)
		}
	}
	sender.Wait()
	if err := results.Err(); err != nil || n != lines {
		t.Errorf("%d results, %v", n, err)
	}
	f := s.figures()
	t.Logf("%d lines in %v statements; memory %.1f MiB in the first half, %.1f in the second", lines, f["earshot_create_rows_count"], most[0]/(1<<20), most[1]/(1<<20))
	if f["earshot_create_rows_sum"] != float64(lines) {
		t.Errorf("%v were written", f["earshot_create_rows_sum"])
	}
	// What the lines hold in all is above 15 MiB in the second half alone, and several times that once they are read.
	if most[1] > 1.2*most[0]+8<<20 {
		t.Errorf("memory grew from %.0f to %.0f MiB", most[0]/(1<<20), most[1]/(1<<20))
	}
}

// A server that is told to stop does not wait for a batch that may go on for ever: it ends it with a line that says so, and stops.
func TestStoppingServerEndsBatches(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	org := initialize(t, database)
	s := serve(t, database)
	send, begun := s.stream(org.Token)
	if _, err := io.WriteString(send, org.feedback()+"\n"); err != nil {
		t.Fatal(err)
	}
	answer := <-begun
	if answer == nil {
		t.FailNow()
	}
	defer answer.Close() //nolint:errcheck // it is read to its end
	s.terminate()
	text, err := io.ReadAll(answer)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], `"created"`) || !strings.Contains(lines[1], `"line":2,"status":"failed","code":"unavailable"`) {
		t.Errorf("%q, %v", lines, err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// A database that goes away under a batch ends it with a line that says where; sent again when it is back, nothing is lost and nothing there twice.
func TestBatchOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	proxy, database := throughProxy(t, pgtest.New(t))
	org := initialize(t, database)
	s := serve(t, database)
	line := func(i int) string {
		return fmt.Sprintf(`{"carrier_id":%d,"source":"email","fingerprint":"%d"}`+"\n", org.CarrierID, i)
	}
	send, begun := s.stream(org.Token)
	if _, err := io.WriteString(send, line(1)); err != nil {
		t.Fatal(err)
	}
	answer := <-begun
	if answer == nil {
		t.FailNow()
	}
	defer answer.Close() //nolint:errcheck // it is read to its end
	proxy.cut()
	_, _ = io.WriteString(send, line(2)) // or the end is noticed before
	text, err := io.ReadAll(answer)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[1], `"line":2,"status":"failed","code":"unavailable"`) {
		t.Fatalf("%q, %v", lines, err)
	}
	proxy.restore()
	again := ""
	s.until("taking lines again", func() bool {
		a := s.must(http.MethodPost, "/v4/feedback/batch", org.Token, "["+line(1)+","+line(2)+"]")
		again = a.body
		return a.status == http.StatusOK
	})
	if !strings.Contains(again, `"line":1,"status":"duplicate"`) || !strings.Contains(again, `"line":2,"status":"created"`) {
		t.Errorf("sent again: %s", again)
	}
}
