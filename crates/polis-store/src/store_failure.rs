//! Failures of the stores: their messages, codes and arguments.

polis_core::refusal_table! {
    /// Failures of the stores: their messages, codes and arguments.
    pub enum StoreFailure {
        BoardLogDamaged = "store-failure-board-log-damaged", StoreCorrupt { board: String };
        BoardFileTooLarge = "store-failure-board-file-too-large", BoardTooLarge {
            bytes: u64, max_board_bytes: u64,
        };
        BoardFileNotUtf8 = "store-failure-board-file-not-utf8", NotUtf8 { board: String };
        BoardFileHasNul = "store-failure-board-file-has-nul", NotUtf8 { board: String };
        BoardFileGrew = "store-failure-board-file-grew", BoardTooLarge { board: String };
        NoWriteAheadLog = "store-failure-no-write-ahead-log", StoreUnavailable;
        NoTables = "store-failure-no-tables", StoreCorrupt;
        DatabaseLocked = "store-failure-database-locked", StoreBusy;
        DiskFull = "store-failure-disk-full", StoreFull;
        NotWritable = "store-failure-not-writable", StoreReadOnly;
        CannotOpen = "store-failure-cannot-open", StoreUnavailable;
        DatabaseDamaged = "store-failure-database-damaged", StoreCorrupt;
        InputOutputFailed = "store-failure-input-output-failed", StoreUnavailable;
        WriteLockHeld = "store-failure-write-lock-held", StoreBusy;
        DirectoryUnavailable = "store-failure-directory-unavailable", StoreUnavailable;
        BoardFileNotWritable = "store-failure-board-file-not-writable", StoreReadOnly;
        BoardFileUnavailable = "store-failure-board-file-unavailable", StoreUnavailable;
        BoardFileIsNoFile = "store-failure-board-file-is-no-file", NotAFile;
        BoardFileLocked = "store-failure-board-file-locked", BoardLocked { name: String };
        RowDamaged = "store-failure-row-damaged", StoreCorrupt;
        MessageDamaged = "store-failure-message-damaged", StoreCorrupt { id: String };
        MailboxDamaged = "store-failure-mailbox-damaged", StoreCorrupt;
        TaskDamaged = "store-failure-task-damaged", StoreCorrupt { id: String };
        InvalidAddress = "store-failure-invalid-address", InvalidConfig;
        TlsUnsupported = "store-failure-tls-unsupported", InvalidConfig;
        DatabaseNotUtf8 = "store-failure-database-not-utf8", StoreUnavailable;
        NoSchema = "store-failure-no-schema", StoreUnavailable;
        ServerDiskFull = "store-failure-server-disk-full", StoreFull;
        RoleCannotWrite = "store-failure-role-cannot-write", StoreReadOnly;
        TransactionHoldsLock = "store-failure-transaction-holds-lock", StoreBusy;
        ServerDataDamaged = "store-failure-server-data-damaged", StoreCorrupt;
        AccessRefused = "store-failure-access-refused", StoreUnavailable;
        TooManyConnections = "store-failure-too-many-connections", StoreUnavailable;
        ServerUnreachable = "store-failure-server-unreachable", StoreUnavailable;
        ServerTimeout = "store-failure-server-timeout", StoreBusy;
        ConnectionBroke = "store-failure-connection-broke", StoreUnavailable;
        CommitUnknown = "store-failure-commit-unknown", CommitUnknown;
        PostgresRowDamaged = "store-failure-postgres-row-damaged", StoreCorrupt;
        TaskNumbersExhausted = "store-failure-task-numbers-exhausted", Internal;
        SchemaTooNew = "store-failure-schema-too-new", StoreTooNew {
            found: usize, supported: usize,
        };
    }
}
