### Refusals about boards: names, access, leases, versions and size.

board-access-denied = Permission denied: "{ $agent }" cannot { $access ->
        [read] read
        [write] write
       *[other] append to
    } { $board }. { $reason }
    .cli = see who may with `polis board can { $board } --as AGENT`
    .tool = ask an agent that may, or the person; `whiteboard_list` shows what you may read
    .http = ask an agent that may, or the person; `GET /v1/boards` shows what you may read
    .screen = ask someone with permission

board-blackboard-access-denied = Permission denied: "{ $agent }" cannot { $access ->
        [read] read
        [write] write
       *[other] append to
    } { $board }. { $reason }
    .hint = ask the product manager; `[blackboard.writers]` in polis.toml grants paths to roles and agents

board-invalid-path = Invalid path { $path }: { $rule }.
    .hint = name a file below the blackboard, such as shared/context.md or tasks/123/status.md

board-locked = Board { $board } is locked by "{ $holder }" until { $until }.
    .hint = retry after that time; locks expire

board-invalid-lease-time = The duration of a lock must be between 1 ms and 1 h.
    .cli = set --ttl to a duration such as 5s, and renew the lock while you need it
    .tool = set ttlMs to a duration such as 5000, and renew the lock while you need it
    .screen = correct the input

board-unlock-without-token = Permission denied: only the person may end a lock without its token.
    .cli = give --token, or wait until the lock expires
    .tool = give token, or wait until the lock expires
    .screen = ask someone with permission

board-lease-lost = This token does not hold the lock on board { $board }, or no longer holds it.
    .hint = the lock has expired, or was released or taken over; lock the board again before you write

board-invalid-name = Invalid board: { $text }.
    .hint = boards are `global`, `top`, `mid/ROLE` and `bottom/AGENT`, where a role or an agent has letters, digits, '-', '_' and '.'

board-has-nul = A board cannot hold NUL characters.
    .hint = remove them; boards are Markdown text

board-too-large = The board would have { $bytes } bytes; at most { $max_board_bytes } (10 MB) are accepted. Nothing was changed.
    .hint = move older parts to another board or to files, and refer to them

board-version-required = The board { $board } has text, last changed by "{ $author }" at { $at }; replacing it needs the version you read.
    .cli = read the board and give its version with --expect V, or replace it unconditionally with --force
    .tool = read it with `whiteboard_read` and pass its version as expectedVersion; to add to it use `whiteboard_append`, to change a part `whiteboard_section`
    .http = read it with `GET /v1/boards/{"{"}board{"}"}` and pass its version as expectedVersion; to add to it use `POST /v1/boards/{"{"}board{"}"}/append`, to change a part `POST /v1/boards/{"{"}board{"}"}/sections`
    .screen = reload, apply your change again and save

board-entry-heading = The entry has the heading { $title }, which would begin a separate section; you may append to this board, but not write it.
    .hint = use headings of level 4 (####) or deeper in entries

board-version-conflict = Version conflict on board { $board }: expected { $expected }, got { $current } (by "{ $author }" at { $at }).
    .cli = read the board again, apply your change to it and write with its version; or add --merge
    .tool = read the board again with `whiteboard_read`, apply your change to it and write with its version as expectedVersion; or pass merge=true
    .http = read the board again with `GET /v1/boards/{"{"}board{"}"}`, apply your change to it and write with its version as expectedVersion; or pass merge=true
    .screen = reload, apply your change again and save

board-version-conflict-unwritten = Version conflict on board { $board }: expected { $expected }, got { $current } (not written yet).
    .cli = read the board again, apply your change to it and write with its version; or add --merge
    .tool = read the board again with `whiteboard_read`, apply your change to it and write with its version as expectedVersion; or pass merge=true
    .http = read the board again with `GET /v1/boards/{"{"}board{"}"}`, apply your change to it and write with its version as expectedVersion; or pass merge=true
    .screen = reload, apply your change again and save

board-merge-conflict = Merge conflict on board { $board }: expected { $expected }, got { $current } (by "{ $author }" at { $at }).
    .hint = resolve the conflict markers and write the result with the current version; nothing was written

board-section-changed = Version conflict on board { $board }: the section is not as you read it (its version is now { $digest }).
    .cli = read the section again with `--section`, apply your change to it and retry
    .tool = read the section again with `whiteboard_read` and section, apply your change to it and retry with its sectionVersion as expectedSection
    .http = read the section again with `GET /v1/boards/{"{"}board{"}"}` and section, apply your change to it and retry with its sectionVersion as expectedSection
    .screen = reload, apply your change again and save

board-section-removed = Version conflict on board { $board }: the section is not as you read it (the section no longer exists).
    .cli = read the section again with `--section`, apply your change to it and retry
    .tool = read the section again with `whiteboard_read` and section, apply your change to it and retry with its sectionVersion as expectedSection
    .http = read the section again with `GET /v1/boards/{"{"}board{"}"}` and section, apply your change to it and retry with its sectionVersion as expectedSection
    .screen = reload, apply your change again and save

blackboard-rule-empty = it is empty
blackboard-rule-absolute = it must be relative to the blackboard
blackboard-rule-too-long = it is longer than 240 bytes
blackboard-rule-leaves = it must not leave the blackboard (no `.` or `..`)
blackboard-rule-empty-part = it has an empty part
blackboard-rule-too-deep = it is nested deeper than 8 parts, or a part is longer than 100 bytes
blackboard-rule-extension = its extension must be .md
blackboard-rule-no-stem = the file has no name before .md
blackboard-rule-tasks-file = `tasks` is the directory of tasks
blackboard-rule-task-file = a task's file is tasks/{"{"}id{"}"}/NAME.md
blackboard-rule-task-id = a task's id is a number, or has one, such as 123 or task-20260225-001
blackboard-rule-upper-case = it must be lower case
blackboard-rule-characters = only lower-case letters, digits and hyphens are accepted
blackboard-rule-hyphen = a part must not begin with a hyphen

## Why an agent may or may not access a board

access-person = The person has every permission.
access-not-registered = "{ $agent }" is not a registered agent; it may read only `global` and `top`.
access-global-readable = All agents may read the global board.
access-top-readable = All agents may read the top layer's board.
access-upper-layers-append = The top and mid layers may append to the global board.
access-only-upper-layers-append = Only the top and mid layers may append to the global board.
access-top-layer-writes = The top layer may write this board.
access-only-top-layer-writes = Only the top layer may write this board.
access-own-role = It is the board of the agent's own role.
access-only-role-writes = Only mid-layer agents with the role "{ $role }" may write this board.
access-own-board = It is the agent's own board.
access-only-owner-writes = Only the agent "{ $owner }" may write this board.
access-top-layer-reads-mid = The top layer may read every mid-layer board.
access-mid-layer-reads-mid = The mid layer may read every mid-layer board.
access-superiors-board = It is the board of an agent above this agent.
access-no-superior-with-role = No agent above this agent is a mid-layer agent with the role "{ $role }".
access-top-layer-reads-bottom = The top layer may read every bottom-layer board.
access-mid-reads-all-bottom = `whiteboards.mid_reads_all_bottom` is set.
access-subordinate = "{ $owner }" is a subordinate of the agent.
access-not-a-subordinate = "{ $owner }" is not a subordinate of the agent, and the mid layer may read only the boards of its subordinates.
access-bottom-layer-reads-own = A bottom-layer agent may read only its own bottom-layer board.
access-not-a-whiteboard = It is not a whiteboard.
access-blackboard-readable = All agents may read the blackboard.
access-path-granted = `[blackboard.writers]` grants `{ $pattern }` to "{ $writer }".
access-path-not-granted = `[blackboard.writers]` grants this path neither to the role "{ $role }" nor to the agent "{ $agent }".
