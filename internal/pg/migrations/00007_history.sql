-- +goose Up
-- What was done to each feedback, for people to read and for undoing.
SET LOCAL lock_timeout = '5s';

-- No CACHE: of two changes to one feedback the later one has the larger id, because it takes it under the feedback's lock, and for the same
-- reason the later time: not that of its transaction, which may have waited.
CREATE SEQUENCE history_id;

-- Append-only, written in the statement that changes the feedback and deleted with it. The key is its only index: a change is found through
-- its feedback, also when an operation is undone.
-- field: 1 status, 2 owners, 3 an attribute. before and after hold the status, the users' ids, or the attribute's values in their order.
-- places is where the attribute's own id and its values stood in feedback.attribute_value_ids before, so that undoing puts them back there.
CREATE TABLE feedback_history (
    organization_id bigint NOT NULL,
    feedback_id     bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('history_id'),
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    token_id        bigint,
    user_id         bigint,
    operation_id    bigint,
    attribute_id    bigint,
    field           smallint NOT NULL,
    before          bigint[] NOT NULL,
    after           bigint[] NOT NULL,
    places          integer[],
    CONSTRAINT feedback_history_pkey PRIMARY KEY (organization_id, feedback_id, id),
    CONSTRAINT feedback_history_field CHECK (field BETWEEN 1 AND 3 AND (field = 3) = (attribute_id IS NOT NULL))
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
