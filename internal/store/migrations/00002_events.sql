-- +goose Up
CREATE TABLE event_batch (
    node  TEXT   NOT NULL,
    first BIGINT NOT NULL,
    last  BIGINT NOT NULL,
    count BIGINT NOT NULL,
    size  BIGINT NOT NULL,
    body  TEXT   NOT NULL,
    PRIMARY KEY (node, first)
);

CREATE TABLE event_mark (
    node         TEXT    PRIMARY KEY,
    reserved     BIGINT  NOT NULL,
    pruned       BIGINT  NOT NULL,
    pruned_count BIGINT  NOT NULL,
    ended        INTEGER NOT NULL
);
