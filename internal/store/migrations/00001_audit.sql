-- +goose Up
-- A chain for every node. The hash covers all other columns and the hash of the
-- entry before it.
CREATE TABLE audit_entry (
    node TEXT NOT NULL,
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    kind TEXT NOT NULL,
    call TEXT NOT NULL,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (node, seq)
);
CREATE INDEX audit_entry_call ON audit_entry (call) WHERE call <> '';

-- What is to be found among 256 entries: made from them, so that a query need
-- not read those that cannot match.
CREATE TABLE audit_part (
    node    TEXT NOT NULL,
    first   BIGINT NOT NULL,
    last    BIGINT NOT NULL,
    since   BIGINT NOT NULL,
    until   BIGINT NOT NULL,
    pending TEXT NOT NULL,
    terms   TEXT NOT NULL,
    PRIMARY KEY (node, first)
);

-- The figures of an hour, of the entries that are in parts.
CREATE TABLE audit_hour (
    node    TEXT NOT NULL,
    hour    BIGINT NOT NULL,
    figures TEXT NOT NULL,
    PRIMARY KEY (node, hour)
);
