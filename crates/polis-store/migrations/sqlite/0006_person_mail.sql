-- Partial index of messages to and from the person, which are few and are listed by the other party.
CREATE INDEX messages_to_person ON messages (sender, id) WHERE recipient = 'user';
CREATE INDEX messages_from_person ON messages (recipient, id) WHERE sender = 'user';
