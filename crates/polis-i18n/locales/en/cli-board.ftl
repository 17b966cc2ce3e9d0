### What the commands about whiteboards, their decisions and milestones, and the blackboard print.

# $board, $version
cli-board-at-version = { $board } is at version { $version }

# $board, $version
cli-board-merged-at-version = { $board } is at version { $version }, merged

# $board, $version, $author, $time
cli-board-version-heading = { $board }, version { $version } by { $author } at { $time }

cli-board-template-heading = { $board }, version 0: the template, not written yet

# $heading, $holder, $until
cli-board-heading-with-lock = { $heading }; locked by { $holder } until { $until }

cli-board-unchanged = unchanged (version { $version })
cli-board-external-edit = Note: the board's file was changed outside of polis; that change is now a version by `external`.
cli-board-file-restored = Note: the board's file was missing; it was restored from the store.

## Locks

# $board, $holder, $until
cli-board-locked = { $board } is locked by { $holder } until { $until }

cli-board-lock-token = Token: { $token }
cli-board-unlocked = { $board } is unlocked

## List

cli-board-column-board = BOARD
cli-board-column-version = VERSION
cli-board-column-bytes = BYTES
cli-board-column-changed = CHANGED
cli-board-column-by = BY
cli-board-column-locked-by = LOCKED BY
cli-board-none-written = No board has been written yet. Try: polis board append global --content "..."

## Permissions

# $agent, $layer, $role, $board
cli-board-rights-heading = { $agent } ({ $layer }, { $role }) on { $board }:

cli-board-no-layer = no layer
cli-board-right-read = read
cli-board-right-write = write
cli-board-right-append = append
cli-board-right-yes = yes
cli-board-right-no = no

## Versions

cli-board-no-versions = { $board } has no versions yet.
cli-board-column-at = AT
cli-board-column-action = ACTION
cli-board-action-written = written
cli-board-action-appended = appended
cli-board-action-edited = edited
cli-board-action-restored = restored
cli-board-action-external = external
cli-board-versions-equal = The two versions are the same.

## Decisions

cli-board-no-decisions = No decisions on { $board } yet. Propose one: polis decision propose --content "..."
cli-board-decision-column-proposer = PROPOSER
cli-board-decision-column-signers = SIGNERS
cli-board-decision-column-content = CONTENT
cli-board-decision-pending = pending
cli-board-decision-approved = approved
cli-board-decision-rejected = rejected
cli-board-decision-appealing = appealing

# $id, $board, $status, $votes
cli-board-decision-heading = Decision #{ $id } on { $board }: { $status }, { $votes }

cli-board-decision-unsigned = no signatures yet
cli-board-decision-signed-by = signed by { $agents }
cli-board-decision-vetoed-by = vetoed by { $agents }

## Milestones

cli-board-no-milestones = No milestones on { $board } yet. Add one: polis milestone add TITLE --description "..."

# $title, $description
cli-board-milestone-with-description = { $title }: { $description }

# $title, $board, $version
cli-board-milestone-changed = { $title } ({ $board }, version { $version })
