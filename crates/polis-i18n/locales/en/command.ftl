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
