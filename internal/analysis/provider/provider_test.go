package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"earshot/internal/analysis"
	"earshot/internal/analysis/provider"
)

const text = "Très bon accueil 😊! Le colis est arrivé en retard."

var topics = []analysis.Topic{{ID: 4, Name: "Delivery"}, {ID: 2, Name: "Staff"}}

// good is an answer as it should be.
const good = `{"spans":[{"start":0,"length":19,"text":"Très bon accueil 😊!","score":85,"topics":["Staff"]},` +
	`{"start":20,"length":30,"text":"Le colis est arrivé en retard.","score":20,"topics":["Delivery"]}]}`

// chat puts what a model says into what an endpoint sends.
func chat(content string) string {
	b, err := json.Marshal(map[string]any{
		"id": "1", "object": "chat.completion", "usage": map[string]int{"total_tokens": 5},
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": content}}},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// serve starts a server that answers with the handlers one after the other, the last again and again, and counts.
func serve(t *testing.T, handlers ...http.HandlerFunc) (address string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func fail(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(header) == 2 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(status)
	}
}

func open(t *testing.T, c provider.Config) *provider.Provider {
	t.Helper()
	c.Model, c.Backoff = "model", time.Millisecond
	p, err := provider.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What was asked and what came back, when all goes well.
func TestRead(t *testing.T) {
	t.Parallel()
	var got struct {
		Model       string
		Temperature int
		MaxTokens   int `json:"max_tokens"`
		Messages    []struct{ Role, Content string }
	}
	var key string
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, chat(good))
	})
	res, err := open(t, provider.Config{URL: address, Key: "secret", MaxTokens: 900}).Read(t.Context(), text, "fr", topics)
	if err != nil {
		t.Fatal(err)
	}
	want := analysis.Result{
		Language: "fr", Measured: true, Score: 45, Topics: []int64{2, 4},
		Spans: []analysis.Span{
			{Start: 0, Length: 19, Text: "Très bon accueil 😊!", Score: 85, Topics: []int64{2}},
			{Start: 20, Length: 30, Text: "Le colis est arrivé en retard.", Score: 20, Topics: []int64{4}},
		},
	}
	if fmt.Sprint(res) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", res, want)
	}
	if key != "Bearer secret" || got.Model != "model" || got.MaxTokens != 900 || len(got.Messages) != 2 || !strings.Contains(got.Messages[1].Content, `"topics":["Delivery","Staff"]`) {
		t.Errorf("asked with %q: %+v", key, got)
	}
}

// Offsets that are off are mended when the text stands further on.
func TestReadFindsMiscountedSpans(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"bytes":          strings.NewReplacer(`"start":20`, `"start":24`).Replace(good),
		"far out":        strings.NewReplacer(`"start":20`, `"start":2000`).Replace(good),
		"a wrong length": strings.NewReplacer(`"length":30`, `"length":3`).Replace(good),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := serve(t, say(chat(answer)))
			res, err := open(t, provider.Config{URL: address}).Read(t.Context(), text, "fr", topics)
			if err != nil || res.Spans[1].Start != 20 || res.Spans[1].Length != 30 {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
}

// Whatever an endpoint gets wrong is an error, says nothing of the text or the key, and gives no result.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) http.HandlerFunc { return say(chat(strings.Replace(good, old, with, 1))) }
	cases := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a bad request":       {fail(400), "answered 400"},
		"a wrong key":         {fail(401), "answered 401"},
		"a redirect":          {fail(302, "Location", "/elsewhere"), "answered 302"},
		"no content":          {fail(204), "answered 204"},
		"not JSON":            {say("<html>busy</html>"), "not JSON"},
		"an empty body":       {say(""), "not JSON"},
		"an error object":     {say(`{"error":{"message":"overloaded"}}`), "error object"},
		"no choice":           {say(`{"choices":[]}`), "0 choices"},
		"cut short":           {say(strings.Replace(chat(good), `"finish_reason":"stop"`, `"finish_reason":"length"`, 1)), "cut short"},
		"prose":               {say(chat("Here you are: " + good)), "not of the form"},
		"a fence":             {say(chat("```json\n" + good + "\n```")), "not of the form"},
		"something after":     {say(chat(good + " Anything else?")), "something follows"},
		"an unknown field":    {replace(`"start":0`, `"begin":0,"start":0`), "not of the form"},
		"a missing field":     {replace(`"score":85,`, ``), "a field is missing"},
		"a score in words":    {replace(`"score":85`, `"score":"good"`), "not of the form"},
		"a fraction":          {replace(`"score":85`, `"score":85.5`), "not of the form"},
		"a score too high":    {replace(`"score":85`, `"score":101`), "0 to 100"},
		"a score too low":     {replace(`"score":85`, `"score":-1`), "0 to 100"},
		"an unknown topic":    {replace(`"Staff"`, `"Weather"`), "not one of those given"},
		"a text not there":    {replace(`"Le colis`, `"Le paquet`), "not in the text"},
		"white space around":  {replace(`"Le colis`, `" Le colis`), "white space"},
		"an empty span":       {replace(`"text":"Très bon accueil 😊!"`, `"text":""`), "empty"},
		"overlapping":         {replace(`"start":20,"length":30,"text":"Le colis`, `"start":10,"length":30,"text":"Le colis`), "overlaps"},
		"the wrong way round": {say(chat(`{"spans":[{"start":20,"length":30,"text":"Le colis est arrivé en retard.","score":20,"topics":[]},{"start":0,"length":19,"text":"Très bon accueil 😊!","score":85,"topics":[]}]}`)), "overlaps"},
		"most left out":       {say(chat(`{"spans":[{"start":0,"length":4,"text":"Très","score":85,"topics":[]}]}`)), "more than half"},
		"no spans":            {say(chat(`{"spans":[]}`)), "more than half"},
		"another object":      {say(chat(`{"sentiment":"positive"}`)), "not of the form"},
		"too many spans":      {say(chat(`{"spans":[` + strings.Repeat(`{},`, 1000) + `{}]}`)), "1001 spans"},
		"a huge body": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 10_000))
			}
		}, "more than 262144 bytes"},
		"a reset": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, "ask provider"},
		"a body that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, `{"choices"`)
		}, "receive answer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, calls := serve(t, c.handler)
			res, err := open(t, provider.Config{URL: address, Key: "secret"}).Read(t.Context(), text, "fr", topics)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if fmt.Sprint(res) != fmt.Sprint(analysis.Result{}) {
				t.Errorf("with a result: %v", res)
			}
			for _, word := range []string{"secret", "colis", "accueil"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("the error tells: %v", err)
				}
			}
			if calls.Load() != 1 {
				t.Errorf("asked %d times", calls.Load())
			}
		})
	}
}

// An endpoint that is busy or broken for a moment is asked again, three times in all.
func TestReadTriesAgain(t *testing.T) {
	t.Parallel()
	address, calls := serve(t, fail(503), fail(429, "Retry-After", "0"), say(chat(good)))
	if _, err := open(t, provider.Config{URL: address}).Read(t.Context(), text, "fr", topics); err != nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	address, calls = serve(t, fail(500))
	if _, err := open(t, provider.Config{URL: address}).Read(t.Context(), text, "fr", topics); err == nil || !strings.Contains(err.Error(), "answered 500") || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// A wish to be left alone for longer than the timeout is respected by giving up.
func TestReadWaitsAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	address, calls := serve(t, fail(429, "Retry-After", "60"), say(chat(good)))
	_, err := open(t, provider.Config{URL: address, Timeout: 50 * time.Millisecond}).Read(t.Context(), text, "fr", topics)
	if !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// The timeout ends an endpoint that says nothing, and one that never stops talking.
func TestReadEndsInTime(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{"a hang": hang, "a drip": drip} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := serve(t, handler)
			if _, err := open(t, provider.Config{URL: address, Timeout: 100 * time.Millisecond}).Read(t.Context(), text, "fr", topics); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Budgets: nothing is sent past them.
func TestReadKeepsToBudgets(t *testing.T) {
	t.Parallel()
	address, calls := serve(t, say(chat(good)))
	p := open(t, provider.Config{URL: address, PerMinute: 2, MaxText: 60})
	for range 2 {
		if _, err := p.Read(t.Context(), text, "fr", topics); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Read(t.Context(), text, "fr", topics); !errors.Is(err, provider.ErrBudget) {
		t.Errorf("past the budget: %v", err)
	}
	if _, err := p.Read(t.Context(), strings.Repeat("é", 61), "fr", topics); !errors.Is(err, provider.ErrTooLong) {
		t.Errorf("a long text: %v", err)
	}
	if calls.Load() != 2 {
		t.Errorf("asked %d times", calls.Load())
	}
}

// A setting that cannot work is refused at start.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]provider.Config{
		"no address": {Model: "m"}, "no host": {URL: "http://", Model: "m"}, "another scheme": {URL: "ftp://host/x", Model: "m"}, "a file": {URL: "file:///etc/passwd", Model: "m"},
		"a password": {URL: "https://user:secret@host/x", Model: "m"}, "no model": {URL: "https://host/x"},
	} {
		if _, err := provider.New(c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
