-- Board heads: current version and lease of each board. `base` is the newest version that board_log holds whole, `floor` the
-- oldest version it holds at all. `stamp` is the modification time (nanoseconds) that the board's
-- file has while it is at this version. A lease is `lease_token` with its holder and its expiry time.
CREATE TABLE boards (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  ends_line INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  base INTEGER NOT NULL,
  splices INTEGER NOT NULL,
  floor INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  lease_holder TEXT,
  lease_token TEXT,
  lease_until INTEGER
) STRICT, WITHOUT ROWID;

-- Their version log: one row per version. `kind` is whole, added or spliced; a splice takes `removed` bytes
-- out at `start`. `bytes` is the size of the whole text after it. Not WITHOUT ROWID: finding a row
-- would read the long texts beside it.
CREATE TABLE board_log (
  board TEXT NOT NULL,
  version INTEGER NOT NULL,
  kind TEXT NOT NULL,
  action TEXT NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  start INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (board, version)
) STRICT;
CREATE INDEX board_log_whole ON board_log (board, version) WHERE kind = 'whole';

-- Time of the creation of the store (milliseconds).
INSERT INTO marks (name, value) VALUES ('began-at', CAST(unixepoch('subsec') * 1000 AS INTEGER));
