### Refusals about workspaces, paths in them and commands.

workspace-empty-command = The command is empty.
    .hint = give a shell command, such as `ls -l`

workspace-command-has-nul = The command contains a NUL character, which no shell accepts.
    .hint = remove it; `printf '\000'` prints one at run time

workspace-command-too-long = The command is { $bytes } bytes long; at most { $max_command_bytes } are accepted.
    .hint = write it to a script in the workspace and run that

workspace-command-blocked = Dangerous command refused: { $reason }.
    .hint = remove it: commands run as an ordinary user, confined to the workspace and without devices

workspace-timeout-out-of-range = A timeout of { $requested } ms is out of range; between 1 and { $ceiling } ms is accepted.
    .hint = choose a timeout in this range, or leave it out for the default

workspace-path-too-long = The path is longer than { $max_path_bytes } bytes.
    .hint = use shorter names or fewer directories

workspace-name-too-long = A name in the path is longer than { $max_name_bytes } bytes.
    .hint = use a shorter name

workspace-reserved-name = The name { $project_data_dir } is reserved for the data of a polis project.
    .hint = use another name

workspace-unfinished-name = Names like { $unfinished_prefix }0123456789abcdef are reserved for unfinished writes.
    .hint = use another name

workspace-path-is-empty = The path is empty.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-path-has-nul = The path contains a NUL character.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-path-is-absolute = The path is absolute; only paths relative to the workspace are accepted.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-path-has-backslash = The path contains a backslash.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-path-leaves-workspace = The path leads out of the workspace.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-path-has-drive-letter = The path begins with a drive letter.
    .hint = give a path relative to the workspace, such as src/main.rs

workspace-person-has-none = The person has no workspace.
    .cli = name the agent whose workspace to use with `--of AGENT`; `polis ws list` shows them
    .tool = connect as an agent that has a workspace
    .screen = ask the person who runs polis to bind a workspace for its topmost superior

workspace-not-in-registry = "{ $agent }" is not an agent of the registry and has no workspace.
    .cli = act as an agent that has one; `polis ws list` shows them
    .tool = act as an agent that has one
    .screen = ask the person who runs polis to bind a workspace for its topmost superior

workspace-not-assigned = "{ $agent }" has no workspace, and neither has any agent above it.
    .cli = bind one for the topmost agent above it: `polis ws bind DIR --of AGENT`
    .tool = ask the person who runs polis to bind one for the topmost agent above it
    .screen = ask the person who runs polis to bind a workspace for its topmost superior

workspace-owner-not-registered = "{ $agent }" is not registered, so it has no workspace.
    .cli = register it with `polis agent add { $agent } --role ROLE`, or check the spelling with `polis agent list`
    .tool = have it registered, or check the spelling with `list_agents`
    .http = have it registered, or check the spelling with `GET /v1/agents`
    .screen = ask the person who runs polis to bind a workspace for its topmost superior

workspace-other-workspace = Permission denied: "{ $agent }" does not work in the workspace of "{ $requested }".
    .cli = omit --of to act in your own workspace
    .tool = act in your own workspace
    .screen = ask someone with permission

workspace-overlaps = The directory { $relation ->
        [same] is
        [inside] is inside
       *[other] contains
    } the workspace of "{ $owner }".
    .cli = choose a directory that overlaps no workspace; `polis ws list` shows them
    .tool = choose a directory that overlaps no workspace
    .screen = check the current state, then decide again

workspace-not-a-team-head = "{ $agent }" is not a direct child of root: it works in the workspace of the topmost agent above it.
    .hint = bind the workspace of that agent instead

workspace-not-a-team-head-below = "{ $agent }" is not a direct child of root: it works in the workspace of the topmost agent above it.
    .cli = bind the workspace of that agent instead; `polis agent tree` shows it, above "{ $supervisor }"
    .tool = bind the workspace of that agent instead; `list_agents` shows it, above "{ $supervisor }"
    .http = bind the workspace of that agent instead; `GET /v1/agents` shows it, above "{ $supervisor }"
    .screen = correct the input

workspace-bound-elsewhere = The workspace of "{ $agent }" is bound to another directory.
    .cli = repeat with --force to abandon the current directory; its files are kept and can be moved by hand
    .tool = ask the person who runs polis to bind it again
    .screen = check the current state, then decide again

workspace-in-use = The workspace of "{ $agent }" is already in use.
    .cli = repeat with --force to abandon the current directory; its files are kept and can be moved by hand
    .tool = ask the person who runs polis to bind it again
    .screen = check the current state, then decide again
