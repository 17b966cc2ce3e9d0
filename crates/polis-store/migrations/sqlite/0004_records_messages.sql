-- Generic records: a name, a revision, a JSON body. `expires_at` is when a record may be deleted
-- (milliseconds). Not WITHOUT ROWID: a body may be megabytes, and finding a name must not read bodies.
CREATE TABLE records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  expires_at INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX records_that_expire ON records (kind, expires_at) WHERE expires_at IS NOT NULL;

-- Messages: 1, 2, 3, … over all mailboxes, in commit order. `deliver_at` is the time from which the
-- recipient sees it (milliseconds). Small columns first, so that looking for messages never reads a long payload.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  recipient TEXT NOT NULL,
  sender TEXT NOT NULL,
  at TEXT NOT NULL,
  deliver_at INTEGER NOT NULL,
  reply_to INTEGER,
  read_at TEXT,
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_recipient ON messages (recipient, id);
CREATE INDEX messages_unread ON messages (recipient, id) WHERE read_at IS NULL;
CREATE INDEX messages_to_come ON messages (recipient, deliver_at) WHERE read_at IS NULL;
