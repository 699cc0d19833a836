-- +goose Up
-- A request that somebody agree to a call, with what was said to it. What never
-- changes and is asked for by nothing is in body. Arguments are sealed, in base64.
-- While open is 1 it may still be decided or taken. revision grows with each
-- change that is told.
CREATE TABLE approval (
    id        TEXT    PRIMARY KEY,
    status    TEXT    NOT NULL,
    open      INTEGER NOT NULL,
    revision  BIGINT  NOT NULL,
    created   BIGINT  NOT NULL,
    changed   BIGINT  NOT NULL,
    expires   BIGINT  NOT NULL,
    decided   BIGINT  NOT NULL,
    tenant    TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    server    TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    node      TEXT    NOT NULL,
    same      TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    judged    TEXT    NOT NULL,
    decisions TEXT    NOT NULL,
    shown     TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    arguments TEXT    NOT NULL,
    edited    TEXT    NOT NULL,
    taken     TEXT    NOT NULL,
    taker     TEXT    NOT NULL,
    note      TEXT    NOT NULL
);
CREATE INDEX approval_same ON approval (same) WHERE open = 1;
CREATE INDEX approval_pending ON approval (tenant, subject) WHERE status = 'pending';
CREATE INDEX approval_open ON approval (expires) WHERE open = 1;
CREATE INDEX approval_changed ON approval (changed);

-- For whom arguments are sealed, where several hubs share the database.
CREATE TABLE approval_node (
    node      TEXT   PRIMARY KEY,
    recipient TEXT   NOT NULL,
    seen      BIGINT NOT NULL
);

-- A standing agreement. Times of 0 are never.
CREATE TABLE approval_grant (
    id      TEXT   PRIMARY KEY,
    tenant  TEXT   NOT NULL,
    subject TEXT   NOT NULL,
    server  TEXT   NOT NULL,
    created BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    revoked BIGINT NOT NULL,
    uses    BIGINT NOT NULL,
    used    BIGINT NOT NULL,
    body    TEXT   NOT NULL
);
CREATE INDEX approval_grant_expires ON approval_grant (expires);
