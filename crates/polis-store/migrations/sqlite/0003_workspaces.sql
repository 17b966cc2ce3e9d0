-- Workspaces, keyed by the owning agent. Every agent without a supervisor has one.
CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO workspaces (id, revision, body)
  SELECT id, 1, json_object('workspaceId', id, 'createdAt', json_extract(body, '$.createdAt'))
  FROM agents WHERE json_valid(body) AND json_extract(body, '$.supervisor') IS NULL;
