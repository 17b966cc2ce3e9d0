-- Tasks: small columns first, so that a list never reads a long description. An absent role, type
-- or owner is the empty text; `rest` is JSON with the fields that nothing searches by.
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  owner TEXT NOT NULL,
  owner_role TEXT NOT NULL,
  required_role TEXT NOT NULL,
  task_type TEXT NOT NULL,
  standing INTEGER NOT NULL,
  open_blockers INTEGER NOT NULL,
  lease_until INTEGER,
  blocked_by TEXT NOT NULL,
  blocks TEXT NOT NULL,
  created_at TEXT,
  updated_at TEXT,
  subject TEXT NOT NULL,
  rest TEXT NOT NULL,
  description TEXT NOT NULL,
  -- Unowned and unblocked: can be claimed.
  free INTEGER GENERATED ALWAYS AS (
    CASE WHEN owner = '' AND open_blockers = 0 AND status IN ('pending', 'in_progress') THEN 1 ELSE 0 END
  ) VIRTUAL
) STRICT;
CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_role ON tasks (required_role, status, id);
CREATE INDEX tasks_by_type ON tasks (task_type, status, id) WHERE task_type <> '';
CREATE INDEX tasks_by_owner ON tasks (owner, status, id) WHERE owner <> '';
CREATE INDEX tasks_by_owner_role ON tasks (owner_role, status, id) WHERE owner_role <> '';
CREATE INDEX tasks_free ON tasks (free, id) WHERE free = 1;
CREATE INDEX tasks_free_by_role ON tasks (free, required_role, id) WHERE free = 1;
CREATE INDEX tasks_free_by_standing ON tasks (free, required_role, task_type, standing DESC, id) WHERE free = 1;
-- Only a task that is held and in progress has a lease.
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE comments (
  task_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (task_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The event log: 1, 2, 3, … in commit order, without gaps.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_subject ON events (subject, seq);

-- Single numbers: fences, and the highest task number that was ever assigned elsewhere.
CREATE TABLE marks (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
