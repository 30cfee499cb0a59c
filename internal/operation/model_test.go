package operation_test

import (
	"fmt"
	"maps"
	"slices"

	"earshot/internal/account"
	"earshot/internal/feedback"
	"earshot/internal/operation"
)

// entry is what stands at one place of a record's attributes: an attribute itself, where it has no value, or one of its values.
type entry struct{ name, value string }

// thing is what an event is about: an attribute by its name, or the status.
type thing string

const theStatus thing = ""

// event is one change of one thing, as history keeps it.
type event struct {
	thing         thing
	operation     int64
	status        [2]feedback.Status // before and after
	before, after []entry
	places        []int // where before stood, the attribute itself first
}

// record is a feedback in the plainest form.
type record struct {
	status  feedback.Status
	entries []entry // in the order attached
	owners  map[account.UserID]bool
	events  []event
}

// about are the entries of an attribute without itself, and all its places, beginning at 1.
func (r *record) about(name string) (values []entry, places []int) {
	for i, e := range r.entries {
		if e.name != name {
			continue
		}
		places = append(places, i+1)
		if e.value != "" {
			values = append(values, e)
		}
	}
	return values, places
}

func (r *record) has(name, value string) bool { return slices.Contains(r.entries, entry{name, value}) }

// become gives the record other entries and notes the events.
func (r *record) become(entries []entry, operation int64, touched []string) (changed bool) {
	next := &record{entries: entries}
	for _, name := range touched {
		before, places := r.about(name)
		after, _ := next.about(name)
		if !slices.Equal(before, after) {
			r.events = append(r.events, event{thing: thing(name), operation: operation, before: before, after: after, places: places})
		}
	}
	changed = !slices.Equal(r.entries, entries)
	r.entries = entries
	return changed
}

func (r *record) move(to feedback.Status, operation int64) (changed bool) {
	if r.status == to {
		return false
	}
	r.events = append(r.events, event{thing: theStatus, operation: operation, status: [2]feedback.Status{r.status, to}})
	r.status = to
	return true
}

// apply makes a change.
func (r *record) apply(c feedback.Change, operation int64) (changed bool) {
	if c.Verb == feedback.Move {
		return r.move(c.Status, operation)
	}
	entries := slices.Clone(r.entries)
	var touched []string
	for _, a := range c.Attributes {
		touched = append(touched, a.Name)
		listed := func(e entry) bool {
			return slices.ContainsFunc(a.Values, func(v feedback.Value) bool { return v.Text == e.value })
		}
		goes := func(e entry) bool { return false }
		switch c.Verb {
		case feedback.Sync:
			goes = func(e entry) bool { return e.value != "" && !listed(e) || len(a.Values) == 0 }
		case feedback.Detach:
			goes = func(e entry) bool { return len(a.Values) == 0 || listed(e) }
		case feedback.Attach, feedback.Move:
		}
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.name == a.Name && goes(e) })
		// An attribute goes with its last value, unless it gets others now.
		only := slices.IndexFunc(entries, func(e entry) bool { return e.name == a.Name && e.value != "" }) < 0
		if c.Verb == feedback.Detach && only {
			entries = slices.DeleteFunc(entries, func(e entry) bool { return e.name == a.Name })
		}
	}
	for _, a := range c.Attributes {
		if c.Verb == feedback.Detach || len(a.Values) == 0 {
			continue
		}
		for _, e := range append([]entry{{name: a.Name}}, entriesOf(a)...) {
			if !slices.Contains(entries, e) {
				entries = append(entries, e)
			}
		}
	}
	return r.become(entries, operation, touched)
}

func entriesOf(a feedback.Attribute) (all []entry) {
	for _, v := range a.Values {
		all = append(all, entry{a.Name, v.Text})
	}
	return all
}

// restore takes back what an operation changed, and says whether something was changed again since.
func (r *record) restore(undone, by int64) (changed, again bool) {
	var status *feedback.Status
	var touched []string
	gone, back := map[entry]bool{}, map[int]entry{}
	for i, e := range r.events {
		if e.operation != undone {
			continue
		}
		if slices.ContainsFunc(r.events[i+1:], func(later event) bool { return later.thing == e.thing }) {
			again = true
			continue
		}
		if e.thing == theStatus {
			status = &e.status[0]
			continue
		}
		touched = append(touched, string(e.thing))
		for _, a := range append([]entry{{name: string(e.thing)}}, e.after...) {
			gone[a] = true
		}
		if len(e.places) > 0 {
			for k, b := range append([]entry{{name: string(e.thing)}}, e.before...) {
				back[e.places[k]] = b
			}
		}
	}
	if status != nil {
		changed = r.move(*status, by)
	}
	if len(touched) == 0 {
		return changed, again
	}
	// What is put back takes its old places, what is there besides the others.
	rest := slices.DeleteFunc(slices.Clone(r.entries), func(e entry) bool { return gone[e] })
	var entries []entry
	for place := 1; len(rest) > 0 || len(back) > 0; place++ {
		if e, ok := back[place]; ok {
			entries = append(entries, e)
			delete(back, place)
		} else if len(rest) > 0 {
			entries, rest = append(entries, rest[0]), rest[1:]
		}
	}
	return r.become(entries, by, touched) || changed, again
}

// modelled is an operation.
type modelled struct {
	kind     operation.Kind
	change   feedback.Change
	selected []int64
	state    operation.State
	done     int
	changed  int64
	skipped  []int64
	undoes   int64
	undoneBy int64
}

// world is all there is.
type world struct {
	records    map[int64]*record
	operations map[int64]*modelled
}

// matching are the ids of what a filter finds, in their order.
func (w *world) matching(f filter) []int64 {
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(w.records)) {
		if f.matches(id, w.records[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance changes the next records of an operation, up to a number.
func (w *world) advance(id int64, most int) {
	o := w.operations[id]
	next := o.selected[o.done:min(len(o.selected), o.done+most)]
	for _, feedback := range next {
		r, ok := w.records[feedback]
		if !ok {
			continue // it was deleted
		}
		changed, again := false, false
		if o.kind == operation.Undo {
			changed, again = r.restore(o.undoes, id)
		} else {
			changed = r.apply(o.change, id)
		}
		if changed {
			o.changed++
		}
		if again {
			o.skipped = append(o.skipped, feedback)
		}
	}
	if o.done += len(next); o.done == len(o.selected) {
		o.state = operation.Done
	}
}

// filter is one that the model understands.
type filter struct {
	fql     string
	matches func(id int64, r *record) bool
}

func byStatus(s feedback.Status) filter {
	return filter{fmt.Sprintf(`[{"Status":{"$eq":%q}}]`, s), func(_ int64, r *record) bool { return r.status == s }}
}

func byValue(name, value string) filter {
	return filter{fmt.Sprintf(`[{"Attribute":{"name":%q,"$eq":%q}}]`, name, value), func(_ int64, r *record) bool { return r.has(name, value) }}
}

func byName(name string, there bool) filter {
	return filter{fmt.Sprintf(`[{"Attribute":{"name":%q,"$exists":%t}}]`, name, there), func(_ int64, r *record) bool { return r.has(name, "") == there }}
}

func byID(from, to int64) filter {
	return filter{fmt.Sprintf(`[{"Id":{"$btw":[%d,%d]}}]`, from, to), func(id int64, _ *record) bool { return from <= id && id <= to }}
}
