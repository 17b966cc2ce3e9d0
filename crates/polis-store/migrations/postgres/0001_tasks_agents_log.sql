-- Tasks: an absent role, type or owner is the empty text; `rest` is JSON with the fields that
-- nothing searches by. Text is compared by its bytes, as in the embedded store. Pages keep room, so
-- that a change of content alone stays on its page and touches no index.
CREATE TABLE tasks (
  id BIGINT PRIMARY KEY,
  revision BIGINT NOT NULL,
  version BIGINT NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  owner_role TEXT COLLATE "C" NOT NULL,
  required_role TEXT COLLATE "C" NOT NULL,
  task_type TEXT COLLATE "C" NOT NULL,
  standing BIGINT NOT NULL,
  open_blockers BIGINT NOT NULL,
  lease_until BIGINT,
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
  ) STORED
) WITH (fillfactor = 80);
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
  task_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (task_id, id)
);

CREATE TABLE agents (
  id TEXT COLLATE "C" PRIMARY KEY,
  revision BIGINT NOT NULL,
  body TEXT NOT NULL
);

-- The event log: 1, 2, 3, … in commit order, without gaps.
CREATE TABLE events (
  seq BIGINT PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX events_by_subject ON events (subject, seq);

-- Single numbers: fences, the highest task number that was ever assigned elsewhere, and the position of
-- the newest event. A commit locks that last row first, so commits are serialized and events become
-- visible in the order of the log.
CREATE TABLE marks (
  name TEXT COLLATE "C" PRIMARY KEY,
  value BIGINT NOT NULL
) WITH (fillfactor = 10);
INSERT INTO marks (name, value) VALUES ('log-head', 0);
