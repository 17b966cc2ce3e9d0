-- Messages from the person, over all recipients.
CREATE INDEX messages_of_person ON messages (id) WHERE sender = 'user' AND recipient <> 'user';
-- Commands of all workspaces, newest first: their ids are WORKSPACE/NAME, and names are in that order. The kind
-- is a column, although it is constant: otherwise the planner would use the index by kind and id.
CREATE INDEX commands_by_name ON records (kind, substr(id, instr(id, '/') + 1), id) WHERE kind = 'command';
