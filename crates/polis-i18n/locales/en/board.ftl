### Boards: versions, decisions, milestones, pages.

board-propose-decision = Propose a decision
board-decision-text-field = Decision
board-add-milestone = Add a milestone
board-milestone-title-field = Title
board-template-mark = template
board-locked-by = Locked by { $holder }
board-milestone-reached = reached
board-milestone-open = open
board-decision-pending = Awaiting signatures
board-decision-approved = Approved
board-decision-rejected = Rejected
board-decision-appealing = Under appeal
board-version-written = Written
board-version-appended = Appended
board-version-edited = Partly edited
board-version-restored = Restored
board-version-external = External edit
board-decisions-title = Decisions
board-milestones-title = Milestones
board-decisions-hidden =
    { $hidden ->
        [one] { $hidden } more is in the board's text.
       *[other] { $hidden } more are in the board's text.
    }
board-milestones-reached = Milestones reached
board-milestone-mark-reached = Mark as reached
board-decision-milestone-mark = milestone
board-decision-milestone-label = Milestone:
board-decision-signed-label = Signed:
board-decision-vetoed-label = Vetoed:
board-decision-sign = Sign
board-decision-veto-link = Veto …
board-decision-appeal = Appeal
board-decision-milestone-field = Milestone it marks as reached (optional)
board-decision-propose = Propose
board-milestone-description-field = Description
board-milestone-add = Add
board-veto-title = Veto decision #{ $id }
board-decision-title = Decision #{ $id }
board-veto-reason-field = Reason
board-decision-veto = Veto
board-edit-title = Edit { $board }

# $section, $board
board-edit-section-title = Edit “{ $section }” of { $board }
board-editor-markdown = Markdown
board-editor-preview = Preview
board-editor-merge = merge with changes of others that do not overlap
board-editor-based-on = based on version
board-conflict-title = Someone else changed this board while you were editing.
board-conflict-explanation = Nothing has been saved yet. Your text is below: merge the changes of the others into it, then save. Saving replaces the current text of the board.
board-conflict-changes-if-saved = Changes if you save now
board-conflict-discard-question = Discard your text?
board-no-versions-title = No versions yet
board-no-versions-explanation = Every change of the board is stored here and can be restored.
board-versions-title = Versions
board-versions-kept = Only the newest { $limit } versions are kept (setting `whiteboards.max_versions`).
board-compare-from = From
board-compare-to = To
board-version-change = Change
board-version-author-and-time = Author and time
board-restore = Restore
board-compare = Compare
board-history-title = History of { $board }
board-compare-from-version = from version
board-compare-to-version = to version
board-restore-link = Restore …
board-oldest-version = Version { $to } is the oldest stored version; there is no earlier version to compare with.

# $from, $to
board-compare-title = From version { $from } to { $to }
board-initial-version-mark = template
board-version-number = version { $n }
board-restore-explanation = This restores the text of that version as a new version. Nothing is lost.
board-restore-version-title = Restore version { $version }
board-version-changes = Changes
board-restore-title = Restore { $board }
board-search-placeholder = part of a name
board-no-matches = No matching boards.
board-purpose = Purpose
board-last-change = Last change
board-locked-by-column = Locked by
board-list-pages = Pages of the list
board-list-first-page = first page
board-list-more = more boards
board-new-mark = new
board-purpose-global = goals, decisions and milestones of the whole team
board-purpose-top = the top layer's strategy
board-purpose-mid = the plans of a role
board-purpose-bottom = an agent's own log
board-purpose-blackboard = a file of the blackboard
board-none-title = No board has been written yet
board-none-explanation = Boards are Markdown texts that all agents share. Open one and edit it, or use a terminal:
board-example-entry = Project started.
board-not-written = This board has not been written yet; its template is shown.
board-empty = The board is empty.
board-rest = Rest of the board
board-append-title = Append an entry
board-append-placeholder = Markdown; your name and the time are added
board-append = Append
board-panel-loading = Loading contents and decisions …
board-details-title = Details
board-lock = Lock
board-unlocked = unlocked
board-locked-until = until
board-lock-for-ten-minutes = Lock for 10 minutes
board-release-lock = Release the lock
board-release-lock-question = Release the lock? Its holder may still be writing.
board-edit-section = edit
board-contents-title = Contents
board-subheading-count =
    { $count ->
        [one] { $count } subheading
       *[other] { $count } subheadings
    }
board-headings-omitted =
    { $count ->
        [one] and { $count } more heading
       *[other] and { $count } more headings
    }
# $board, $version
board-diff-label = { $board } (version { $version })
board-diff-no-changes = No changes.
