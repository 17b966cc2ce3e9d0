### Failures of the stores: their messages, codes and arguments.

store-failure-board-log-damaged = The log of board { $board } is damaged.
    .cli = restore the store from a backup; `polis doctor` checks it
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log

store-failure-board-file-too-large = The board's file was edited outside polis and has { $bytes } bytes; at most { $max_board_bytes } are accepted.
    .hint = fix the file, or move it away: a missing file is recreated from the store

store-failure-board-file-not-utf8 = The file of board { $board } was edited outside polis and is not UTF-8.
    .hint = fix the file, or move it away: a missing file is recreated from the store

store-failure-board-file-has-nul = The file of board { $board } was edited outside polis and contains NUL characters.
    .hint = fix the file, or move it away: a missing file is recreated from the store

store-failure-board-file-grew = The file of board { $board } was edited outside polis and is too large.
    .hint = fix the file, or move it away: a missing file is recreated from the store

store-failure-no-write-ahead-log = This file system does not support SQLite's write-ahead log.
    .hint = put the directory on a local file system

store-failure-no-tables = The store's database has no tables: it was emptied, or its creation was interrupted.
    .cli = restore .agent-workspace/polis.db from a backup; `polis init` creates an empty store
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log

store-failure-database-locked = Another program kept the database locked until the timeout.
    .hint = retry; if it persists, find the program that keeps the database open

store-failure-disk-full = The disk is full; nothing was changed.
    .hint = free some space and retry

store-failure-not-writable = The store cannot be written; nothing was changed.
    .hint = check the owner and the permissions of .agent-workspace

store-failure-cannot-open = The store cannot be opened.
    .hint = check that .agent-workspace/polis.db exists and is readable and writable

store-failure-database-damaged = The store's database file is damaged or not a database.
    .cli = restore .agent-workspace/polis.db from a backup; `polis doctor` checks it
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log

store-failure-input-output-failed = Reading or writing the store failed.
    .cli = check the disk; `polis doctor` checks the database
    .tool = tell the person who runs polis to check the disk
    .screen = retry; if it persists, check the server log

store-failure-write-lock-held = Another process held the store's write lock until the timeout; nothing was changed.
    .hint = retry; a large import may be running

store-failure-directory-unavailable = The store's directory cannot be opened.
    .hint = check that .agent-workspace exists and is writable

store-failure-board-file-not-writable = The board's file cannot be written; nothing was changed.
    .hint = check the owner and the permissions of the boards' directories

store-failure-board-file-unavailable = The board's file cannot be read or written.
    .cli = check the disk; repeat with --verbose to see the cause
    .tool = check the disk
    .screen = retry; if it persists, check the server log

store-failure-board-file-is-no-file = The path of the board's file, or of its directory, is a link, a directory or a device, which polis does not follow.
    .hint = remove it; the file is then recreated from the store

store-failure-board-file-locked = Another program has locked the file of { $name }.
    .hint = retry later; find the program that has it open

store-failure-row-damaged = A row of the store is damaged.
    .cli = restore .agent-workspace/polis.db from a backup; `polis doctor` checks it
    .tool = tell the person who runs polis to restore the store from a backup
    .screen = retry; if it persists, check the server log

store-failure-message-damaged = The row of message { $id } is damaged.
    .hint = restore the store from a backup

store-failure-mailbox-damaged = The row of a message is damaged.
    .hint = restore the store from a backup

store-failure-task-damaged = The row of task #{ $id } is damaged.
    .cli = restore the store from a backup; `polis task export` saves what can still be read
    .tool = tell the person who runs polis to restore the store from a backup; tasks that can still be read can be exported
    .screen = retry; if it persists, check the server log

store-failure-invalid-address = The store's address is not a valid PostgreSQL address.
    .hint = write it as postgres://user:password@host:5432/database; of sslmode, disable and prefer are supported

store-failure-tls-unsupported = TLS to PostgreSQL is not supported.
    .hint = connect over a local socket, a private network or a tunnel, without sslmode=require

store-failure-database-not-utf8 = The PostgreSQL database does not use UTF-8.
    .hint = create it with ENCODING 'UTF8'

store-failure-no-schema = The PostgreSQL role has no schema for its tables.
    .hint = create the schema that its search_path names

store-failure-server-disk-full = The disk of the PostgreSQL server is full; nothing was changed.
    .hint = free some space there and retry

store-failure-role-cannot-write = The store cannot be written; nothing was changed.
    .hint = check the rights of the PostgreSQL role, and that the server is not a standby

store-failure-transaction-holds-lock = Another transaction kept the store locked until the timeout; nothing was changed.
    .hint = retry; if it persists, look for an open transaction in pg_stat_activity

store-failure-server-data-damaged = The PostgreSQL server found damaged data.
    .hint = restore the database from a backup

store-failure-access-refused = The PostgreSQL server refused this role access to the database.
    .hint = check user, password and database name of the store's address

store-failure-too-many-connections = The PostgreSQL server accepts no more connections.
    .hint = raise max_connections, or run fewer processes

store-failure-server-unreachable = The PostgreSQL server cannot be reached.
    .hint = check that it runs and that the store's address is right; polis reconnects by itself

store-failure-server-timeout = The PostgreSQL server did not answer in time.
    .hint = check the server's load and the network, and retry

store-failure-connection-broke = The connection to the PostgreSQL server broke. Nothing was changed.
    .hint = retry; polis reconnects by itself

store-failure-commit-unknown = The connection to the PostgreSQL server broke during the commit; it is unknown whether the change was made.
    .hint = read the current state before you retry

store-failure-postgres-row-damaged = A row of the store is damaged.
    .hint = restore the database from a backup

store-failure-task-numbers-exhausted = There are no task numbers left.
    .hint = import the tasks into a new store with smaller numbers

store-failure-schema-too-new = The store has schema { $found }; this polis supports up to { $supported }. Nothing was changed.
    .hint = use the newer polis that wrote it
