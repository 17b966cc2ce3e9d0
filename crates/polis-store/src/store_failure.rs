//! Failures of the stores: their messages, codes and arguments.

polis_core::refusal_table! {
    /// Failures of the stores: their messages, codes and arguments.
    pub enum StoreFailure {
        BoardLogDamaged = "store-failure-board-log-damaged", STORE_CORRUPT { board: String };
        BoardFileTooLarge = "store-failure-board-file-too-large", BOARD_TOO_LARGE {
            bytes: u64, max_board_bytes: u64,
        };
        BoardFileNotUtf8 = "store-failure-board-file-not-utf8", NOT_UTF8 { board: String };
        BoardFileHasNul = "store-failure-board-file-has-nul", NOT_UTF8 { board: String };
        BoardFileGrew = "store-failure-board-file-grew", BOARD_TOO_LARGE { board: String };
        NoWriteAheadLog = "store-failure-no-write-ahead-log", STORE_UNAVAILABLE;
        NoTables = "store-failure-no-tables", STORE_CORRUPT;
        DatabaseLocked = "store-failure-database-locked", STORE_BUSY;
        DiskFull = "store-failure-disk-full", STORE_FULL;
        NotWritable = "store-failure-not-writable", STORE_READ_ONLY;
        CannotOpen = "store-failure-cannot-open", STORE_UNAVAILABLE;
        DatabaseDamaged = "store-failure-database-damaged", STORE_CORRUPT;
        InputOutputFailed = "store-failure-input-output-failed", STORE_UNAVAILABLE;
        WriteLockHeld = "store-failure-write-lock-held", STORE_BUSY;
        DirectoryUnavailable = "store-failure-directory-unavailable", STORE_UNAVAILABLE;
        BoardFileNotWritable = "store-failure-board-file-not-writable", STORE_READ_ONLY;
        BoardFileUnavailable = "store-failure-board-file-unavailable", STORE_UNAVAILABLE;
        BoardFileIsNoFile = "store-failure-board-file-is-no-file", NOT_A_FILE;
        BoardFileLocked = "store-failure-board-file-locked", BOARD_LOCKED { name: String };
        RowDamaged = "store-failure-row-damaged", STORE_CORRUPT;
        MessageDamaged = "store-failure-message-damaged", STORE_CORRUPT { id: String };
        MailboxDamaged = "store-failure-mailbox-damaged", STORE_CORRUPT;
        TaskDamaged = "store-failure-task-damaged", STORE_CORRUPT { id: String };
        InvalidAddress = "store-failure-invalid-address", INVALID_CONFIG;
        TlsUnsupported = "store-failure-tls-unsupported", INVALID_CONFIG;
        DatabaseNotUtf8 = "store-failure-database-not-utf8", STORE_UNAVAILABLE;
        NoSchema = "store-failure-no-schema", STORE_UNAVAILABLE;
        ServerDiskFull = "store-failure-server-disk-full", STORE_FULL;
        RoleCannotWrite = "store-failure-role-cannot-write", STORE_READ_ONLY;
        TransactionHoldsLock = "store-failure-transaction-holds-lock", STORE_BUSY;
        ServerDataDamaged = "store-failure-server-data-damaged", STORE_CORRUPT;
        AccessRefused = "store-failure-access-refused", STORE_UNAVAILABLE;
        TooManyConnections = "store-failure-too-many-connections", STORE_UNAVAILABLE;
        ServerUnreachable = "store-failure-server-unreachable", STORE_UNAVAILABLE;
        ServerTimeout = "store-failure-server-timeout", STORE_BUSY;
        ConnectionBroke = "store-failure-connection-broke", STORE_UNAVAILABLE;
        CommitUnknown = "store-failure-commit-unknown", COMMIT_UNKNOWN;
        PostgresRowDamaged = "store-failure-postgres-row-damaged", STORE_CORRUPT;
        TaskNumbersExhausted = "store-failure-task-numbers-exhausted", INTERNAL;
        SchemaTooNew = "store-failure-schema-too-new", STORE_TOO_NEW {
            found: usize, supported: usize,
        };
    }
}
