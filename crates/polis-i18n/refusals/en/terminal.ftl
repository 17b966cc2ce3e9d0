### Refusals of the terminal UI.

terminal-not-plain-text = { $error }
    .hint = write the message in plain text

terminal-no-terminal = `polis tui` needs a terminal for its input and output.
    .hint = run `polis tui` in a terminal; in scripts use `polis task list --json`, `polis watch` and similar commands
