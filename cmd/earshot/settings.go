package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/pg"
)

// mistakes collects what is wrong with the settings, so that an operator hears it all at once.
type mistakes struct{ all []error }

func (m *mistakes) add(flag, format string, args ...any) {
	variable := "EARSHOT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	m.all = append(m.all, fmt.Errorf("--%s (%s) %s", flag, variable, fmt.Sprintf(format, args...)))
}

func (m *mistakes) err() error { return errors.Join(m.all...) }

func (m *mistakes) duration(flag, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond { // PostgreSQL counts in those, and takes 0 for no limit
		m.add(flag, "must be a duration such as 10s or 2m, not %q", text)
	}
	return d
}

// delay is a duration that may be none and must end before another does.
func (m *mistakes) delay(flag, text string, before time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d >= max(before, 1) {
		m.add(flag, "must be a duration such as 2s, or 0s, and shorter than the timeout, not %q", text)
	}
	return d
}

func (m *mistakes) whole(flag, text string, low, high int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		m.add(flag, "must be a whole number from %d to %d, not %q", low, high, text)
	}
	return n
}

func (m *mistakes) oneOf(flag, text string, choices ...string) string {
	for _, c := range choices {
		if strings.EqualFold(c, text) {
			return c
		}
	}
	m.add(flag, "must be one of %s, not %q", strings.Join(choices, ", "), text)
	return ""
}

func (m *mistakes) address(flag, text string) {
	if _, _, err := net.SplitHostPort(text); err != nil {
		m.add(flag, "must be host:port, such as 127.0.0.1:8080, not %q", text)
	}
}

// program is where a program is that can be run; none where none is asked for.
func (m *mistakes) program(flag, name string) string {
	if name == "" {
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		m.add(flag, "must be a program that can be run, not %q", name)
	}
	return path
}

// baseURL is the address the service is reached at, without a slash at its end.
func (m *mistakes) baseURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		m.add("base-url", "must be an address such as https://feedback.example.com")
	}
	return strings.TrimRight(text, "/")
}

// database is how every command finds its database.
type database struct {
	DatabaseURL     string `name:"database-url" env:"EARSHOT_DATABASE_URL" placeholder:"URL" help:"PostgreSQL to use: postgres://user:password@host:5432/name."`
	DatabaseURLFile string `name:"database-url-file" env:"EARSHOT_DATABASE_URL_FILE" placeholder:"FILE" help:"File that holds the database URL, instead of the URL itself."`
}

// url is the address given, directly or by a file; exactly one of the two is needed.
func (d database) url(m *mistakes) string {
	switch {
	case d.DatabaseURL != "" && d.DatabaseURLFile != "":
		m.add("database-url", "and --database-url-file are both given: give one")
	case d.DatabaseURL != "":
		return d.DatabaseURL
	case d.DatabaseURLFile == "":
		m.add("database-url", "is required, for example postgres://user:password@127.0.0.1:5432/earshot")
	default:
		text, err := os.ReadFile(d.DatabaseURLFile)
		if err != nil {
			m.add("database-url-file", "cannot be read: %v", err)
			return ""
		}
		address := strings.TrimSpace(string(text))
		if address == "" { // the driver would take it for the database of the system's user
			m.add("database-url-file", "names an empty file")
		}
		return address
	}
	return ""
}

// open connects for a command that runs and ends.
func (d database) open(ctx context.Context) (*pgxpool.Pool, error) {
	var m mistakes
	address := d.url(&m)
	if err := m.err(); err != nil {
		return nil, err
	}
	return pg.Open(ctx, pg.Settings{URL: address, MaxConns: 4})
}
