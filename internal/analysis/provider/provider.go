// Package provider has text read by a language model behind an OpenAI-compatible chat endpoint, for operators who want that. It asks for
// spans, scores and topics, believes nothing of what comes back before it is checked against the text, and keeps to budgets. Whatever
// goes wrong is an error, so that the caller keeps what package analysis read by itself.
//
// The address is the operator's own setting and no tenant can change it. It usually names a host inside the operator's network, which a
// guard against forged requests would have to forbid; so there is none, but no redirect is followed and no proxy of the environment used.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"earshot/internal/analysis"
)

// Config is what an operator sets. Zero values get the defaults named.
type Config struct {
	URL         string        // of the chat completions endpoint, http or https
	Key         string        // sent as a bearer token; none when empty
	Model       string        // as the endpoint calls it
	Timeout     time.Duration // of one Read with all its attempts; 20 s
	Backoff     time.Duration // before the second attempt, doubled before the third; 500 ms
	PerMinute   int           // requests, attempts counted; 60
	MaxText     int           // code points of a text; 8,000
	MaxTokens   int           // of an answer; 4,000
	MaxResponse int64         // bytes; 256 KiB
}

// The ways a Read fails that a caller may want to tell apart.
var (
	ErrBudget  = errors.New("the requests of this minute are used up")
	ErrTooLong = errors.New("the text is longer than is sent")
	ErrAnswer  = errors.New("the answer cannot be used") // asked again, the endpoint would hardly do better
)

// attempts is how often a request is made when the endpoint says that it is busy or broken.
const attempts = 3

// Provider reads texts. It may be used by many at once.
type Provider struct {
	config Config
	client *http.Client
	budget *rate.Limiter
}

// New prepares a provider. It refuses an address that is not http or https, or that carries a password, and a missing model.
func New(c Config) (*Provider, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the address of the provider must begin with http:// or https:// and name a host")
	}
	if u.User != nil {
		return nil, errors.New("the address of the provider must not carry a user or password: set the key instead")
	}
	if c.Model == "" {
		return nil, errors.New("the provider needs the name of a model")
	}
	c.Timeout = orElse(c.Timeout, 20*time.Second)
	c.Backoff = orElse(c.Backoff, 500*time.Millisecond)
	c.PerMinute = orElse(c.PerMinute, 60)
	c.MaxText = orElse(c.MaxText, 8000)
	c.MaxTokens = orElse(c.MaxTokens, 4000)
	c.MaxResponse = orElse(c.MaxResponse, 256<<10)
	return &Provider{
		config: c,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy:               nil, // the environment does not decide where texts go
				MaxIdleConnsPerHost: 4,
				IdleConnTimeout:     time.Minute,
				TLSHandshakeTimeout: 10 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		budget: rate.NewLimiter(rate.Every(time.Minute/time.Duration(c.PerMinute)), c.PerMinute),
	}, nil
}

func orElse[T time.Duration | int | int64](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Read has a text read. Topics are those it may find, by their names. The language is told to the model and returned as given; it may be
// zero. The result keeps every promise of analysis.Read, or there is an error: ErrBudget and ErrTooLong before anything was sent, ErrAnswer for what breaks a promise.
func (p *Provider) Read(ctx context.Context, text string, lang analysis.Language, topics []analysis.Topic) (analysis.Result, error) {
	if n := utf8.RuneCountInString(text); n > p.config.MaxText {
		return analysis.Result{}, ErrTooLong
	}
	body, err := json.Marshal(p.request(text, lang, topics))
	if err != nil {
		return analysis.Result{}, fmt.Errorf("write request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	answer, err := p.ask(ctx, body)
	if err != nil {
		return analysis.Result{}, err
	}
	content, err := readEnvelope(answer)
	if err != nil {
		return analysis.Result{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	spans, err := readSpans(content, text, topics)
	if err != nil {
		return analysis.Result{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return analysis.Sum(lang, spans), nil
}

// ask sends a request and returns the body of a 200. It tries again after 429 and 5xx, no sooner than the endpoint wants.
func (p *Provider) ask(ctx context.Context, body []byte) ([]byte, error) {
	pause := p.config.Backoff
	for attempt := 1; ; attempt++ {
		if !p.budget.Allow() {
			return nil, ErrBudget
		}
		answer, busy, err := p.post(ctx, body)
		if err == nil || busy < 0 || attempt == attempts {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; before it: %w", ctx.Err(), err)
		case <-time.After(max(pause, busy)):
		}
		pause *= 2
	}
}

// post makes one attempt. A busy of zero or more says that another may help, after so long; less than zero that none would.
func (p *Provider) post(ctx context.Context, body []byte) (answer []byte, busy time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, -1, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if p.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.config.Key)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return nil, -1, fmt.Errorf("ask provider: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		// The body may repeat what was sent, so it is not part of the error.
		err := fmt.Errorf("the provider answered %d", res.StatusCode)
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			return nil, retryAfter(res.Header.Get("Retry-After")), err
		}
		return nil, -1, err
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, p.config.MaxResponse+1))
	if err != nil {
		return nil, -1, fmt.Errorf("receive answer: %w", err)
	}
	if int64(len(answer)) > p.config.MaxResponse {
		return nil, -1, fmt.Errorf("the answer has more than %d bytes", p.config.MaxResponse)
	}
	return answer, -1, nil
}

// retryAfter reads the header in seconds; a date, or nothing, is as soon as the backoff allows.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}
