-- Conversations: what each step of a member adds.
CREATE TABLE turns (
  member TEXT COLLATE "C" NOT NULL,
  turn BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (member, turn)
);

-- The run a message belongs to; the empty text if none.
ALTER TABLE messages ADD COLUMN task TEXT COLLATE "C" NOT NULL DEFAULT '';
-- Recipients to wake. The person is not woken, and may leave many messages unread.
CREATE INDEX messages_waiting ON messages (task, recipient, id) WHERE read_at IS NULL AND recipient <> 'user';
-- Leads with the delivery time: finds the next delivery of one mailbox or of all.
DROP INDEX messages_to_come;
CREATE INDEX messages_to_come ON messages (deliver_at, recipient) WHERE read_at IS NULL;

-- The run an agent was hired for; the empty text if none.
ALTER TABLE agents ADD COLUMN run TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE agents SET role = coalesce(body::json ->> 'role', '');
CREATE INDEX agents_by_run ON agents (run, role, id);
