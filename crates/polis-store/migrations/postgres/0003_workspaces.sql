-- Workspaces, keyed by the owning agent. Every agent without a supervisor has one.
CREATE TABLE workspaces (
  id TEXT COLLATE "C" PRIMARY KEY,
  revision BIGINT NOT NULL,
  body TEXT NOT NULL
);
INSERT INTO workspaces (id, revision, body)
  SELECT id, 1, json_build_object('workspaceId', id, 'createdAt', body::json ->> 'createdAt')::text
  FROM agents WHERE body::json ->> 'supervisor' IS NULL;
