package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"earshot/internal/account"
	"earshot/internal/analysis"
	"earshot/internal/fault"
	"earshot/internal/feedback"
	"earshot/internal/operation"
)

type analysisCmd struct {
	Show   analysisShowCmd   `cmd:"" help:"Show in which languages texts are expected, and by which versions they are read."`
	Set    analysisSetCmd    `cmd:"" help:"Change the languages that texts are expected in. What is left out stays. Texts are read again by the workers."`
	Reread analysisRereadCmd `cmd:"" help:"Have all texts read again by the workers: after an upgrade during which servers of the earlier release took in feedback."`
}

type analysisShowCmd struct {
	organization
	output
}

// Run shows the settings, for people with a table of the carriers that have a language of their own.
func (c *analysisShowCmd) Run(ctx context.Context, std streams) error {
	return c.with(ctx, func(s stores, v account.View) error {
		settings, err := s.texts.Settings(ctx, v)
		if err != nil {
			return err
		}
		return printAnalysis(std, c.JSON, settings)
	})
}

type analysisSetCmd struct {
	organization
	output
	Language        *analysis.Language `placeholder:"CODE" help:"Language of texts: en, fr, de, es or it; none has each text tell by itself, off leaves texts unread."`
	CarrierLanguage []string           `sep:"none" placeholder:"ID=CODE" help:"Language of one carrier's texts, or off; none has it follow the organization. Repeatable; other carriers keep theirs."`
}

// Run changes the languages.
func (c *analysisSetCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		var form fault.Form
		settings, started, err := operations.ChangeLanguages(ctx, v, feedback.By{}, c.languages(&form), &form)
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printAnalysis(std, c.JSON, settings)
	})
}

// languages are what the flags say; what cannot be read is noted.
func (c *analysisSetCmd) languages(form *fault.Form) analysis.LanguageChange {
	change := analysis.LanguageChange{Language: given(c.Language)}
	for i, flag := range c.CarrierLanguage {
		number, code, _ := strings.Cut(flag, "=")
		id, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil {
			form.Add(fmt.Sprintf("carriers.%d.carrier_id", i), "must be the id of a carrier, as in 453=fr")
		}
		change.Carriers = append(change.Carriers, analysis.CarrierLanguage{CarrierID: id, Language: analysis.Language(code)})
	}
	return change
}

type analysisRereadCmd struct {
	organization
	output
}

// Run has texts read again.
func (c *analysisRereadCmd) Run(ctx context.Context, std streams) error {
	return c.withOperations(ctx, func(operations *operation.Store, v account.View) error {
		started, err := operations.Reanalyse(ctx, v, feedback.By{})
		if err != nil {
			return err
		}
		o, err := operations.ByID(ctx, v, started)
		if err != nil {
			return err
		}
		std.tellReread(started)
		return printOne(std.out, c.JSON, operationRowOf(o))
	})
}

func printAnalysis(std streams, asJSON bool, s analysis.Settings) error {
	row := analysisRow{Version: s.Version, EngineVersion: s.Engine, Carriers: make([]languageRow, len(s.Carriers))}
	if s.Language != "" {
		row.Language = &s.Language
	}
	for i, c := range s.Carriers {
		row.Carriers[i] = languageRow(c)
	}
	if err := printOne(std.out, asJSON, row); err != nil || asJSON || len(row.Carriers) == 0 {
		return err
	}
	fmt.Fprintln(std.out)
	return printTable(std.out, row.Carriers)
}

type analysisRow struct {
	Version       int32              `json:"version"`
	EngineVersion int                `json:"engine_version"`
	Language      *analysis.Language `json:"language"`
	Carriers      []languageRow      `json:"carriers"`
}

func (analysisRow) titles() []string { return []string{"VERSION", "ENGINE", "LANGUAGE"} }

func (r analysisRow) cells() []any {
	language := analysis.Language(analysis.None)
	if r.Language != nil {
		language = *r.Language
	}
	return []any{r.Version, r.EngineVersion, language}
}

type languageRow struct {
	CarrierID int64             `json:"carrier_id"`
	Language  analysis.Language `json:"language"`
}

func (languageRow) titles() []string { return []string{"CARRIER", "LANGUAGE"} }

func (r languageRow) cells() []any { return []any{r.CarrierID, r.Language} }
