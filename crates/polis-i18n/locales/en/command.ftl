### Commands in workspaces: results and logs.

command-none-run = No command has been run here yet.
command-time-taken = Time
command-run-by = By
command-sandbox = Sandbox
command-output = Output
command-beginning-omitted = … first { $omitted } omitted
command-timed-out = Timed out
command-cancelled = Cancelled
command-out-of-memory = Out of memory
command-killed-by = Killed by { $signal }
command-done = Done
command-exit-code = Exit code { $code }
command-no-exit-code = No exit code
command-list-title = Commands
command-earlier = earlier commands …
command-command-column = Command
command-output-omitted = The first { $size } are omitted.
command-no-output = No output.

## Notices of polis in the output of a command

# $count, $bytes
command-bytes-omitted = { $count ->
    [one] … 1 byte omitted …
   *[other] … { $bytes } bytes omitted …
}

# $count, $bytes, $file
command-bytes-omitted-spooled = { $count ->
    [one] … 1 byte omitted; the whole output is in $POLIS_OUTPUT/{ $file }, for the next command …
   *[other] … { $bytes } bytes omitted; the whole output is in $POLIS_OUTPUT/{ $file }, for the next command …
}

# $count, $bytes, $limit, $file
command-bytes-omitted-spool-limited = { $count ->
    [one] … 1 byte omitted; the first { $limit } bytes of the output are in $POLIS_OUTPUT/{ $file }, for the next command …
   *[other] … { $bytes } bytes omitted; the first { $limit } bytes of the output are in $POLIS_OUTPUT/{ $file }, for the next command …
}

# $name, $renamed
command-reserved-name-renamed = polis: the name { $name } is reserved; it was renamed to { $renamed }
