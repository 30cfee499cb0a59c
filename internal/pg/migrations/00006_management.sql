-- +goose NO TRANSACTION
-- +goose Up
-- Teams are chosen by name: two of one organization must not look alike.
SET lock_timeout = '5s';

CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS team_name ON team (organization_id, lower(name));
