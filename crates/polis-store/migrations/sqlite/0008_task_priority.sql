-- The priority of a task as a column, to filter and sort by: 0 critical, 1 high, 2 normal, 3 low. It is what the
-- metadata says, in the words that `TaskPriority` knows. A task imported by an earlier version may have a field
-- `priority` that was not interpreted: it counts if the metadata has none.
ALTER TABLE tasks ADD COLUMN priority INTEGER NOT NULL DEFAULT 2;
WITH words (word, rank) AS (VALUES
  ('critical', 0), ('urgent', 0), ('highest', 0), ('p0', 0), ('0', 0),
  ('high', 1), ('p1', 1), ('1', 1),
  ('normal', 2), ('medium', 2), ('p2', 2), ('2', 2),
  ('low', 3), ('p3', 3), ('3', 3), ('lowest', 3), ('someday', 3), ('p4', 3), ('4', 3))
UPDATE tasks SET priority = coalesce(
  (SELECT rank FROM words WHERE json_type(rest, '$.metadata.priority') IN ('text', 'integer')
    AND word = lower(json_extract(rest, '$.metadata.priority'))),
  (SELECT rank FROM words WHERE json_type(rest, '$.extra.priority') IN ('text', 'integer')
    AND word = lower(json_extract(rest, '$.extra.priority'))),
  2)
WHERE rest LIKE '%"priority"%';
-- The sort key of recommendations: see `standing_score`.
UPDATE tasks SET standing = (4 - priority) * 100000 + 100 * min(999,
  CASE WHEN blocks = '' THEN 0 ELSE length(blocks) - length(replace(blocks, ',', '')) + 1 END);
CREATE INDEX tasks_by_priority ON tasks (status, priority, id);
CREATE INDEX tasks_free_by_priority ON tasks (free, priority, id) WHERE free = 1;
