### Output of `polis ws` and `polis exec`.

## Lists

cli-workspace-started-column = STARTED
cli-workspace-output-column = OUTPUT
cli-workspace-command-column = COMMAND
cli-workspace-size-column = SIZE
cli-workspace-name-column = NAME
cli-workspace-binding-column = BINDING
cli-workspace-since-column = SINCE
cli-workspace-directory-column = DIRECTORY

## Workspaces

cli-workspace-none = No workspaces yet. Each agent without a supervisor gets one: polis agent add lead --role team-lead
cli-workspace-binding-own = bound
cli-workspace-binding-default = default
cli-workspace-in-use = in use
cli-workspace-not-here = not on this machine
cli-workspace-not-written = not written yet
cli-workspace-bound = The workspace of { $agent } is bound.

# $agent, $directory
cli-workspace-bound-to = The workspace of { $agent } is bound to { $directory }.

# $agent, $files, $directories, $size, $change
cli-workspace-summary = Workspace of { $agent }: { $files }, { $directories }, { $size }; { $change }

cli-workspace-directory-count =
    { $count ->
        [one] { $count } directory
       *[other] { $count } directories
    }

cli-workspace-last-changed = last changed { $time }
cli-workspace-directory = Directory: { $path }

## Files

cli-workspace-empty = Nothing here yet. Write a file: polis --as AGENT ws write notes.md --content "..."
cli-workspace-directory-empty = The directory is empty.
cli-workspace-type-file = file
cli-workspace-type-directory = directory
cli-workspace-type-symlink = symlink
cli-workspace-type-other = other
cli-workspace-more-entries = There are more entries; list a subdirectory.
cli-workspace-file-truncated = -- truncated: the file has { $size }
cli-workspace-no-match = No match in { $files }.
cli-workspace-more-matches = There are more matches; raise --limit.

# $size, $path
cli-workspace-file-written = Wrote { $size } to { $path }.

# $size, $path
cli-workspace-file-created = Wrote { $size } to { $path }, a new file.

# $count, $path
cli-workspace-text-replaced =
    { $count ->
        [one] Replaced { $count } occurrence in { $path }.
       *[other] Replaced { $count } occurrences in { $path }.
    }

cli-workspace-deleted = Deleted { $path }.

# $from, $to
cli-workspace-moved = Moved { $from } to { $to }.

cli-workspace-directory-created = Created { $path }.
cli-workspace-not-logged = Note: the operation succeeded, but could not be logged; `polis doctor` shows why.

## Commands

cli-workspace-no-commands = No commands. Run one: polis exec -- ls
cli-workspace-more-commands = More commands: --before { $next }
cli-workspace-command-running = running
cli-workspace-command-interrupted = interrupted
cli-workspace-command-timed-out = timed out
cli-workspace-command-out-of-memory = out of memory
cli-workspace-command-exit = exit { $code }
cli-workspace-command-cancelled = ended early

# $ending, $milliseconds
cli-workspace-command-ended = { $ending } after { $milliseconds } ms

# $agent, $workspace, $status
cli-workspace-command-title = { $agent } in { $workspace }: { $status }

cli-workspace-output-omitted = ({ $size } omitted)
cli-workspace-command-killed = polis: the command was killed: it used more memory than `sandbox.memory` allows.
