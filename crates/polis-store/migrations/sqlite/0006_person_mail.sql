-- The person's letters: few beside all others, and looked at by who is at the other end.
CREATE INDEX messages_to_person ON messages (sender, id) WHERE recipient = 'user';
CREATE INDEX messages_from_person ON messages (recipient, id) WHERE sender = 'user';
