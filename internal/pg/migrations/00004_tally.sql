-- +goose Up
-- Exact counts: every change of feedback appends what it adds and removes; folding sums those rows into rollups.
SET LOCAL lock_timeout = '5s';

-- Append-only until folded. nps is 0 where feedback has no profile, so that it can be part of a key.
-- n and the sums count records; value_n and the sums beside it count the record once for each of value_ids.
CREATE TABLE feedback_delta (
    organization_id bigint NOT NULL,
    xid             xid8 NOT NULL DEFAULT pg_current_xact_id(),
    carrier_id      bigint NOT NULL,
    day             date NOT NULL,
    source          smallint NOT NULL,
    status          smallint NOT NULL,
    nps             smallint NOT NULL,
    value_n         smallint,
    n               integer NOT NULL,
    sat_n           integer NOT NULL,
    sat_sum         integer NOT NULL,
    completed_n     integer NOT NULL,
    sentiment_n     integer NOT NULL,
    sentiment_sum   integer NOT NULL,
    value_sat_n     integer,
    value_sat_sum   integer,
    value_ids       bigint[]
) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

CREATE INDEX feedback_delta_fold ON feedback_delta (organization_id, xid);

-- One table, four grains, because one set of dimensions per question is small where the full cube is not:
-- 1 status and nps; 2 all dimensions without time; 3 day and all but source; 4 month and all dimensions.
-- A dimension that a grain leaves out is 0, a bucket it leaves out is -infinity.
CREATE TABLE feedback_rollup (
    organization_id bigint NOT NULL,
    grain           smallint NOT NULL,
    bucket          date NOT NULL,
    carrier_id      bigint NOT NULL,
    source          smallint NOT NULL,
    status          smallint NOT NULL,
    nps             smallint NOT NULL,
    n               bigint NOT NULL,
    sat_n           bigint NOT NULL,
    sat_sum         bigint NOT NULL,
    completed_n     bigint NOT NULL,
    sentiment_n     bigint NOT NULL,
    sentiment_sum   bigint NOT NULL,
    CONSTRAINT feedback_rollup_pkey PRIMARY KEY (organization_id, grain, bucket, carrier_id, source, status, nps),
    CONSTRAINT feedback_rollup_grain CHECK (grain BETWEEN 1 AND 4)
) WITH (fillfactor = 70);

-- Counts per attribute value, topic or closed answer, kept only while an attribute is rolled_up.
CREATE TABLE facet_rollup (
    organization_id bigint NOT NULL,
    value_id        bigint NOT NULL,
    month           date NOT NULL,
    nps             smallint NOT NULL,
    n               bigint NOT NULL,
    sat_n           bigint NOT NULL,
    sat_sum         bigint NOT NULL,
    CONSTRAINT facet_rollup_pkey PRIMARY KEY (organization_id, value_id, month, nps)
) WITH (fillfactor = 70);
