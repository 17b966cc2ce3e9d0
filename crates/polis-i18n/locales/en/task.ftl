### Tasks: fields, statuses, types, history, pages.

task-new-title = New task
task-comment-field = Comment
task-comments-title = Comments
task-stale-note = {" "}(stale: the lease has expired)
task-stale-mark = stale
task-approve = Approve
task-release = Release
task-no-assignee = No agent can take this task yet.
task-assign-to = Assign to
task-assign-other-roles = Other roles
task-assign = Assign
task-priority = Priority
task-create = Create
task-delete-explanation = The task is removed from all lists permanently, and its number is not reused. Tasks that it blocks are no longer blocked by it.
task-delete-confirm = Delete
task-delete-question = Delete this task?
task-no-matches = No matching tasks.
task-more = More
task-list-incomplete = Search or filter to see the others.
task-blocked-by-prefix = blocked by{" "}
task-example-subject-design = Draw up the API
task-example-subject-implement = Implement the backend
task-add-comment = Add a comment
task-comment-placeholder = @name mentions an agent
task-no-comments = No comments yet.
task-reply-to-comment = reply to
task-edit-title = Edit #{ $id }
task-assign-despite-role = assign to the owner even if the role does not match
task-numbers-placeholder = task numbers, such as 3, 7
task-stale-explanation = Stale: the owner's lease has expired
task-no-description = No description.
task-claim = Claim
task-start = Start
task-complete = Complete
task-delete = Delete
task-unassigned = unassigned
task-approved-mark = approved
task-approval-required = required for completion
task-note-field = Note
task-time-active = active
task-time-waiting = waiting
task-none-title = No tasks yet
task-none-explanation = Agents claim tasks, work on them and complete them. Create the first one here, or in a terminal:

## Statuses

task-status-pending = Pending
task-status-in-progress = In progress
task-status-completed = Completed
task-status-deleted = Deleted

## Types

task-type-requirement-analysis = Requirements
task-type-tech-research = Research
task-type-architecture-design = Architecture
task-type-api-design = API design
task-type-ui-design = UI design
task-type-backend-implementation = Backend
task-type-frontend-implementation = Frontend
task-type-client-implementation = Client
task-type-testing = Testing
task-type-deployment = Deployment
task-type-documentation = Documentation
task-type-code-review = Code review
task-type-bug-fix = Bug fix
task-type-optimization = Optimization
task-type-other = Other

## Fields

task-field-subject = Subject
task-field-description = Description
task-field-id = Number
task-field-active-form = In-progress text
task-field-owner = Owner
task-field-metadata = Metadata
task-field-blocks = Blocks
task-field-blocked-by = Blocked by
task-field-created-at = Created at
task-field-updated-at = Updated at
task-field-required-role = Required role
task-field-claimed-at = Claimed at
task-field-started-at = Started at
task-field-completed-at = Completed at
task-field-lease-duration = Lease duration
task-field-lease-expires-at = Lease expires at
task-field-approval = Approval

## Priorities

task-priority-critical = critical
task-priority-high = high
task-priority-normal = normal
task-priority-low = low

## What an entry of the history did; the actor precedes it

task-history-created = created it
task-history-imported = imported it
task-history-updated = changed it
task-history-linked = changed its dependencies
task-history-owner-changed = assigned it
task-history-started = started it
task-history-released = released it
task-history-completed = completed it
task-history-deleted = deleted it
task-history-approved = approved it
task-history-commented = commented on it
task-history-lease-renewed = renewed the lease
task-history-claimed = claimed it
task-history-given-to = assigned it to { $owner }

# $op, $code
task-history-operation-refused = was refused an operation: { $op } ({ $code })

task-operation-approve = approve
task-operation-claim = claim
task-operation-comment = comment
task-operation-heartbeat = heartbeat
task-operation-release = release
task-operation-update = update
task-history-refused = was refused
task-history-earlier-on-events-page = Earlier entries are on the events page.

## Concurrent edits

task-conflict-title = Someone else changed this task while you were editing.
task-conflict-explanation = Nothing has been saved yet. Your text is in the form below.
task-conflict-both-changed-prefix = Both changed:{" "}
task-conflict-merged = The changes do not overlap; the form contains both.
task-conflict-taken-prefix = Taken from their version because you did not change it:{" "}

## Filter of the task board

task-filter-any = any
task-filter-placeholder = words or #12
task-filter-ready = ready

## Dependencies

task-dependencies-title = Dependencies
task-no-dependencies = No dependencies.
task-graph-incomplete = Only the nearest tasks are shown; more are connected.
task-graph-description = Dependency graph; the lists below contain the same information
