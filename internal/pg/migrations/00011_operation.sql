-- +goose Up
-- Changes of many feedback at once: what was selected, how far the work is, and what it takes to undo it.
SET LOCAL lock_timeout = '5s';

CREATE SEQUENCE operation_id;

-- A running operation belongs to nobody for longer than its lease: whoever works on it renews the lease with every stretch of records, in the
-- transaction that changes them; when its worker dies another one is sent for it.
-- selects_at is set while the selection is still to be made: not before that moment.
-- next_chunk is the cursor. change is what to do, in the words of the operation package; fql and description are for people.
CREATE TABLE operation (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('operation_id'),
    kind            text NOT NULL,
    fql             text NOT NULL,
    change          jsonb NOT NULL,
    state           text NOT NULL,
    error           text,
    total           bigint NOT NULL DEFAULT 0,
    done            bigint NOT NULL DEFAULT 0,
    changed         bigint NOT NULL DEFAULT 0,
    skipped         bigint NOT NULL DEFAULT 0,
    next_chunk      integer NOT NULL DEFAULT 0,
    chunks          integer NOT NULL DEFAULT 0,
    failures        integer NOT NULL DEFAULT 0,
    token_id        bigint,
    user_id         bigint,
    undoes          bigint,
    undone_by       bigint,
    created_at      timestamptz NOT NULL DEFAULT now(),
    selects_at      timestamptz,
    started_at      timestamptz,
    finished_at     timestamptz,
    lease_until     timestamptz,
    CONSTRAINT operation_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT operation_state CHECK (state IN ('running', 'done', 'cancelled', 'failed')),
    CONSTRAINT operation_finished CHECK ((state = 'running') = (finished_at IS NULL))
) WITH (fillfactor = 50);

CREATE INDEX operation_leases ON operation (lease_until) WHERE state = 'running';
CREATE INDEX operation_kept ON operation (finished_at) WHERE chunks > 0;

-- The selection, a thousand ids a row, in the order of the ids; kept as long as the operation can be undone.
-- skipped are those of the ids that an undo left alone.
CREATE TABLE operation_chunk (
    organization_id bigint NOT NULL,
    operation_id    bigint NOT NULL,
    n               integer NOT NULL,
    ids             bigint[] NOT NULL,
    skipped         bigint[],
    CONSTRAINT operation_chunk_pkey PRIMARY KEY (organization_id, operation_id, n),
    CONSTRAINT operation_chunk_operation FOREIGN KEY (organization_id, operation_id)
        REFERENCES operation (organization_id, id) ON DELETE CASCADE
);

-- Compressing the ids would take longer than selecting them.
ALTER TABLE operation_chunk ALTER COLUMN ids SET STORAGE EXTERNAL;

-- While set, the days of some feedback are still those of another zone, and totals over time are counted instead of read from tallies.
ALTER TABLE organization ADD COLUMN rezoning boolean NOT NULL DEFAULT false;
