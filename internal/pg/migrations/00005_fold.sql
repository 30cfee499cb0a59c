-- +goose Up
-- How far each organization's deltas are folded, and the dictionary of topics.
SET LOCAL lock_timeout = '5s';

-- Whoever folds an organization locks its row. Every delta with an xid below bound is folded and gone, so readers begin there and
-- never see the dead rows before it; a bound too low is only slower, one too high would hide deltas.
-- folded_at is when nothing that could be folded was left.
CREATE TABLE tally_fold (
    organization_id bigint NOT NULL,
    bound           xid8 NOT NULL,
    folded_at       timestamptz,
    CONSTRAINT tally_fold_pkey PRIMARY KEY (organization_id)
) WITH (fillfactor = 50);

CREATE TABLE topic (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('dictionary_id'),
    name            text NOT NULL,
    CONSTRAINT topic_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT topic_name UNIQUE (organization_id, name)
);
