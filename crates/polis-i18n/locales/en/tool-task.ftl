### Results of the task tools for models.

# $task, $version, $subject
tool-task-created = Task { $task } created, version { $version }: { $subject }
# $task, $version, $subject
tool-task-updated = Task { $task } updated, version { $version }: { $subject }
# $task, $version, $subject
tool-task-completed = Task { $task } completed, version { $version }: { $subject }
# $task, $version, $subject
tool-task-deleted = Task { $task } deleted, version { $version }: { $subject }
# $task, $version, $subject
tool-task-released = Task { $task } released, version { $version }: { $subject }
# $task, $version, $subject
tool-task-approved = Task { $task } approved, version { $version }: { $subject }
# $task, $owner, $version, $subject
tool-task-claimed = Task { $task } claimed by { $owner }, version { $version }: { $subject }
# $task, $status, $version, $subject
tool-task-head = Task { $task } { $status }, version { $version }: { $subject }

tool-task-now-ready = Ready now: { $tasks }
tool-task-held = Task { $task } is yours.
# $task, $time
tool-task-held-until = Task { $task } is yours until { $time }.
# $next, $size, $call
tool-task-description-truncated = the description is truncated at byte { $next } of { $size }; for the rest: { $call }

## Lists

tool-task-none = No tasks.
tool-task-none-recommended = No task is ready for you.
# $head, $fields, $subject
tool-task-line = { $head }, { $fields }: { $subject }
tool-task-version-field = version { $version }
tool-task-role-field = role { $role }
tool-task-type-field = type { $kind }
tool-task-waits-for = {" "}(waits for { $tasks })
tool-task-stale = {" "}(stale)
# $task, $score, $reasons
tool-task-recommended = { $task } ({ $score }: { $reasons })

## Reasons of a recommendation

tool-task-reason-assigned = assigned to you
# $kind, $role
tool-task-reason-type = { $kind } matches the role { $role }
tool-task-reason-completed = you completed { $count } of this type
tool-task-reason-role = requires { $role }
tool-task-reason-waiting = { $count } task(s) wait for it

## Priority, in lists and as the reason of a recommendation

tool-task-priority = priority { $priority }

## Comments, history, statistics

# $comment, $task
tool-task-comment-added = Comment { $comment } added to task { $task }.
tool-task-no-comments = No comments.
# $comment, $other
tool-task-comment-reply = { $comment } to { $other }
# $head, $author, $time, $body
tool-task-comment-line = [{ $head }] { $author } { $time }: { $body }
tool-task-no-history = No history.
# $created, $completed, $deleted, $rates
tool-task-stats = { $created } created, { $completed } completed, { $deleted } deleted; { $rates }
# $matches, $conflicts, $crossed, $invalid
tool-task-rates = role match { $matches }, version conflicts { $conflicts }, cross-role { $crossed }, invalid transitions { $invalid }
