package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

type initCmd struct {
	database
	Name    string `required:"" help:"Name of the organization. One that exists is kept as it is and gets a new token."`
	Email   string `default:"admin@example.com" help:"E-mail address of its first user, an admin (default ${default})."`
	BaseURL string `name:"base-url" env:"EARSHOT_BASE_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Address the service is reached at, for the output (default ${default})."`
	JSON    bool   `name:"json" help:"Print one JSON object and nothing else."`
}

// start is what a new user needs to begin.
type start struct {
	OrganizationID account.OrgID    `json:"organization_id"`
	TeamID         int64            `json:"team_id"`
	UserID         account.UserID   `json:"user_id"`
	UserEmail      string           `json:"user_email"`
	CarrierID      int64            `json:"carrier_id"`
	Questions      map[string]int64 `json:"questions"`
	Choices        []string         `json:"choices"`
	Token          string           `json:"token"`
	BaseURL        string           `json:"base_url"`
}

var firstCarrier = carrier.New{
	Name: "Customer survey",
	Questions: []carrier.NewQuestion{
		{Name: "How likely are you to recommend us?", Type: carrier.NPS},
		{Name: "How satisfied are you?", Type: carrier.Rating, Max: 5},
		{Name: "What matters most to you?", Type: carrier.Choice, Options: []string{"Price", "Quality", "Service", "Delivery"}},
		{Name: "What could we do better?", Type: carrier.Text},
	},
}

// Run migrates, then makes or finds the organization and issues a token for it.
func (c *initCmd) Run(ctx context.Context, std streams) error {
	var m mistakes
	base := m.baseURL(c.BaseURL)
	if err := m.err(); err != nil {
		return err
	}
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := pg.Migrate(ctx, db); err != nil {
		return err
	}
	s, err := begin(ctx, account.NewStore(db), carrier.NewStore(db), analysis.NewStore(db), c.Name, c.Email)
	if err != nil {
		return err
	}
	s.BaseURL = base
	if c.JSON {
		return json.NewEncoder(std.out).Encode(s)
	}
	return s.print(std.out)
}

// nothingToReread is for topics of an organization that has no texts yet.
func nothingToReread(pgx.Tx) error { return nil }

func begin(ctx context.Context, accounts *account.Store, carriers *carrier.Store, texts *analysis.Store, name, email string) (start, error) {
	org, err := accounts.OpenOrganization(ctx, name)
	if err != nil {
		return start{}, err
	}
	v := account.Whole(org.ID)
	user, err := accounts.OpenUser(ctx, v, account.User{Email: email, Name: "Administrator", Role: account.Admin})
	if err != nil {
		return start{}, err
	}
	first, err := carriers.ByName(ctx, v, firstCarrier.Name)
	if fault.Is(err, fault.NotFound) {
		if first, err = carriers.Create(ctx, v, firstCarrier); err == nil {
			_, err = texts.AddStarter(ctx, v, nothingToReread)
		}
	}
	if err != nil {
		return start{}, err
	}
	_, secret, err := accounts.IssueToken(ctx, v, account.NewToken{Name: "earshot init"})
	if err != nil {
		return start{}, err
	}
	s := start{
		OrganizationID: org.ID, TeamID: org.MainTeamID, UserID: user.ID, UserEmail: user.Email,
		CarrierID: first.ID, Questions: map[string]int64{}, Choices: []string{}, Token: secret,
	}
	for _, q := range first.Questions {
		// The first of each type is ours: feedback may have registered others since.
		if _, later := s.Questions[string(q.Type)]; later {
			continue
		}
		s.Questions[string(q.Type)] = q.ID
		for _, o := range q.Options {
			s.Choices = append(s.Choices, o.Name)
		}
	}
	return s, nil
}

func (s start) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `Organization %d is ready.

  user       %s (admin)
  carrier    %d, with the questions nps %d, rating %d, choice %d, text %d
  token      %s

The token is shown this once. Start the service with earshot serve, then:

  curl %s/v4/carriers -H 'Authorization: Bearer %s'
`, s.OrganizationID, s.UserEmail, s.CarrierID, s.Questions["nps"], s.Questions["rating"], s.Questions["choice"], s.Questions["text"],
		s.Token, s.BaseURL, s.Token)
	return err
}
