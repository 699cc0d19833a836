-- +goose Up
-- Id of the token or login session that a token was made by; '' for neither, and of
-- those that are older than this.
ALTER TABLE api_token ADD COLUMN parent TEXT NOT NULL DEFAULT '';
