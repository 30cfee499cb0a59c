package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"earshot/bench/corpus"
	"earshot/bench/rig"
)

// sized is what a request took in the small and the large organization.
type sized struct {
	name         string
	small, large rig.Times
	limit        float64
}

func (s sized) ratio() float64 { return float64(s.large.At(0.5)) / float64(s.small.At(0.5)) }

// measureSizes compares creates and lists in the large organization with those in the small one, in turn, by one client.
func (b *bench) measureSizes(ctx context.Context) (err error) {
	rounds, creates, lists := 5, 300, 200
	if b.short {
		rounds, creates, lists = 1, 50, 50
	}
	url := b.postgres.URL(b.built.Main)
	var orgs [2]rig.Organization
	for i, name := range []string{corpus.NameSmall, corpus.NameLarge} {
		if orgs[i], err = b.program.Organization(ctx, url, name); err != nil {
			return err
		}
	}
	p, err := b.program.Serve(ctx, url, "")
	if err != nil {
		return err
	}
	defer func() {
		_, failed := p.Stop()
		err = errors.Join(err, failed)
	}()
	var last [2]int64
	for i, org := range orgs {
		// The first create also adds to the dictionary.
		if last[i], err = createOne(ctx, p.Address, org); err != nil {
			return err
		}
	}
	defer func() {
		for i, org := range orgs {
			err = errors.Join(err, removeFrom(context.WithoutCancel(ctx), p.Address, org, last[i]))
		}
	}()
	found := []sized{{name: "create", limit: 1.25}}
	for _, f := range filters[:2] {
		found = append(found, sized{name: f.name, limit: 2})
	}
	for range rounds {
		for i := range found {
			for j, took := range []*rig.Times{&found[i].small, &found[i].large} {
				text, status, n := orgs[j].Create(rig.Opinion), 201, creates
				if i > 0 {
					text, status, n = get(orgs[j], list(filters[i-1].fql)).bytes(), 200, lists
				}
				more, err := repeat(ctx, p.Address, text, status, n)
				if err != nil {
					return fmt.Errorf("%s: %w", found[i].name, err)
				}
				*took = append(*took, more...)
			}
		}
	}
	b.report.Sized = found
	return nil
}

// repeat sends a request so many times, one after the other.
func repeat(ctx context.Context, address string, text []byte, status, n int) (took rig.Times, err error) {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	for range n {
		sent := time.Now()
		a, err := c.Do(text)
		if err := a.Want(status, err); err != nil {
			return nil, err
		}
		took = append(took, time.Since(sent))
	}
	return took, nil
}

func createOne(ctx context.Context, address string, org rig.Organization) (id int64, err error) {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	a, err := c.Do(org.Create(rig.Opinion))
	if err := a.Want(201, err); err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(a.Body), `{"id":%d,`, &id)
	return id, err
}

// removeFrom deletes what was created from an id on: the data is kept for other runs.
func removeFrom(ctx context.Context, address string, org rig.Organization, id int64) error {
	c, err := rig.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // all of it was read
	a, err := c.Do(rig.Request("DELETE", "/v4/feedback", org.Token, fmt.Sprintf(`{"fql": [{"Id":{"$gte":%d}}], "limit": 10000}`, id)))
	return a.Want(200, err)
}
