package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/pg"
)

// Reread is called in the transaction of a change after which texts that are there must be read again.
type Reread func(pgx.Tx) error

// Topics returns the organization's topics by name.
func (s *Store) Topics(ctx context.Context, v account.View) ([]Topic, error) {
	topics, err := readTopics(ctx, s.db, v)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return topics, nil
}

// Topic returns one topic. An unknown id is fault.NotFound.
func (s *Store) Topic(ctx context.Context, v account.View, id int64) (Topic, error) {
	topics, err := s.Topics(ctx, v)
	if err != nil {
		return Topic{}, err
	}
	for _, t := range topics {
		if t.ID == id {
			return t, nil
		}
	}
	return Topic{}, fault.Missing("topic")
}

func readTopics(ctx context.Context, q pg.Querier, v account.View) ([]Topic, error) {
	rows, err := q.Query(ctx, `SELECT id, name, keywords, exclusions FROM topic WHERE organization_id = $1`, v.Org())
	if err != nil {
		return nil, err
	}
	topics, err := pgx.CollectRows(rows, pgx.RowToStructByName[Topic])
	slices.SortFunc(topics, func(a, b Topic) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	return topics, err
}

// AddTopic adds a topic, whose id is given by us. It refuses one without a name or a keyword, a name that is in use, and what goes past the limits.
func (s *Store) AddTopic(ctx context.Context, v account.View, t Topic, form *fault.Form, reread Reread) (Topic, error) {
	err := s.edit(ctx, v, "add topic", func(tx pgx.Tx, there []Topic) (bool, error) {
		if len(there) >= MaxTopics {
			form.Add("name", "is one topic too many: there may be %d", MaxTopics)
		}
		if err := t.check(there, form); err != nil {
			return false, err
		}
		var err error
		t.ID, err = insertTopic(ctx, tx, v, t)
		return true, err
	}, reread)
	return t, err
}

// AddStarter adds the topics of the starter catalogue whose names are not in use, and returns those.
func (s *Store) AddStarter(ctx context.Context, v account.View, reread Reread) ([]Topic, error) {
	added := []Topic{}
	err := s.edit(ctx, v, "add topics", func(tx pgx.Tx, there []Topic) (bool, error) {
		for _, t := range Starter() {
			if named(there, t.Name, 0) || len(there)+len(added) >= MaxTopics {
				continue
			}
			t.ID = 0
			err := t.check(there, &fault.Form{})
			if err == nil {
				t.ID, err = insertTopic(ctx, tx, v, t)
			}
			if err != nil {
				return false, err
			}
			added = append(added, t)
		}
		return len(added) > 0, nil
	}, reread)
	return added, err
}

func insertTopic(ctx context.Context, tx pgx.Tx, v account.View, t Topic) (id int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO topic (organization_id, name, keywords, exclusions) VALUES ($1, $2, $3, $4)
		RETURNING id`, v.Org(), t.Name, t.Keywords, t.Exclusions).Scan(&id)
	return id, err
}

// TopicChange is what is to be different about a topic; what is empty or nil stays.
type TopicChange struct {
	Name                 string
	Keywords, Exclusions *[]string
}

// EditTopic changes a topic. Another name is felt at once, other words when texts were read again. An unknown id is fault.NotFound.
func (s *Store) EditTopic(ctx context.Context, v account.View, id int64, c TopicChange, form *fault.Form, reread Reread) (Topic, error) {
	var edited Topic
	err := s.edit(ctx, v, "edit topic", func(tx pgx.Tx, there []Topic) (bool, error) {
		at := slices.IndexFunc(there, func(t Topic) bool { return t.ID == id })
		if at < 0 {
			return false, fault.Missing("topic")
		}
		old := there[at]
		t := &there[at]
		t.Name = cmp.Or(c.Name, t.Name)
		if c.Keywords != nil {
			t.Keywords = *c.Keywords
		}
		if c.Exclusions != nil {
			t.Exclusions = *c.Exclusions
		}
		if err := t.check(there, form); err != nil {
			return false, err
		}
		edited = *t
		_, err := tx.Exec(ctx, `UPDATE topic SET name = $3, keywords = $4, exclusions = $5 WHERE organization_id = $1 AND id = $2`,
			v.Org(), id, t.Name, t.Keywords, t.Exclusions)
		return !slices.Equal(old.Keywords, t.Keywords) || !slices.Equal(old.Exclusions, t.Exclusions), err
	}, reread)
	return edited, err
}

// DeleteTopic removes a topic: from answers at once, from filters and counts when texts were read again. An unknown id is fault.NotFound.
func (s *Store) DeleteTopic(ctx context.Context, v account.View, id int64, reread Reread) error {
	return s.edit(ctx, v, "delete topic", func(tx pgx.Tx, _ []Topic) (bool, error) {
		tag, err := tx.Exec(ctx, `DELETE FROM topic WHERE organization_id = $1 AND id = $2`, v.Org(), id)
		if err == nil && tag.RowsAffected() == 0 {
			err = fault.Missing("topic")
		}
		return true, err
	}, reread)
}

// None, where a language is asked for, takes away the one there is.
const None = "none"

// LanguageChange is the languages that texts are to be expected in; what is empty stays. Off leaves texts unread. None has each text tell by
// itself; that of a carrier has it follow the organization again.
type LanguageChange struct {
	Language Language
	Carriers []CarrierLanguage
}

// ChangeLanguages changes the languages that texts are expected in. It refuses languages that are not read and carriers that are not there.
func (s *Store) ChangeLanguages(ctx context.Context, v account.View, c LanguageChange, form *fault.Form, reread Reread) (Settings, error) {
	err := s.edit(ctx, v, "change languages", func(tx pgx.Tx, _ []Topic) (bool, error) {
		before, err := readSettings(ctx, tx, v)
		if err != nil {
			return false, err
		}
		if err := c.check(ctx, tx, v, form); err != nil {
			return false, err
		}
		return c.differs(before), c.write(ctx, tx, v)
	}, reread)
	if err != nil {
		return Settings{}, err
	}
	return s.Settings(ctx, v)
}

func (c LanguageChange) check(ctx context.Context, tx pgx.Tx, v account.View, form *fault.Form) error {
	ids := make([]int64, len(c.Carriers))
	for i, speaks := range c.Carriers {
		ids[i] = speaks.CarrierID
	}
	// A carrier that is found is not deleted before its language is written.
	rows, err := tx.Query(ctx, `SELECT id FROM carrier WHERE organization_id = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE`, v.Org(), ids)
	if err != nil {
		return err
	}
	known, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	if c.Language != "" {
		c.Language.check("language", form)
	}
	for i, speaks := range c.Carriers {
		path := fmt.Sprintf("carriers.%d.", i)
		speaks.Language.check(path+"language", form)
		switch {
		case form.Wrong(path + "carrier_id"):
		case !slices.Contains(known, speaks.CarrierID):
			form.Add(path+"carrier_id", "is not a carrier of this organization")
		case slices.Contains(ids[:i], speaks.CarrierID):
			form.Add(path+"carrier_id", "is there twice")
		}
	}
	return form.Err()
}

func (l Language) check(field string, form *fault.Form) {
	if l != None && l != Off && !l.Known() && !form.Wrong(field) {
		form.Add(field, "must be one of en, fr, de, es, it, off, or none")
	}
}

// differs says whether texts are expected in another language after the change than by the settings.
func (c LanguageChange) differs(from Settings) bool {
	if c.Language != "" && c.Language.stored() != from.Language {
		return true
	}
	before := map[int64]Language{}
	for _, speaks := range from.Carriers {
		before[speaks.CarrierID] = speaks.Language
	}
	return slices.ContainsFunc(c.Carriers, func(speaks CarrierLanguage) bool { return before[speaks.CarrierID] != speaks.Language.stored() })
}

func (c LanguageChange) write(ctx context.Context, tx pgx.Tx, v account.View) error {
	var ids []int64
	var languages []Language
	for _, speaks := range c.Carriers {
		ids, languages = append(ids, speaks.CarrierID), append(languages, speaks.Language.stored())
	}
	b := &pgx.Batch{}
	if c.Language != "" {
		b.Queue(`UPDATE analysis SET language = $2 WHERE organization_id = $1`, v.Org(), c.Language.stored())
	}
	b.Queue(`DELETE FROM analysis_language WHERE organization_id = $1 AND carrier_id = ANY($2)`, v.Org(), ids)
	b.Queue(`
		INSERT INTO analysis_language (organization_id, carrier_id, language)
		SELECT $1, carrier_id, language FROM unnest($2::bigint[], $3::text[]) AS speaks (carrier_id, language)
		WHERE language <> ''`, v.Org(), ids, languages)
	return tx.SendBatch(ctx, b).Close()
}

// stored is what is kept of a language that was asked for.
func (l Language) stored() Language {
	if l == None {
		return ""
	}
	return l
}

// Reread has every text read again, although nothing has changed: for texts that were written by a program of an earlier release.
func (s *Store) Reread(ctx context.Context, v account.View, reread Reread) error {
	return s.edit(ctx, v, "read texts again", func(pgx.Tx, []Topic) (bool, error) { return true, nil }, reread)
}

// Outdated returns the organizations whose texts were read by the rules of an earlier release.
// It is about all organizations: looking after them is nobody's request.
func (s *Store) Outdated(ctx context.Context) ([]account.OrgID, error) {
	rows, err := s.db.Query(ctx, `SELECT organization_id FROM analysis WHERE engine < $1 ORDER BY organization_id LIMIT 100`, Version)
	if err != nil {
		return nil, fmt.Errorf("look for texts to read again: %w", err)
	}
	orgs, err := pgx.CollectRows(rows, pgx.RowTo[account.OrgID])
	if err != nil {
		return nil, fmt.Errorf("look for texts to read again: %w", err)
	}
	return orgs, nil
}

// Upgrade has the organization's texts read again by the rules of this release, unless somebody else has done so meanwhile.
func (s *Store) Upgrade(ctx context.Context, v account.View, reread Reread) error {
	return s.edit(ctx, v, "read texts by new rules", func(tx pgx.Tx, _ []Topic) (bool, error) {
		tag, err := tx.Exec(ctx, `UPDATE analysis SET engine = $2 WHERE organization_id = $1 AND engine < $2`, v.Org(), Version)
		return tag.RowsAffected() > 0, err
	}, reread)
}

// edit runs a change in a transaction that holds the organization's settings, after which every process reads them anew. When the change
// says that texts mean something else now, the version goes up and reread is called.
func (s *Store) edit(ctx context.Context, v account.View, doing string, change func(tx pgx.Tx, there []Topic) (again bool, err error), reread Reread) error {
	if _, err := s.Reader(ctx, v); err != nil { // the row is there then
		return err
	}
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM analysis WHERE organization_id = $1 FOR UPDATE`, v.Org()); err != nil {
			return err
		}
		there, err := readTopics(ctx, tx, v)
		if err != nil {
			return err
		}
		again, err := change(tx, there)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE analysis SET edits = edits + 1, version = version + CASE WHEN $2 THEN 2 ELSE 0 END
			WHERE organization_id = $1`, v.Org(), again)
		if err == nil && again {
			err = reread(tx)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, Channel)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	s.Forget()
	return nil
}

// named says whether another topic than the one with this id has the name, in whatever case.
func named(topics []Topic, name string, id int64) bool {
	key := Topic{Name: name}.key()
	return slices.ContainsFunc(topics, func(t Topic) bool { return t.ID != id && t.key() == key })
}

// check notes in the form what keeps the topic out of a catalogue with the others, and takes away what nobody meant.
func (t *Topic) check(others []Topic, form *fault.Form) error {
	t.Name = strings.TrimSpace(t.Name)
	switch {
	case form.Wrong("name"):
	case t.Name == "":
		form.Add("name", "is required")
	case named(others, t.Name, t.ID):
		form.Add("name", "is the name of another topic")
	}
	t.Keywords, t.Exclusions = tidied(t.Keywords, "keywords", form), tidied(t.Exclusions, "exclusions", form)
	if len(t.Keywords) == 0 && !form.Wrong("keywords") {
		form.Add("keywords", "are required: the words by which the topic is known")
	}
	if len(t.Keywords)+len(t.Exclusions) > MaxKeywords {
		form.Add("keywords", "and exclusions may be %d in all", MaxKeywords)
	}
	return form.Err()
}

// tidied are words without the spaces around them; those that are nothing else, or are there already, are left out. One that cannot be
// looked for is noted at the place where it was given. Past the limit none is kept: they are too many already.
func tidied(words []string, field string, form *fault.Form) []string {
	c, kept := newCatalogue(), []string{}
	for i, w := range words {
		w = strings.TrimSpace(w)
		at := fmt.Sprintf("%s.%d", field, i)
		switch {
		case form.Wrong(at): // it counts as one, so that nobody is told to give some
		case w == "", slices.Contains(kept, w):
			continue
		default:
			if c.keyword(w, 0) != nil { // the error repeats the word
				form.Add(at, "must have a word in it, three letters beside a star, and at most %d characters", MaxKeywordLength)
			}
		}
		if kept = append(kept, w); len(kept) > MaxKeywords {
			break
		}
	}
	return kept
}
