### Refusals of members' calls, and failures while a member is driven.

member-record-damaged = { $record } cannot be read.
    .cli = run `polis doctor`
    .tool = tell the person who runs polis
    .screen = retry; if it persists, check the server log

member-changed-by-other = The member was changed by another writer.
    .hint = reload the member and decide again

member-call-denied = `user` denied this call.
    .hint = continue without it, or ask `user` with send_message
    .screen = ask someone with permission

member-call-denied-with-note = `user` denied this call. Note: { $note }
    .hint = continue without it, or ask `user` with send_message
    .screen = ask someone with permission

member-arguments-not-an-object = The arguments are not a JSON object: { $error }.
    .hint = repeat the call with one JSON object as arguments

member-call-interrupted = The process ended while this call was running; whether it took effect is unknown. It was not repeated.
    .hint = check what it changed, and call it again if necessary

member-lease-damaged = The lease of a run is damaged.
    .cli = restore the store from a backup; `polis doctor` checks it
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log
