package feedback

import (
	"context"

	"earshot/internal/account"
	"earshot/internal/fault"
	"earshot/internal/fql"
	"earshot/internal/pg"
)

// Select hands use a query for the ids of the records that match, to be made part of a statement, and the arguments it needs so far. While use
// runs it has one of the organization's turns for heavy work. When its statement takes too long the error is fault.QueryTooBroad.
func (s *Store) Select(ctx context.Context, v account.View, q fql.Query, use func(sql string, args *pg.Args) error) error {
	f, err := s.resolve(ctx, v, q)
	if err != nil {
		return err
	}
	done, err := s.counts.take(ctx, v, counted)
	if err != nil {
		return err
	}
	defer done()
	var args pg.Args
	where, err := f.matching(&args)
	if err != nil {
		return err
	}
	if err := use("SELECT f.id FROM feedback f WHERE "+where, &args); err != nil {
		return tooBroad(err, "select feedback")
	}
	return nil
}

// SelectionChanged is the refusal of a change whose caller expected another number of records.
func SelectionChanged(expected, found int64) error {
	return fault.New(fault.SelectionChanged, "The filter matches %d feedback now, not %d; nothing was changed.", found, expected)
}
