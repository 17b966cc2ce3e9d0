### Terminal UI: keys, dialogs, notices, texts that name keys.

# $version, $board
tui-restore-version-question = Restore version { $version } of { $board }?

tui-allow-call-title = Allow the call
tui-deny-call-title = Deny the call
tui-comment-on-task = Comment on #{ $task }
tui-approve-task = Approve #{ $task }
tui-note-field = Note (optional)
tui-delete-task-question = Delete task #{ $task }?

# $owner, $task
tui-complete-for-owner-question = { $owner } holds task #{ $task }. Complete it for { $owner }?

tui-append-to-board = Append to { $board }
tui-text-field = Text
tui-veto-decision = Veto { $id }
tui-message-to = Message to { $id }
tui-dismiss-agent-question = Dismiss { $id } and all agents below it?
tui-text-is-in-file = Your unsaved text is in { $file }
tui-message-sent = Sent to { $to }.
tui-text-not-found = Not found: { $search }
tui-refused-title = Refused

# $columns, $rows
tui-terminal-too-small = Terminal too small: at least { $columns }x{ $rows } needed. q quits.

tui-store-unreachable = store unreachable
tui-following = {"["}following]{" "}
tui-loading = loading…{" "}
tui-no-match = No match for "{ $search }". Esc clears the filter.
tui-showing-earlier-data = Showing earlier data.
tui-finishing-actions = Finishing actions in progress…
tui-not-suspended = Not suspended: no shell could resume this process.
tui-no-agents = No agents yet. Register one: polis agent add ID --role ROLE
tui-no-messages = No messages yet. Press m to send one.
tui-turns-summary = Summary of earlier turns:
tui-board-locked-by = locked by
tui-board-not-written = Template: not written yet.
tui-no-versions = No versions yet.
tui-decisions-heading = Decisions (p: propose)
tui-milestones-heading = Milestones (a: add)
tui-searched-back-to-event = Searched back to event { $from }. Press gg to continue.
tui-no-matches = No matches.
tui-tasks-in-progress = Tasks in progress:
tui-no-tasks-in-progress = None. Press 2 for tasks, then a to create or c to claim one.
tui-computing-statistics = Computing statistics…
tui-no-tasks = No tasks. Press a to create one, or Esc to clear the filter.
tui-task-blocked-by = blocked by
tui-earlier-comments-omitted = … earlier comments omitted
tui-earlier-entries-omitted = … earlier entries omitted
tui-no-workspaces = No workspaces yet. An agent without a supervisor gets one.
tui-workspace-empty = empty
tui-workspace-bound = bound directory
tui-workspace-own = own directory
tui-directory-empty = Empty directory.
tui-file-beginning-only = , only the beginning is shown

# $name, $value
tui-field-with-value = { $name }: { $value }
tui-field-label = { $name }:{" "}

## Descriptions of keys

tui-key-claim = claim the task
tui-key-release = release the task
tui-key-complete = complete the task
tui-key-move-right = move to the next status
tui-key-move-left = move to the previous status
tui-key-comment = comment on the task
tui-key-approve = approve its completion
tui-key-delete = delete the task
tui-key-edit-task = edit subject and description in $EDITOR
tui-key-create = create a task
tui-key-edit-board = edit the board in $EDITOR
tui-key-append = append to the board
tui-key-versions = version history
tui-decisions-and-milestones = decisions and milestones
tui-key-restore = restore this version
tui-key-sign = sign the decision
tui-key-veto = veto the decision
tui-key-propose = propose a decision
tui-key-appeal = appeal the decision
tui-key-add-milestone = add a milestone
tui-key-reach-milestone = mark the milestone as reached
tui-key-allow = allow the call
tui-key-deny = deny the call
tui-key-send-message = send a message
tui-key-dismiss-message = dismiss the message
tui-key-pause = pause the agent
tui-key-resume = resume the agent
tui-key-terminate = dismiss it and all agents below
tui-key-files = its files
tui-key-commands = command log
tui-key-down = down
tui-key-up = up
tui-key-half-down = half a page down
tui-key-half-up = half a page up
tui-key-bottom = go to the end (gg: beginning)
tui-key-open = open
tui-key-back = clear the filter, or go back
tui-key-next-tab = switch tab
tui-key-previous-tab = previous tab
tui-key-filter = filter a list, search a text
tui-key-next = next match
tui-key-previous = previous match
tui-key-follow = follow the newest
tui-key-help = show this help
tui-key-redraw = reload and redraw
tui-key-suspend = suspend (resume with fg)
tui-key-quit = quit

## Keys of a dialog

tui-hint-scroll-or-close = j k scroll   any other key closes
tui-hint-yes-no = y yes   n no
tui-hint-form = Enter submit, Tab next field, Esc cancel
tui-hint-filter = Enter apply, Esc cancel
tui-hint-close = press any key to close
tui-hint-conflict = e merge and edit   o overwrite   x discard yours   Esc later   j k scroll
tui-hint-failed-draft = e edit again   x discard   Esc later
tui-hint-conflict-markers = e edit again   S save with markers   x discard   Esc later
tui-hint-save-anyway = e edit again   r save anyway   x discard   Esc later
tui-hint-retry = e edit again   r retry   x discard   Esc later

## Help

tui-help-on-this-page = On this page
tui-help-everywhere = Everywhere
tui-help-mouse-keys = click, wheel
tui-help-mouse = select, open, scroll
tui-help-title = Keys (j k scroll, any other key closes)
tui-help-or-quit = ? help  q quit

## Titles of pages

tui-page-task = Task
tui-page-versions = versions
tui-page-version = version
tui-page-commands = commands
tui-page-command = command
tui-page-event = Event

## External editor and drafts

# $target, $new
tui-draft-saved = Saved { $target } as version { $new }.

tui-conflict-markers-left = The text still contains conflict markers; nothing was saved.
tui-conflict-markers-left-hint = edit again, resolve the conflicts and remove the marker lines
tui-draft-already-saved = { $target } already matches your text.
tui-draft-kept-notice = Your draft of { $target } is kept; press e on { $target } to resume it.
tui-draft-discarded = Your draft was discarded; { $target } is unchanged.
tui-overwrite-question = Overwrite the shown version of { $target } with your text?
tui-discard-draft-question = Discard your draft of { $target } permanently?
tui-not-saved-title = Not saved

# $target, $author
tui-conflict-title = { $target } was changed by { $author }

tui-draft-kept = {"["}draft kept: e]{" "}
tui-editor-exit-status = status { $code }
tui-editor-ended-by-signal = a signal
tui-editor-failed = The editor exited with { $status-text }; nothing was saved.
tui-editor-failed-hint = check $VISUAL and $EDITOR, then edit again
tui-editor-file-deleted = The editor deleted its file; nothing was saved.
tui-edit-again-hint = edit again
tui-editor-file-not-utf8 = The file is not UTF-8; nothing was saved, and your text is only in the file.
tui-editor-file-not-utf8-hint = edit again and save as UTF-8 (in vim: :set fileencoding=utf-8)
tui-edit-failed = The text could not be edited: { $error }.
tui-editor-not-started-hint = check $VISUAL, $EDITOR and $TMPDIR, then edit again

## Items that need attention

tui-needs-attention = Needs your attention:{" "}
tui-attention-calls = calls to allow (y) or deny (d)
tui-attention-paused-agents = paused or parked agents (r: resume)
tui-attention-questions = questions (m: reply, x: dismiss)
tui-attention-tasks = tasks to approve (A)
tui-attention-stale-tasks = stale tasks
tui-attention-decisions = decisions to sign

## Team health

tui-health-role-match = role match
tui-health-conflicts = conflicts
tui-health-cross-role = cross-role
tui-health-invalid-transitions = invalid transitions
tui-health-completed-per-day = completed per day

## Confirmations

tui-task-claimed = Claimed #{ $task }.
tui-task-released = Released #{ $task }.

# $task, $to
tui-task-moved = #{ $task } is now { $to }.

tui-task-commented = Commented on #{ $task }.
tui-task-created = Created task { $new }.
tui-task-approved = Approved #{ $task }.

# $board, $new
tui-board-appended = Appended to { $board }: version { $new }.

# $version, $board, $new
tui-version-restored = Restored version { $version } of { $board } as version { $new }.

tui-decision-proposed = Proposed decision { $new }.
tui-decision-signed = Signed { $id }.
tui-decision-vetoed = Vetoed { $id }.
tui-decision-appealed = Appealed { $id }; it is voted on again.
tui-milestone-updated = Updated milestone "{ $title }".
tui-call-allowed = Call allowed; the agent continues.
tui-call-denied = Call denied; the agent is notified.
tui-message-dismissed = Dismissed message { $id }.
tui-agent-paused = Paused { $agent }.
tui-agent-resumed = Resumed { $agent }.
tui-agent-dismissed = Dismissed { $agent } and all agents below it.
tui-call-interrupted = interrupted:
tui-call-was-denied = denied:
