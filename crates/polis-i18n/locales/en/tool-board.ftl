### Results of the whiteboard and blackboard tools for models.

tool-board-none = No boards.
# $board, $version, $size
tool-board-entry = { $board } version { $version }, { $size } bytes
tool-board-locked-by = , locked by { $holder }
# $board, $version
tool-board-unchanged = { $board } is still at version { $version }.
# $board, $version
tool-board-head = { $board } version { $version }
tool-board-section-version = , section version { $version }
# $board, $version
tool-board-changed = { $board } is at version { $version }.
# $board, $version
tool-board-merged = { $board } is at version { $version }, merged with changes of others.
# $board, $holder, $time, $token
tool-board-locked = { $board } is locked by { $holder } until { $time }; token { $token }
tool-board-unlocked = The lock of { $board } is released.

## Versions

# $version, $time, $author, $action, $size
tool-board-version-line = { $version } { $time } { $author } { $action }, { $size } bytes
tool-board-version-written = written
tool-board-version-appended = appended
tool-board-version-edited = edited
tool-board-version-restored = restored
tool-board-version-external = external
tool-board-never-written = The board was never written.
tool-board-more-versions = { $count } shown; for more pass limit
tool-board-no-text-in-range = Version { $version } has no text in this range.
tool-board-same-versions = The two versions are the same.
# $shown, $size
tool-board-diff-truncated = truncated: { $shown } of { $size } bytes; compare closer versions, or read them with whiteboard_show

## Decisions and milestones

tool-board-omitted-entries = { $count } shown; for the others read the board with whiteboard_read
tool-board-no-decisions = No decisions.
tool-board-decision-pending = pending
tool-board-decision-approved = approved
tool-board-decision-rejected = rejected
tool-board-decision-appealing = appealing
# $head, $content
tool-board-decision = { $head }: { $content }
tool-board-signed-by = , signed by { $signers }
tool-board-no-milestones = No milestones.
# $title, $description
tool-board-milestone = { $title }: { $description }
tool-board-milestone-added = Milestone added: { $title }
tool-board-milestone-reached = Milestone reached: { $title }
