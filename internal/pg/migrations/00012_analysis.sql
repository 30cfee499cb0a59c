-- +goose Up
-- How each organization's texts are read: by which version, in which language, and for which topics.
SET LOCAL lock_timeout = '5s';

-- An organization has a row from the moment its first text is read; those that are here now have texts that nobody has read, which engine 0 tells.
-- version goes up by two with every change of what texts are read for. feedback.analysis_version is the version that a feedback's texts were read
-- by, and one more when a provider read them. engine is the version of the rules themselves. edits counts every change, so that whoever
-- remembers what is kept here knows when it is out of date.
CREATE TABLE analysis (
    organization_id bigint NOT NULL,
    version         integer NOT NULL,
    engine          integer NOT NULL,
    edits           bigint NOT NULL DEFAULT 0,
    language        text NOT NULL DEFAULT '',
    CONSTRAINT analysis_pkey PRIMARY KEY (organization_id)
);

INSERT INTO analysis (organization_id, version, engine)
SELECT id, 0, 0 FROM organization;

-- The language of a carrier's texts, where it is not the organization's.
CREATE TABLE analysis_language (
    organization_id bigint NOT NULL,
    carrier_id      bigint NOT NULL,
    language        text NOT NULL,
    CONSTRAINT analysis_language_pkey PRIMARY KEY (organization_id, carrier_id),
    CONSTRAINT analysis_language_carrier FOREIGN KEY (organization_id, carrier_id) REFERENCES carrier (organization_id, id) ON DELETE CASCADE
);

ALTER TABLE topic
    ADD COLUMN keywords text[] NOT NULL DEFAULT '{}',
    ADD COLUMN exclusions text[] NOT NULL DEFAULT '{}';

-- How far a provider has read an organization's feedback, where one is used. Whoever has it read renews the lease with every record.
CREATE TABLE analysis_provider (
    organization_id bigint NOT NULL,
    read_to         bigint NOT NULL,
    lease_until     timestamptz NOT NULL,
    CONSTRAINT analysis_provider_pkey PRIMARY KEY (organization_id)
) WITH (fillfactor = 50);
