### Refusals to bind a directory as a workspace.

binding-recorded-path-not-canonical = The path recorded for the workspace is not the canonical path of a directory.
    .cli = have the person bind the workspace again: `polis ws bind`
    .tool = ask the person who runs polis to bind the workspace again
    .screen = correct the input

binding-path-not-absolute = The path of the directory is not absolute.
    .hint = use an absolute path, starting with /

binding-path-not-utf8 = The path of the directory is not UTF-8.
    .hint = use a directory with another name

binding-parent-after-missing = The path of the directory has a `..` after a directory that does not exist.
    .hint = remove `..` from the path

binding-system-directory = A directory of the system, or a whole home directory, cannot be a workspace.
    .hint = create a separate directory for the work

binding-in-data-directory = The directory is polis's own data directory, is inside it or contains it.
    .hint = use a directory outside polis's data directory

binding-overlaps-other-workspace = The directory overlaps a workspace of another polis project on this machine.
    .cli = choose a directory outside all polis projects; repeat with --verbose to see the cause
    .tool = choose a directory outside all polis projects
    .screen = check the current state, then decide again

binding-overlaps-other-project = The directory contains another polis project, or is inside its data.
    .cli = choose a directory outside all polis projects; repeat with --verbose to see the cause
    .tool = choose a directory outside all polis projects
    .screen = check the current state, then decide again

binding-overlaps-registry = The directory contains polis's machine registry, or is inside it.
    .cli = choose a directory outside all polis projects; repeat with --verbose to see the cause
    .tool = choose a directory outside all polis projects
    .screen = check the current state, then decide again

binding-not-a-directory = This path is not a directory.
    .hint = use the path of a directory, or of one to be created

binding-not-writable = The directory cannot be created or written.
    .hint = check the owner and permissions of the directory and of those above it

binding-component-not-a-directory = A component of the path is not a directory.
    .hint = use another path

binding-cannot-open = The directory cannot be created or opened.
    .cli = check the path; repeat with --verbose to see the cause
    .tool = check the path
    .screen = correct the input
