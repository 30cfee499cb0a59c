package main

import (
	"context"
	"fmt"
	"strings"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
	"earshot/internal/feedback"
)

type questionCmd struct {
	List    questionListCmd    `cmd:"" help:"List a carrier's questions in their order."`
	Show    questionShowCmd    `cmd:"" help:"Show a question and its options."`
	Create  questionCreateCmd  `cmd:"" help:"Add a question to a carrier. --type is needed."`
	Set     questionSetCmd     `cmd:"" help:"Change a question. What is left out stays. With another --type or --max its answers are scored again by the workers."`
	Archive questionArchiveCmd `cmd:"" help:"Take no new answers to a question. Those it has stay."`
	Restore questionRestoreCmd `cmd:"" help:"Take answers to an archived question again."`
	Delete  questionDeleteCmd  `cmd:"" help:"Delete a question with its options. One that has answers is refused: archive it. Nothing is asked."`
}

type questionListCmd struct {
	organization
	output
	Carrier int64 `required:"" placeholder:"ID" help:"Carrier that asks them."`
}

// Run lists the questions.
func (c *questionListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		found, err := s.carriers.ByID(ctx, v, c.Carrier)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, found.Questions, questionRowOf)
	})
}

// chosenQuestion is a command about one question.
type chosenQuestion struct {
	organization
	output
	ID int64 `arg:"" help:"Id of the question, as listed."`
}

// edit changes the question and prints it; what is wrong with the flags may have been noted already.
func (c chosenQuestion) edit(ctx context.Context, std streams, change carrier.QuestionChange, form *fault.Form) error {
	return c.with(ctx, func(s stores, v account.View) error {
		operations, err := s.operations(0)
		if err != nil {
			return err
		}
		edited, started, err := operations.EditQuestion(ctx, v, feedback.By{}, c.ID, change, form)
		if err != nil {
			return err
		}
		if started != 0 {
			fmt.Fprintf(std.err, "Its answers are being scored again, by operation %d.\n", started)
		}
		return printOne(std.out, c.JSON, questionRowOf(edited))
	})
}

type questionShowCmd struct{ chosenQuestion }

// Run shows the question, for people with a table of its options.
func (c *questionShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		q, err := s.carriers.Question(ctx, v, c.ID)
		if err != nil {
			return err
		}
		if err := printOne(std.out, c.JSON, questionRowOf(q)); err != nil || c.JSON || len(q.Options) == 0 {
			return err
		}
		fmt.Fprintln(std.out)
		return printAll(std.out, false, q.Options, optionRowOf)
	})
}

// questionFlags is what a question is to be.
type questionFlags struct {
	Type     *carrier.Type `placeholder:"TYPE" help:"What sort of answer it takes: nps, smiley, rating, slider, ces, ratings_table, choice, multiple_choice, textarea, text, date or number."`
	Max      *int64        `placeholder:"NUMBER" help:"Top of the scale of a rating or slider, from 2 to 100; a new one has 5 when it is left out."`
	Required *bool         `negatable:"" help:"Feedback is complete only with an answer to it; --no-required is the opposite."`
	Order    *int64        `placeholder:"PLACE" help:"Its place among the carrier's questions, counted from 1; a new one is the last when it is left out."`
	Option   []string      `sep:"none" placeholder:"NAME" help:"Option of a choice or row of a ratings table. Repeatable, in order, and all there are to be: those of before that are left out are archived."`
}

// change is what the flags say; numbers out of range are noted.
func (f questionFlags) change(form *fault.Form) carrier.QuestionChange {
	c := carrier.QuestionChange{
		Type: given(f.Type), Max: int16(whole(form, "max", f.Max, 2, 100)), Required: f.Required,
		Order: int(whole(form, "order", f.Order, 1, everything)),
	}
	for _, name := range f.Option {
		c.Options = append(c.Options, carrier.OptionChange{Name: name})
	}
	return c
}

type questionCreateCmd struct {
	organization
	output
	questionFlags
	Carrier int64  `required:"" placeholder:"ID" help:"Carrier that is to ask it."`
	Number  *int64 `name:"id" placeholder:"NUMBER" help:"Number that clients send as question_id; the next free one when left out."`
	Name    string `arg:"" help:"The question as it is asked."`
}

// Run adds the question.
func (c *questionCreateCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		var form fault.Form
		flags := c.change(&form)
		n := carrier.NewQuestion{
			ID: whole(&form, "id", c.Number, 1, maxID), Name: c.Name, Type: flags.Type, Max: flags.Max, Order: flags.Order,
			Required: c.Required != nil && *c.Required, Options: c.Option,
		}
		q, err := s.carriers.AddQuestion(ctx, v, c.Carrier, n, &form)
		if err != nil {
			return err
		}
		return printOne(std.out, c.JSON, questionRowOf(q))
	})
}

type questionSetCmd struct {
	chosenQuestion
	questionFlags
	Name *string `help:"The question as it is asked."`
}

// Run changes the question.
func (c *questionSetCmd) Run(ctx context.Context, std streams) error {
	var form fault.Form
	change := c.change(&form)
	change.Name = given(c.Name)
	return c.edit(ctx, std, change, &form)
}

type questionArchiveCmd struct{ chosenQuestion }

// Run archives the question.
func (c *questionArchiveCmd) Run(ctx context.Context, std streams) error {
	return c.edit(ctx, std, carrier.QuestionChange{Archived: new(true)}, &fault.Form{})
}

type questionRestoreCmd struct{ chosenQuestion }

// Run takes the question out of the archive.
func (c *questionRestoreCmd) Run(ctx context.Context, std streams) error {
	return c.edit(ctx, std, carrier.QuestionChange{Archived: new(false)}, &fault.Form{})
}

type questionDeleteCmd struct{ chosenQuestion }

// Run deletes the question.
func (c *questionDeleteCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		if err := s.carriers.DeleteQuestion(ctx, v, c.ID); err != nil {
			return err
		}
		return printRemoved(std.out, c.JSON, "The question was deleted.")
	})
}

type questionRow struct {
	ID         int64        `json:"id"`
	CarrierID  int64        `json:"carrier_id"`
	Name       string       `json:"name"`
	Order      int          `json:"order"`
	Type       carrier.Type `json:"type"`
	Required   int          `json:"required"` // 0 or 1, as in the HTTP interface
	Max        *int16       `json:"max"`
	ArchivedAt *stamp       `json:"archived_at"`
	Options    []optionRow  `json:"options"`
}

func questionRowOf(q carrier.Question) questionRow {
	r := questionRow{
		ID: q.ID, CarrierID: q.CarrierID, Name: q.Name, Order: q.Position, Type: q.Type, Max: q.Max,
		ArchivedAt: optionalStamp(q.ArchivedAt), Options: make([]optionRow, len(q.Options)),
	}
	if q.Required {
		r.Required = 1
	}
	for i, o := range q.Options {
		r.Options[i] = optionRowOf(o)
	}
	return r
}

func (questionRow) titles() []string {
	return []string{"ID", "ORDER", "STATE", "TYPE", "MAX", "REQUIRED", "NAME", "OPTIONS"}
}

func (r questionRow) cells() []any {
	top := "-"
	if r.Max != nil {
		top = fmt.Sprint(*r.Max)
	}
	var offered []string
	for _, o := range r.Options {
		if o.ArchivedAt == nil {
			offered = append(offered, o.Name)
		}
	}
	return []any{r.ID, r.Order, state(r.ArchivedAt), r.Type, top, yesNo(r.Required == 1), r.Name, strings.Join(offered, ", ")}
}

type optionRow struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	ArchivedAt *stamp `json:"archived_at"`
}

func optionRowOf(o carrier.Option) optionRow {
	return optionRow{o.ID, o.Name, optionalStamp(o.ArchivedAt)}
}

func (optionRow) titles() []string { return []string{"OPTION", "STATE", "NAME"} }

func (r optionRow) cells() []any { return []any{r.ID, state(r.ArchivedAt), r.Name} }
