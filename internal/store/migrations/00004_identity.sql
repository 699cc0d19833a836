-- +goose Up
-- Every hub keeps in memory what is here: the version says when to read it anew.
-- Whoever changes something raises it first, which has changes wait for each other.
CREATE TABLE identity_mark (name TEXT PRIMARY KEY, version BIGINT NOT NULL);

CREATE TABLE tenant (
    name    TEXT PRIMARY KEY,
    note    TEXT NOT NULL,
    created BIGINT NOT NULL,
    maker   TEXT NOT NULL
);

-- Of a token only the digest is here. Times of 0 are never.
CREATE TABLE api_token (
    id      TEXT PRIMARY KEY,
    digest  TEXT NOT NULL,
    subject TEXT NOT NULL,
    tenant  TEXT NOT NULL,
    role    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    note    TEXT NOT NULL,
    created BIGINT NOT NULL,
    maker   TEXT NOT NULL,
    expires BIGINT NOT NULL,
    used    BIGINT NOT NULL,
    revoked BIGINT NOT NULL,
    revoker TEXT NOT NULL
);
CREATE UNIQUE INDEX api_token_digest ON api_token (digest);

CREATE TABLE login_session (
    id      TEXT PRIMARY KEY,
    digest  TEXT NOT NULL,
    subject TEXT NOT NULL,
    name    TEXT NOT NULL,
    tenant  TEXT NOT NULL,
    role    TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    seen    BIGINT NOT NULL
);
CREATE UNIQUE INDEX login_session_digest ON login_session (digest);
