### What `polis task` prints.

cli-task-created = Task #{ $id } created

# $id, $owner
cli-task-claimed = Task #{ $id } claimed by { $owner }

cli-task-released = Task #{ $id } released

# $id, $until
cli-task-lease-renewed = Task #{ $id } is yours until { $until }

cli-task-approved-when-completed = Task #{ $id } approved; it was completed already
cli-task-approved = Task #{ $id } approved; its owner may complete it now

# $id, $from, $to: versions
cli-task-updated = Task #{ $id } updated, version: { $from } -> { $to }

# $id, $owner, $role
cli-task-force-assigned = Task #{ $id } force-assigned to "{ $owner }" (overriding requiredRole: "{ $role }")

cli-task-deleted = Task #{ $id } deleted
cli-task-now-ready = Now ready: { $tasks }

## Lists

cli-task-column-blocked-by = BLOCKED BY
cli-task-column-priority = PRIORITY
cli-task-column-subject = SUBJECT
cli-task-none = No tasks yet. Create one: polis task create --subject "..."
cli-task-no-match = No task matches. See all with: polis task list
cli-task-none-ready = No task is ready. See the dependencies with: polis task graph
cli-task-none-ready-for-you = No task is ready for you. See the dependencies with: polis task graph
cli-task-more = More tasks: --cursor { $cursor }
cli-task-shown-above = #{ $id } (above)
cli-task-no-dependencies = No dependencies yet. Add one: polis task update 2 --add-blocked-by 1

## Reasons of a recommendation

cli-task-reason-assigned = assigned to you

# $type-name, $role
cli-task-reason-type = { $type-name } matches the role { $role }

cli-task-reason-completed = you completed { $count } of this type
cli-task-reason-role = requires { $role }
cli-task-reason-priority = priority { $priority }
cli-task-reason-waiting = { $count } task(s) wait for it
cli-task-ranking-order = Ranked by: assigned to you, priority, tasks that wait for it, fit of type and role, age.

## Comments

# $comment, $task: numbers
cli-task-comment-added = Comment { $comment } added to task #{ $task }

cli-task-no-comments = No comments yet. Write one: polis task comment ID --body "..."
cli-task-earlier-comments = Earlier ones: --before { $comment }

## Import and export

cli-task-importing = Importing
cli-task-exporting = Exporting

# $imported, $unchanged, $repaired, $skipped: numbers of files
cli-task-import-counts = Imported { $imported }, unchanged { $unchanged }, repaired { $repaired }, skipped { $skipped }

# $file, $repair
cli-task-file-repaired = repaired { $file }: { $repair }

# $file, $reason
cli-task-file-skipped = skipped { $file }: { $reason }

cli-task-exported = Exported { $count } tasks.

## Statistics

cli-task-stats-version-conflicts = Version conflicts
cli-task-stats-target = (target { $target })

# $count, $assigned
cli-task-stats-of-assigned = { $count } of { $assigned } assigned tasks

# $count, $updates
cli-task-stats-of-updates = { $count } of { $updates } updates

# $created, $completed, $deleted
cli-task-stats-counts = Created { $created }, completed { $completed }, deleted { $deleted }

cli-task-stats-average-time = Average time to complete: { $seconds } s

# $name, $seconds
cli-task-stats-average-time-of-type = { $name }: { $seconds } s

cli-task-stats-column-from = FROM
cli-task-stats-column-created = CREATED
cli-task-stats-column-completed = COMPLETED
cli-task-stats-column-match = MATCH
cli-task-stats-column-cross = CROSS
cli-task-stats-column-conflict = CONFLICT
cli-task-stats-column-invalid = INVALID
