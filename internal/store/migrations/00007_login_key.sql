-- +goose Up
-- What hubs on the database sign the cookies of logins under way with, in hexadecimal:
-- any of them takes the provider's answer.
CREATE TABLE login_key (name TEXT PRIMARY KEY, secret TEXT NOT NULL);
