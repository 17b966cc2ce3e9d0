### Results of the file and command tools for models.

## Files

# $size, $advice
tool-workspace-file-truncated = truncated, the file has { $size } bytes; { $advice }
tool-workspace-read-with-command = read the rest with run_command
tool-workspace-line-too-long = one line is longer than a result may be: read it with run_command
tool-workspace-next-line = for the rest pass startLine={ $line }
# $path, $size
tool-workspace-written = { $path } written, { $size } bytes.
# $path, $count, $size
tool-workspace-edited =
    { $count ->
        [one] { $path } edited in 1 place, { $size } bytes.
       *[other] { $path } edited in { $count } places, { $size } bytes.
    }
tool-workspace-deleted = { $path } deleted.
# $old, $new
tool-workspace-moved = { $old } is now { $new }.
tool-workspace-dir-created = { $path } created.
tool-workspace-link = { $name } (link)
tool-workspace-not-a-file = { $name } (not a file)
tool-workspace-empty-dir = The directory is empty.
tool-workspace-no-match = No match.
tool-workspace-more-matches = { $count } shown; narrow the search with path, globs or the pattern, or pass limit
# $workspace, $files, $directories, $size
tool-workspace-info = Workspace of { $workspace }: { $files } files, { $directories } directories, { $size } bytes.

## Commands

# $text, $default, $maximum
tool-workspace-timeout-limits = { $text } Default { $default }, max { $maximum }.
tool-workspace-exit-code = exit code { $code }
tool-workspace-signal = {" "}({ $signal })
tool-workspace-out-of-memory = , killed: memory limit exceeded
tool-workspace-output-truncated = truncated; for all of it redirect the output to a file and read that
tool-workspace-no-commands = No commands.
tool-workspace-output-omitted = { $count } bytes are omitted
# $id, $agent, $command, $state
tool-workspace-command-line = { $id } { $agent }: { $command } ({ $state })
tool-workspace-command-running = running
tool-workspace-command-interrupted = interrupted
tool-workspace-command-timed-out = timed out
tool-workspace-command-cancelled = cancelled
