package postgres

// steps make the tables, one format after the other; package database keeps
// count. A later version appends a step, and changes none.
//
// The one row of store is what every batch locks first, so that batches follow
// each other, as does the history's numbering. It has the newest version of a
// record: versions are never reused, not even after a record was removed. They
// are at least the database's time in microseconds, so that a failover that
// loses the last writes does not give theirs to others.
//
// Texts compare byte by byte, which is how records are sorted; json keeps the
// text as it was written. Every index of history ends in the id, which is the
// order in which entries are read back. A key or scope that is too long for an
// index stands in whole (see indexed).
var steps = []string{`
CREATE TABLE store (one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
INSERT INTO store (version) VALUES (0);
CREATE TABLE record (
  kind text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, version bigint NOT NULL, value json NOT NULL,
  whole text COLLATE "C",
  PRIMARY KEY (kind, key)
);
CREATE TABLE history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, at timestamptz NOT NULL,
  action text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, value json NOT NULL,
  whole text COLLATE "C"
);
CREATE INDEX history_scope ON history (scope, id);
CREATE INDEX history_scope_kind ON history (scope, kind, id);
CREATE INDEX history_action ON history (action, id);
CREATE INDEX history_at ON history (at, id);
CREATE TABLE lease (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  turn bigint NOT NULL, holder text NOT NULL, server timestamptz NOT NULL, since timestamptz NOT NULL,
  renewed timestamptz NOT NULL, duration interval NOT NULL
);
INSERT INTO lease (turn, holder, server, since, renewed, duration)
VALUES (1, '', pg_postmaster_start_time(), clock_timestamp(), clock_timestamp(), '0');
COMMENT ON TABLE lease IS 'who leads; all times are the database''s';
`}
