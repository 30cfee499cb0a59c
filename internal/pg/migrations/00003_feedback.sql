-- +goose Up
-- Feedback: a narrow hot row, its wide cold content, the dictionary of its attributes, its fingerprint and owners.
SET LOCAL lock_timeout = '5s';

-- An attribute's id doubles as its presence: it stands in feedback.attribute_value_ids before the values.
CREATE TABLE attribute (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('dictionary_id'),
    name            text NOT NULL,
    label           text NOT NULL,
    rolled_up       boolean NOT NULL DEFAULT true,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT attribute_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT attribute_name UNIQUE (organization_id, name)
);

-- One row per distinct text of an attribute. The key is a hash because a text of 1,000 characters
-- does not fit a btree entry. folded is the text in lower case where that differs, for $like. is_number tells how the first one who sent it spelled it: a number or a string.
CREATE TABLE attribute_value (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('dictionary_id'),
    attribute_id    bigint NOT NULL,
    text            text NOT NULL,
    folded          text,
    text_sha256     bytea NOT NULL,
    is_number       boolean NOT NULL,
    num             numeric,
    retired_at      timestamptz,
    CONSTRAINT attribute_value_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT attribute_value_text UNIQUE (organization_id, attribute_id, text_sha256),
    CONSTRAINT attribute_value_attribute FOREIGN KEY (organization_id, attribute_id) REFERENCES attribute (organization_id, id)
);

CREATE INDEX attribute_value_num ON attribute_value (organization_id, attribute_id, num) WHERE num IS NOT NULL;

-- No CACHE: ids grow with arrival over all connections.
CREATE SEQUENCE feedback_id;

-- Items of one feedback are numbered from the value taken, at most 100 of them.
CREATE SEQUENCE item_id INCREMENT BY 100;

-- No foreign key to organization or carrier: every create would lock the same hot row.
-- status is in no index, so that changing it is a HOT update; fillfactor leaves it room on the page.
-- source and status are numbered in the feedback package, nps_profile in carrier; satisfaction is in hundredths of a percent.
CREATE TABLE feedback (
    organization_id     bigint NOT NULL,
    id                  bigint NOT NULL,
    created_at          timestamptz NOT NULL,
    completed_at        timestamptz,
    carrier_id          bigint NOT NULL,
    import_id           bigint,
    day                 date NOT NULL,
    analysis_version    integer NOT NULL DEFAULT 0,
    source              smallint NOT NULL,
    status              smallint NOT NULL,
    nps_profile         smallint,
    satisfaction        smallint,
    sentiment           smallint,
    attribute_value_ids bigint[] NOT NULL,
    topic_ids           bigint[] NOT NULL DEFAULT '{}',
    answer_ids          bigint[] NOT NULL,
    CONSTRAINT feedback_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT feedback_satisfaction_range CHECK (satisfaction BETWEEN 0 AND 10000),
    CONSTRAINT feedback_sentiment_range CHECK (sentiment BETWEEN 0 AND 10000)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE INDEX feedback_facts ON feedback (organization_id, created_at) INCLUDE (carrier_id, source, nps_profile, satisfaction);
CREATE INDEX feedback_by_satisfaction ON feedback (organization_id, satisfaction);
CREATE INDEX feedback_dictionary ON feedback USING gin (attribute_value_ids, topic_ids, answer_ids)
    WITH (fastupdate = on, gin_pending_list_limit = 16384);

-- Written and deleted with its feedback in one statement; a foreign key would only add a check to every create.
-- items: [{"q": question id, "v": value, "o": option id, "t": true for a text}], in the order sent.
-- search_text: the text answers in lower case, each behind marks that tell its question (feedback/searchtext.go).
CREATE TABLE feedback_content (
    organization_id bigint NOT NULL,
    feedback_id     bigint NOT NULL,
    first_item_id   bigint NOT NULL,
    fingerprint     text NOT NULL,
    items           jsonb NOT NULL,
    search_text     text,
    CONSTRAINT feedback_content_pkey PRIMARY KEY (organization_id, feedback_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE INDEX feedback_content_search ON feedback_content USING gin (search_text gin_trgm_ops)
    WITH (fastupdate = on, gin_pending_list_limit = 16384);

-- Reserved for ever: no foreign key, it outlives its feedback, and only as a hash.
CREATE TABLE fingerprint (
    organization_id    bigint NOT NULL,
    carrier_id         bigint NOT NULL,
    fingerprint_sha256 bytea NOT NULL,
    feedback_id        bigint NOT NULL,
    CONSTRAINT fingerprint_pkey PRIMARY KEY (organization_id, carrier_id, fingerprint_sha256)
);

CREATE TABLE feedback_owner (
    organization_id bigint NOT NULL,
    feedback_id     bigint NOT NULL,
    user_id         bigint NOT NULL,
    CONSTRAINT feedback_owner_pkey PRIMARY KEY (organization_id, feedback_id, user_id),
    CONSTRAINT feedback_owner_feedback FOREIGN KEY (organization_id, feedback_id)
        REFERENCES feedback (organization_id, id) ON DELETE CASCADE,
    CONSTRAINT feedback_owner_user FOREIGN KEY (organization_id, user_id) REFERENCES app_user (organization_id, id)
);

CREATE INDEX feedback_owner_by_user ON feedback_owner (organization_id, user_id, feedback_id);

-- The first answer to a create that carried an Idempotency-Key, kept for a day. The key is hashed:
-- clients put order numbers and addresses into it.
CREATE TABLE idempotency (
    organization_id bigint NOT NULL,
    token_id        bigint NOT NULL,
    key_sha256      bytea NOT NULL,
    request_sha256  bytea NOT NULL,
    answer          bytea,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_pkey PRIMARY KEY (organization_id, token_id, key_sha256)
);

CREATE INDEX idempotency_age ON idempotency (organization_id, created_at);

-- feedback_take_ids hands out n feedback ids for rows about to be written in this transaction.
-- Rows commit out of order; so that a reader walking upwards misses none, the transaction first holds a shared lock
-- on (organization, low bits of the last id handed out): every id it takes lies above that value, and the smallest one locked is the
-- organization's horizon. One lock per transaction, not per row: the lock table is small.
-- +goose StatementBegin
CREATE FUNCTION feedback_take_ids(organization bigint, n integer) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF n < 1 THEN
        RETURN;
    END IF;
    -- A sequence that was never used shows the value it will hand out first.
    PERFORM pg_advisory_xact_lock_shared(organization::integer, ((s.last_value - (NOT s.is_called)::integer) & 2147483647)::integer)
    FROM feedback_id s;
    RETURN QUERY SELECT nextval('feedback_id') FROM generate_series(1, n);
END
$$;
-- +goose StatementEnd
