### Refusals of `polis mcp` and of writing the configuration of MCP clients.

install-agent-missing = The agent of the MCP server is missing.
    .hint = name the agent with --agent ID; `polis agent list` lists the agents

install-path-not-utf8 = { $what } is not UTF-8, so it cannot be written to a configuration.
    .hint = move it to a path in UTF-8

install-no-home-directory = There is no home directory to write to.
    .hint = set HOME, or write the project's configuration with --scope project

install-invalid-file = { $file }{ $line }: { $reason }; nothing was changed.
    .hint = fix the file so that { $client } can read it, or add the entry by hand: --print shows it

install-other-server = { $file } has a server "{ $server_name }" that starts something else; nothing was changed.
    .hint = rename or remove it in { $client }, or add ours by hand under another name: --print shows it

install-not-a-client-agent = "{ $agent }" is not an agent that a client can act as.
    .hint = choose another id with --agent

install-no-project-scope = { $client } has no project configuration.
    .hint = write your own configuration: --scope user

install-store-by-flag = The client would not know the store that --store or POLIS_STORE names.
    .hint = write it as `store` into .agent-workspace/polis.toml, and omit the flag and the variable

install-no-project-for-client = There is no project directory on this machine for the client to use.
    .hint = run `polis init` in your project first

install-no-allowed-tools = { $client } has no setting for allowed tools in a server's entry.
    .hint = omit --allow-tools, and { $alternative }

install-expanded-path = The path of the project or of polis contains "{ $mark }", which { $client } would expand.
    .hint = move it to a path without it

install-keeps-changing = { $file } keeps being changed by another program.
    .hint = close the program that writes it, and run the command again

install-session-names-taken = Other live sessions act as "{ $agent }", and there is no free name for another one.
    .hint = end one of them, or use another name with --agent

install-file-unreadable = { $file } could not be read.
    .hint = check that you may read it; --verbose shows the cause

install-agent-retired = Agent "{ $agent }" is retired, and its name cannot be reused.
    .hint = choose another id with --agent

install-agent-registered-as = Agent "{ $agent }" is registered as { $role }.
    .hint = omit --role, or choose another id with --agent

install-file-is-no-file = { $file } is not a file; nothing was changed.
    .hint = move it out of the way

install-file-too-large = { $file } is larger than { $mebibytes } MiB; nothing was changed.
    .hint = add the entry by hand: --print shows it

install-file-not-text = { $file } is not text in UTF-8; nothing was changed.
    .hint = convert it to UTF-8

install-file-read-only = { $file } is read-only; nothing was changed.
    .hint = make it writable, or add the entry by hand: --print shows it

install-file-symlink-loop = { $file } is a symlink loop; nothing was changed.
    .hint = remove it

install-too-many-backups = { $file } has too many backups; nothing was changed.
    .hint = remove the .polis-backup files that you do not need

install-disk-full = { $file } was not changed: the disk is full.
    .hint = fix that and run the command again, or add the entry by hand: --print shows it

install-file-not-writable = { $file } was not changed: the file or its directory is not writable.
    .hint = fix that and run the command again, or add the entry by hand: --print shows it

install-project-directory = The project's directory
install-program-path = The path of the program polis
install-line = , line { $line }
install-no-line = {""}

client-file-json-syntax = { $error }
client-file-unsupported-layout = its layout cannot be edited without changing the rest of the file
client-file-byte-order-mark = a byte order mark is not allowed
client-file-comment = comments are not allowed
client-file-trailing-comma = a trailing comma is not allowed
client-file-unclosed-comment = a comment is not closed
client-file-not-an-object = it is not an object
client-file-key-not-an-object = "{ $key }" is not an object
client-file-key-not-a-table = "{ $key }" is not a table
client-file-key-is-inline-table = "{ $key }" is an inline table; write it as [{ $key }.NAME]
client-file-second-document = there is a second document
client-file-not-a-mapping = it is not a mapping of names
client-file-key-not-a-mapping = "{ $key }" is not a mapping of names
