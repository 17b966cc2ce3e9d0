### Events: verbs, subjects, details, pages.

event-none = No events yet.
event-actor = Actor
event-subject = Subject
event-time = Time
event-details = Details

# $position, $total
event-position = event { $position } of { $total }

event-area-field = Type
event-all-areas = all
event-text-field = Text
event-show = Show
event-clear = Clear
event-go-back-in-time = Go back in time
event-no-matches = No matching events.
event-show-all = Show all events
event-log-pages = Pages of the log
event-older = older
event-newer = newer
event-newest = newest
event-live = live
event-unit = events

## Areas of the log

event-area-society = Society
event-area-artifact = Artifacts
event-area-token = Tokens
event-area-webhook = Webhooks

## Subjects

event-subject-task = task #{ $id }
event-subject-board = board { $name }
event-subject-run = run { $id }
event-subject-workspace = workspace of { $id }
event-subject-artifact = artifact { $id }
event-subject-webhook = webhook { $id }

## What an event did; the actor precedes it

event-own-status-changed = changed its status
event-signed-in = signed in with a browser
event-browser-session-ended = ended a browser session
event-task-created = created { $object }
event-task-imported = imported { $object }
event-changed = changed { $object }
event-task-linked = changed the dependencies of { $object }
event-task-claimed = claimed { $object }
event-task-started = started { $object }
event-task-released = released { $object }
event-task-completed = completed { $object }
event-task-deleted = deleted { $object }
event-task-approved = approved { $object }
event-task-commented = commented on { $object }
event-task-heartbeat = renewed the lease of { $object }
event-task-refused = was refused an operation on { $object }
event-board-written = wrote { $object }
event-board-appended = appended to { $object }
event-board-edited = edited { $object }
event-board-restored = restored an older version of { $object }
event-board-edited-externally = imported an external edit of { $object }
event-board-file-restored = restored the missing file of { $object }
event-board-locked = locked { $object }
event-board-renewed = renewed the lock on { $object }
event-board-unlocked = unlocked { $object }
event-decision-proposed = proposed a decision on { $object }
event-decision-signed = signed a decision on { $object }
event-decision-vetoed = vetoed a decision on { $object }
event-decision-appealed = appealed against a decision on { $object }
event-milestone-added = added a milestone to { $object }
event-milestone-done = marked a milestone as reached on { $object }
event-agent-added = registered { $object }
event-agent-retired = retired { $object }
event-token-issued = issued a token for { $object }
event-token-revoked = revoked a token of { $object }
event-message-sent = sent a message to { $object }
event-message-read = read messages
event-artifact-put = stored { $object }
event-webhook-added = added { $object }
event-webhook-removed = removed { $object }
event-workspace-assigned = set up the { $object }
event-workspace-bound = bound a directory to the { $object }
event-file-written = wrote a file in the { $object }
event-file-edited = edited a file in the { $object }
event-file-deleted = deleted a file in the { $object }
event-file-moved = moved a file in the { $object }
event-file-directory-made = created a directory in the { $object }
event-file-refused = was refused access to a file in the { $object }
event-society-started = started { $object }
event-society-paused = paused { $object }
event-society-resumed = resumed { $object }
event-society-finished = finished { $object }
event-society-stopped = stopped { $object }
event-society-hired = hired { $object }
event-society-dismissed = dismissed { $object }
event-society-status-changed = changed the status of { $object }
event-society-approval-requested = requested approval for { $object }
event-society-approval-decided = decided on a call of { $object }
event-society-budget-changed = changed the budget of { $object }
event-command-started = started a command in the { $object }
event-command-run = ran a command in the { $object }
event-command-refused = was refused a command in the { $object }
event-unknown = triggered an event on { $object }

## Details of an event

event-claimed-for = for { $owner }
event-after-duration = after { $duration }
event-message-count = ({ $count })
event-as-role = as
event-requested-tool = { $tool }
event-call-approved = approved
event-call-denied = denied

# $first, $second
event-joined-details = { $first }, { $second }

event-details-after-colon = : { $details }
event-details-in-parentheses = ({ $details })

# $attempt, $code
event-refused-attempt = { $attempt } ({ $code })

event-command-timed-out = timed out
event-command-cancelled = cancelled
event-command-succeeded = ok
event-command-exit-code = exit code { $code }

# $status, $reason
event-status-with-reason = { $status } ({ $reason })
