package main

import (
	"context"
	"fmt"
	"strings"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
)

type topicCmd struct {
	List    topicListCmd    `cmd:"" help:"List the topics that texts are read for; as JSON with their words."`
	Show    topicShowCmd    `cmd:"" help:"Show a topic and the words by which it is known."`
	Add     topicAddCmd     `cmd:"" help:"Add a topic. Texts that are there are read again by the workers."`
	Set     topicSetCmd     `cmd:"" help:"Change a topic. What is left out stays. With other words texts are read again by the workers."`
	Remove  topicRemoveCmd  `cmd:"" help:"Delete a topic. Texts are read again without it by the workers. Nothing is asked."`
	Starter topicStarterCmd `cmd:"" help:"Add the topics that most organizations need, with words in five languages; those whose names are in use are left out."`
	Suggest topicSuggestCmd `cmd:"" help:"List phrases that many texts have and no topic covers."`
}

type topicListCmd struct {
	organization
	output
}

// Run lists the topics.
func (c *topicListCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		topics, err := s.texts.Topics(ctx, v)
		if err != nil {
			return err
		}
		return printAll(std.out, c.JSON, topics, topicRowOf)
	})
}

// chosenTopic is a command about one topic.
type chosenTopic struct {
	organization
	output
	ID int64 `arg:"" help:"Id of the topic, as listed."`
}

type topicShowCmd struct{ chosenTopic }

// Run shows the topic, for people with a table of its words.
func (c *topicShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		t, err := s.texts.Topic(ctx, v, c.ID)
		if err != nil {
			return err
		}
		if err := printOne(std.out, c.JSON, topicRowOf(t)); err != nil || c.JSON {
			return err
		}
		fmt.Fprintln(std.out)
		return printTable(std.out, topicWords(t))
	})
}

// topicFlags are the words of a topic.
type topicFlags struct {
	Keyword   []string `sep:"none" placeholder:"WORD" help:"Word or phrase by which it is known: parcel, deliver*, *versand, or fr:livraison for one language. Repeatable, and all there are to be."`
	Exclusion []string `sep:"none" placeholder:"WORD" help:"Word or phrase that takes the topic from a sentence. Repeatable, and all there are to be; an empty one takes them away."`
}

type topicAddCmd struct {
	organization
	output
	topicFlags
	Name string `arg:"" help:"Name of the topic."`
}

// Run adds the topic.
func (c *topicAddCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		var form fault.Form
		t, started, err := operations.AddTopic(ctx, v, feedback.By{}, analysis.Topic{Name: c.Name, Keywords: c.Keyword, Exclusions: c.Exclusion}, &form)
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printOne(std.out, c.JSON, topicRowOf(t))
	})
}

type topicSetCmd struct {
	chosenTopic
	topicFlags
	Name *string `help:"Another name."`
}

// Run changes the topic.
func (c *topicSetCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		change := analysis.TopicChange{Name: given(c.Name)}
		if c.Keyword != nil {
			change.Keywords = &c.Keyword
		}
		if c.Exclusion != nil {
			change.Exclusions = &c.Exclusion
		}
		var form fault.Form
		t, started, err := operations.EditTopic(ctx, v, feedback.By{}, c.ID, change, &form)
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printOne(std.out, c.JSON, topicRowOf(t))
	})
}

type topicRemoveCmd struct{ chosenTopic }

// Run deletes the topic.
func (c *topicRemoveCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		started, err := operations.DeleteTopic(ctx, v, feedback.By{}, c.ID)
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printRemoved(std.out, c.JSON, "The topic was deleted.")
	})
}

type topicStarterCmd struct {
	organization
	output
}

// Run adds what is missing of the starter catalogue and lists that.
func (c *topicStarterCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		added, started, err := operations.AddStarter(ctx, v, feedback.By{})
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printAll(std.out, c.JSON, added, topicRowOf)
	})
}

type topicSuggestCmd struct {
	organization
	output
	FQL   string `default:"[]" placeholder:"FILTER" help:"Look at feedback that matches this filter only."`
	Limit int    `default:"20" help:"How many at most (default ${default})."`
}

// Run lists suggestions.
func (c *topicSuggestCmd) Run(ctx context.Context, std streams) error {
	q, err := feedback.Filters.Parse(c.FQL)
	if err != nil {
		return err
	}
	return c.with(ctx, func(s stores, v account.View) error {
		found, texts, err := s.records.Suggest(ctx, v, q, max(c.Limit, 1))
		if err != nil {
			return err
		}
		fmt.Fprintf(std.err, "The latest texts were read: %d.\n", texts)
		return printAll(std.out, c.JSON, found, func(s analysis.Suggestion) suggestionRow { return suggestionRow(s) })
	})
}

// withOperations opens the database, finds the organization and hands do what makes changes that texts are read again for.
func (o organization) withOperations(ctx context.Context, do func(*operation.Store, account.View) error) error {
	return o.with(ctx, func(s stores, v account.View) error {
		operations, err := s.operations(0)
		if err != nil {
			return err
		}
		return do(operations, v)
	})
}

// tellReread says that a change has texts read again, if it does.
func (std streams) tellReread(operation int64) {
	if operation != 0 {
		fmt.Fprintf(std.err, "Texts are being read again, by operation %d.\n", operation)
	}
}

type topicRow struct {
	ID         int64    `json:"id"`
	Name       string   `json:"name"`
	Keywords   []string `json:"keywords"`
	Exclusions []string `json:"exclusions"`
}

func topicRowOf(t analysis.Topic) topicRow { return topicRow(t) }

func (topicRow) titles() []string { return []string{"ID", "NAME", "KEYWORDS", "EXCLUSIONS"} }

func (r topicRow) cells() []any { return []any{r.ID, r.Name, len(r.Keywords), len(r.Exclusions)} }

// topicWord is a keyword or an exclusion in the table of a topic's words.
type topicWord struct{ word, does string }

func topicWords(t analysis.Topic) []topicWord {
	var words []topicWord
	for _, w := range t.Keywords {
		words = append(words, topicWord{w, "finds it"})
	}
	for _, w := range t.Exclusions {
		words = append(words, topicWord{w, "excludes it"})
	}
	return words
}

func (topicWord) titles() []string { return []string{"WORD", ""} }

func (w topicWord) cells() []any { return []any{w.word, w.does} }

type suggestionRow struct {
	Phrase   string   `json:"phrase"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

func (suggestionRow) titles() []string { return []string{"TEXTS", "PHRASE", "EXAMPLE"} }

func (r suggestionRow) cells() []any {
	return []any{r.Count, r.Phrase, strings.Join(r.Examples[:min(1, len(r.Examples))], "")}
}
