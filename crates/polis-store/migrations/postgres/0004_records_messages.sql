-- Generic records: a name, a revision, a JSON body. `expires_at` is when a record may be deleted
-- (milliseconds).
CREATE TABLE records (
  kind TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  revision BIGINT NOT NULL,
  expires_at BIGINT,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX records_that_expire ON records (kind, expires_at) WHERE expires_at IS NOT NULL;

-- Messages: 1, 2, 3, … over all mailboxes, in commit order; the mark `message-number` is the last.
-- `deliver_at` is the time from which the recipient sees it (milliseconds). The index by number is a hash
-- index: the planner would use an ordered one to read a mailbox, skipping the messages of all others.
CREATE TABLE messages (
  id BIGINT NOT NULL,
  recipient TEXT COLLATE "C" NOT NULL,
  sender TEXT NOT NULL,
  at TEXT NOT NULL,
  deliver_at BIGINT NOT NULL,
  reply_to BIGINT,
  read_at TEXT,
  payload TEXT NOT NULL,
  PRIMARY KEY (recipient, id)
);
CREATE INDEX messages_by_number ON messages USING hash (id);
CREATE INDEX messages_unread ON messages (recipient, id) WHERE read_at IS NULL;
CREATE INDEX messages_to_come ON messages (recipient, deliver_at) WHERE read_at IS NULL;
