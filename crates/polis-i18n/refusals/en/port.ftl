### Failures of ports that have no message of their own.

port-internal-error = { $activity } failed.
    .cli = run `polis doctor`; repeat with --verbose to see the cause
    .tool = try again; if it fails once more, tell the person who runs polis, whose log has the cause
    .screen = retry; if it persists, check the server log
