//! Problems of task files: why an import skips a file, and what it repairs.

use super::Reason;
use crate::TaskId;

crate::problem_table! {
    /// Problems of task files. An import skips the file, or repairs it and reports the repair.
    pub enum TaskFileProblem {
        Fault = "task-file-fault" { file: String, problem: Reason };
        NotAFile = "task-file-not-a-file";
        TooLarge = "task-file-too-large" { bytes: u64, max_bytes: u64 };
        NotUtf8 = "task-file-not-utf8";
        Unreadable = "task-file-unreadable" { error: String };
        NotAnObject = "task-file-not-an-object" { error: Reason };
        NestedTooDeeply = "task-file-nested-too-deeply" { depth: usize, max_depth: usize };
        UnpairedSurrogate = "task-file-unpaired-surrogate";
        ContainsNul = "task-file-contains-nul";
        FieldMissing = "task-file-field-missing" { key: String };
        FieldNotAText = "task-file-field-not-a-text" { key: String };
        UnknownStatus = "task-file-unknown-status" { value: String };
        IdNotANumber = "task-file-id-not-a-number" { value: String };
        IdOutOfRange = "task-file-id-out-of-range" { id: TaskId };
        VersionOutOfRange = "task-file-version-out-of-range" { version: u64 };
        AlreadyExists = "task-file-already-exists" { id: TaskId };
        IdFromFileName = "task-file-id-from-file-name" { id: TaskId };
        OtherIdInName = "task-file-other-id-in-name" { file_id: TaskId, id: TaskId };
        IdNormalized = "task-file-id-normalized" { value: String, id: TaskId };
        NumberUsedTwice = "task-file-number-used-twice" { old: TaskId, id: TaskId };
        StatusAdded = "task-file-status-added";
        TextsTooLong = "task-file-texts-too-long";
        KeyTwice = "task-file-key-twice" { key: String };
        ValueDropped = "task-file-value-dropped" { key: String, value: String };
        ValueKept = "task-file-value-kept" { key: String, value: String };
        TimeKept = "task-file-time-kept" { key: String };
        ListDropped = "task-file-list-dropped" { key: String, value: String };
        EntryTwice = "task-file-entry-twice" { key: String, id: TaskId };
        EntryNotAnId = "task-file-entry-not-an-id" { key: String, value: String };
        EntryIsItself = "task-file-entry-is-itself" { key: String, id: TaskId };
        EntryUnknown = "task-file-entry-unknown" { key: String, id: TaskId };
        EntrySkipped = "task-file-entry-skipped" { key: String, id: TaskId };
        EntryAdded = "task-file-entry-added" { key: String, id: TaskId };
        EntryClosesCycle = "task-file-entry-closes-cycle" { id: TaskId };
    }
}
