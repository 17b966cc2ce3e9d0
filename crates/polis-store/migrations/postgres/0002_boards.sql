-- Board heads: current version and lease of each board. `base` is the newest version that board_log holds whole, `floor` the
-- oldest version it holds at all. `stamp` belongs to boards that are files, and is 0 here. A lease is
-- `lease_token` with its holder and its expiry time.
CREATE TABLE boards (
  name TEXT COLLATE "C" PRIMARY KEY,
  version BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  ends_line BIGINT NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  base BIGINT NOT NULL,
  splices BIGINT NOT NULL,
  floor BIGINT NOT NULL,
  stamp BIGINT NOT NULL,
  lease_holder TEXT,
  lease_token TEXT,
  lease_until BIGINT
) WITH (fillfactor = 50);

-- Their version log: one row per version. `kind` is whole, added or spliced; a splice takes `removed` bytes
-- out at `start`. `bytes` is the size of the whole text after it.
CREATE TABLE board_log (
  board TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  action TEXT NOT NULL,
  changed_by TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  start BIGINT NOT NULL,
  removed BIGINT NOT NULL,
  stamp BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (board, version)
);
CREATE INDEX board_log_whole ON board_log (board, version) WHERE kind = 'whole';

-- Time of the creation of the store (milliseconds).
INSERT INTO marks (name, value) VALUES ('began-at', (extract(epoch FROM now()) * 1000)::bigint);
