package main

import (
	"context"

	"earshot/internal/account"
	"earshot/internal/fault"
)

type userCmd struct {
	List   userListCmd   `cmd:"" help:"List an organization's users."`
	Show   userShowCmd   `cmd:"" help:"Show one user."`
	Create userCreateCmd `cmd:"" help:"Add a user. --name and --role are needed."`
	Set    userSetCmd    `cmd:"" help:"Change a user. What is left out stays; another role is felt by the user's tokens within a second."`
	Delete userDeleteCmd `cmd:"" help:"Delete a user. Their tokens are revoked and they own no feedback any more; the feedback stays. Nothing is asked."`
}

type userListCmd struct {
	organization
	output
}

// Run lists the users.
func (c *userListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		users, _, err := s.accounts.Users(ctx, v, account.UserFilter{}, 0, everything)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, users, userRowOf)
	})
}

// chosenUser is a command about one user.
type chosenUser struct {
	organization
	output
	Email string `arg:"" help:"E-mail address of the user, in any spelling of its case."`
}

type userShowCmd struct{ chosenUser }

// Run shows the user.
func (c *userShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		user, err := s.accounts.UserByEmail(ctx, v, c.Email)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, userRowOf(user))
	})
}

// userFlags is what a user is to be.
type userFlags struct {
	Name *string       `help:"Name of the person."`
	Role *account.Role `placeholder:"ROLE" help:"What they may do: admin, editor, viewer or restricted_viewer, who sees only the feedback they own."`
	Team *string       `placeholder:"TEAM" help:"Team they belong to, by name or id; a new user joins the main team when it is left out."`
}

// user is what the flags say, with an address. An unknown team is noted.
func (f userFlags) user(ctx context.Context, s stores, v account.View, email string, form *fault.Form) (account.User, error) {
	team, err := teamID(ctx, s.accounts, v, f.Team, form)
	return account.User{Email: email, Name: given(f.Name), Role: given(f.Role), TeamID: team}, err
}

type userCreateCmd struct {
	organization
	output
	userFlags
	Email string `arg:"" help:"E-mail address, which no other user of the organization has."`
}

// Run adds the user.
func (c *userCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		user, err := c.user(ctx, s, v, c.Email, &form)
		if err != nil {
			return err
		}
		if user, err = s.accounts.CreateUser(ctx, v, user, &form); err != nil {
			return err
		}
		return printOne(std.out, c.JSON, userRowOf(user))
	})
}

type userSetCmd struct {
	chosenUser
	userFlags
	EmailTo *string `placeholder:"EMAIL" help:"Another e-mail address."`
}

// Run changes the user.
func (c *userSetCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		user, err := s.accounts.UserByEmail(ctx, v, c.Email)
		if err != nil {
			return err
		}
		var form fault.Form
		change, err := c.user(ctx, s, v, given(c.EmailTo), &form)
		if err != nil {
			return err
		}
		if user, err = s.accounts.ChangeUser(ctx, v, user.ID, change, &form); err != nil {
			return err
		}
		return printOne(std.out, c.JSON, userRowOf(user))
	})
}

type userDeleteCmd struct{ chosenUser }

// Run deletes the user.
func (c *userDeleteCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		user, err := s.accounts.UserByEmail(ctx, v, c.Email)
		if err != nil {
			return err
		}
		if err := s.accounts.DeleteUser(ctx, v, user.ID); err != nil {
			return err
		}
		return printRemoved(std.out, c.JSON, "The user was deleted and their tokens revoked.")
	})
}

type userRow struct {
	ID        account.UserID `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Role      account.Role   `json:"role"`
	TeamID    int64          `json:"team_id"`
	CreatedAt stamp          `json:"created_at"`
}

func userRowOf(u account.User) userRow {
	return userRow{u.ID, u.Email, u.Name, u.Role, u.TeamID, stamp(u.CreatedAt)}
}

func (userRow) titles() []string {
	return []string{"ID", "EMAIL", "NAME", "ROLE", "TEAM", "CREATED"}
}

func (r userRow) cells() []any { return []any{r.ID, r.Email, r.Name, r.Role, r.TeamID, r.CreatedAt} }
