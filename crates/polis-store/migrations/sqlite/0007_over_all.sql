-- What the person wrote, whoever it wrote to.
CREATE INDEX messages_of_person ON messages (id) WHERE sender = 'user' AND recipient <> 'user';
-- Commands of all workspaces, the newest first: their ids are WORKSPACE/NAME, and names are in that order.
-- The kind stands in it, although it is always the same: a planner would take the one by kind and id else.
CREATE INDEX commands_by_name ON records (kind, substr(id, instr(id, '/') + 1), id) WHERE kind = 'command';
