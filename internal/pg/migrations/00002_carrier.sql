-- +goose Up
-- Carriers (the sources feedback belongs to), their questions and what may be answered.
SET LOCAL lock_timeout = '5s';

-- Options, closed answers, presences, attributes, attribute values and topics all take their id
-- here, over all organizations: one GIN index over arrays of them never mixes tenants.
CREATE SEQUENCE dictionary_id;

-- Ids for carriers and questions made by us. Clients bring their own, often small ones, and must not by chance meet a question
-- of ours with rules of its own: we begin high, and skip what is taken.
CREATE SEQUENCE carrier_id START 1000001;
CREATE SEQUENCE question_id START 1000001;

CREATE TABLE carrier (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL,
    team_id         bigint NOT NULL,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    archived_at     timestamptz,
    CONSTRAINT carrier_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT carrier_id_range CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT carrier_team FOREIGN KEY (organization_id, team_id) REFERENCES team (organization_id, id)
);

-- presence_id stands in feedback.answer_ids when the question was answered at all.
CREATE TABLE question (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL,
    carrier_id      bigint NOT NULL,
    presence_id     bigint NOT NULL DEFAULT nextval('dictionary_id'),
    name            text NOT NULL,
    type            text NOT NULL,
    position        integer NOT NULL,
    required        boolean NOT NULL DEFAULT false,
    max             smallint,
    created_at      timestamptz NOT NULL DEFAULT now(),
    archived_at     timestamptz,
    CONSTRAINT question_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT question_id_range CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT question_carrier FOREIGN KEY (organization_id, carrier_id) REFERENCES carrier (organization_id, id),
    CONSTRAINT question_type CHECK (type IN ('nps', 'smiley', 'rating', 'slider', 'ces', 'ratings_table', 'choice',
        'multiple_choice', 'textarea', 'text', 'date', 'number')),
    CONSTRAINT question_max CHECK ((type IN ('rating', 'slider')) = (max IS NOT NULL) AND max BETWEEN 2 AND 100)
);

CREATE INDEX question_by_carrier ON question (organization_id, carrier_id, position);

CREATE TABLE question_option (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('dictionary_id'),
    question_id     bigint NOT NULL,
    name            text NOT NULL,
    position        integer NOT NULL,
    archived_at     timestamptz,
    CONSTRAINT question_option_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT question_option_name UNIQUE (organization_id, question_id, name),
    CONSTRAINT question_option_question FOREIGN KEY (organization_id, question_id) REFERENCES question (organization_id, id)
);

-- The closed answers of questions on a scale: one row per score, of each row of a ratings table.
-- A chosen option needs none: its own id stands for it. They are written together with the question's type,
-- so that a create finds them in what it knows of the question anyway.
CREATE TABLE question_score (
    organization_id bigint NOT NULL,
    id              bigint NOT NULL DEFAULT nextval('dictionary_id'),
    question_id     bigint NOT NULL,
    option_id       bigint,
    score           smallint NOT NULL,
    CONSTRAINT question_score_pkey PRIMARY KEY (organization_id, id),
    CONSTRAINT question_score_question FOREIGN KEY (organization_id, question_id) REFERENCES question (organization_id, id),
    CONSTRAINT question_score_option FOREIGN KEY (organization_id, option_id) REFERENCES question_option (organization_id, id)
);

CREATE UNIQUE INDEX question_score_of_question ON question_score (organization_id, question_id, score) WHERE option_id IS NULL;
CREATE UNIQUE INDEX question_score_of_option ON question_score (organization_id, question_id, option_id, score) WHERE option_id IS NOT NULL;
