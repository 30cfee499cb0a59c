package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/httpapi"
	"earshot/internal/pg"
	"earshot/internal/report"
	"earshot/internal/webui"
)

// service is the product's router on connections as serve opens them, answering on an address of this machine.
type service struct {
	accounts *account.Store
	reports  *report.Store
	http     *http.Server
	address  string
	pools    []*pgxpool.Pool
}

func openService(ctx context.Context, url string) (*service, error) {
	s := &service{}
	for _, custom := range []bool{false, true} {
		pool, err := pg.Open(ctx, pg.Settings{URL: url, MaxConns: 8, StatementTimeout: 10 * time.Second, CustomPlans: custom})
		if err != nil {
			s.close()
			return nil, err
		}
		s.pools = append(s.pools, pool)
	}
	carriers := carrier.NewStore(s.pools[0])
	records := feedback.NewStore(s.pools[0], s.pools[1], carriers, analysis.NewStore(s.pools[0]))
	s.accounts, s.reports = account.NewStore(s.pools[0]), report.NewStore(s.pools[0], carriers, records)
	pages := webui.NewPages("", "")
	api := &httpapi.Server{
		Accounts: s.accounts, Carriers: carriers, Feedback: records, Reports: s.reports,
		Log: slog.New(slog.DiscardHandler), BodyLimit: 1 << 20, Timeout: 30 * time.Second,
		ShowReport: pages.Report, ShowRefusal: pages.Refusal,
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		s.close()
		return nil, err
	}
	s.http, s.address = &http.Server{Handler: api.Handler(), ReadHeaderTimeout: time.Minute}, "http://"+listener.Addr().String()
	go func() { _ = s.http.Serve(listener) }() // until close
	return s, nil
}

func (s *service) close() {
	if s.http != nil {
		_ = s.http.Close() // nobody asks any more
	}
	for _, p := range s.pools {
		p.Close()
	}
}

// organization is one to measure.
type organization struct {
	*service
	operator account.Principal
	token    string
}

func (s *service) organization(ctx context.Context, name string) (organization, error) {
	org, err := s.accounts.OrganizationByName(ctx, name)
	if err != nil {
		return organization{}, err
	}
	_, token, err := s.accounts.IssueToken(ctx, account.Whole(org.ID), account.NewToken{Name: "bench"})
	return organization{s, account.Operator(org.ID), token}, err
}

// prefilled makes a report with the standard components.
func (o organization) prefilled(ctx context.Context, fql string) (report.Report, error) {
	return o.reports.Create(ctx, o.operator, report.New{Name: "Bench", FQL: fql, Prefilled: true}, &fault.Form{})
}

// get asks for an address and reads the whole answer.
func (o organization) get(ctx context.Context, path string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.address+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusUnprocessableEntity {
		return 0, fmt.Errorf("%s is answered %s", path, answer.Status)
	}
	return answer.StatusCode, nil
}
