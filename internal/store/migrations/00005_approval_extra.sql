-- +goose Up
-- What a call sends besides its arguments, sealed as they are; '' for nothing.
ALTER TABLE approval ADD COLUMN extra TEXT NOT NULL DEFAULT '';
