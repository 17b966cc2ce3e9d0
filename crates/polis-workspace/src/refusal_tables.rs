//! Refusal tables of this crate, for files and the sandbox: the message id, code and arguments of each refusal.
//! The texts of the messages are in `polis-i18n/refusals`.

use polis_core::refusal::{ListArg, Reason, ReasonArg};

polis_core::refusal_table! {
    /// Refusals and failures of file operations in a workspace.
    pub enum FileRefusal {
        HashMismatch = "file-hash-mismatch", HASH_MISMATCH { path: String };
        InvalidHash = "file-invalid-hash", INVALID_INPUT;
        DirectoryNotEmpty = "file-directory-not-empty", DIRECTORY_NOT_EMPTY { path: String };
        PartlyDeleted = "file-partly-deleted", WRITE_FAILED { path: String, next: ReasonArg };
        TextNotUnique = "file-text-not-unique", TEXT_NOT_UNIQUE { count: usize, path: String };
        WrittenConcurrently = "file-written-concurrently", FILE_BUSY { path: String };
        TooLargeToEdit = "file-too-large-to-edit", FILE_TOO_LARGE { path: String, limit: u64 };
        EditTooLarge = "file-edit-too-large", FILE_TOO_LARGE { path: String, limit: u64 };
        TextNotFound = "file-text-not-found", TEXT_NOT_FOUND { path: String };
        TextNotFoundCrLf = "file-text-not-found-cr-lf", TEXT_NOT_FOUND { path: String };
        EmptyOldText = "file-empty-old-text", INVALID_INPUT;
        LinkLoop = "file-link-loop", NOT_A_FILE { named: String };
        AccessDenied = "file-access-denied", PERMISSION_DENIED { named: String };
        ReadOnlyFileSystem = "file-read-only-file-system", PERMISSION_DENIED { named: String };
        PathTooLong = "file-path-too-long", INVALID_INPUT;
        DiskFull = "file-disk-full", WRITE_FAILED { named: String };
        DiskQuotaExhausted = "file-disk-quota-exhausted", QUOTA_EXCEEDED { named: String };
        MaximumFileSize = "file-maximum-file-size", WRITE_FAILED { named: String };
        TooManyOpenForReading = "file-too-many-open-for-reading", READ_FAILED;
        TooManyOpenForWriting = "file-too-many-open-for-writing", WRITE_FAILED;
        NotRead = "file-not-read", READ_FAILED { path: String };
        NotWritten = "file-not-written", WRITE_FAILED { path: String };
        NotFound = "file-not-found", FILE_NOT_FOUND { path: String };
        LinkLeavesWorkspace = "file-link-leaves-workspace", PATH_TRAVERSAL_BLOCKED { path: String };
        LinkToReservedName = "file-link-to-reserved-name", INVALID_INPUT {
            path: String, project_data_dir: String,
        };
        WorkspaceReplaced = "file-workspace-replaced", INVALID_WORKSPACE;
        IsADirectory = "file-is-a-directory", IS_A_DIRECTORY { path: String };
        NotADirectory = "file-not-a-directory", NOT_A_DIRECTORY { path: String };
        NotAFile = "file-not-a-file", NOT_A_FILE { path: String };
        AlreadyExists = "file-already-exists", FILE_EXISTS { path: String };
        Locked = "file-locked", FILE_BUSY { path: String };
        WorkspaceGone = "file-workspace-gone", FILE_NOT_FOUND;
        WorkspaceItself = "file-workspace-itself", INVALID_INPUT;
        TargetNotEmpty = "file-target-not-empty", DIRECTORY_NOT_EMPTY { path: String };
        OtherFileSystem = "file-other-file-system", WRITE_FAILED;
        MovedIntoItself = "file-moved-into-itself", INVALID_INPUT { path: String };
        NotText = "file-not-text", NOT_TEXT { path: String };
        TooLargeToRead = "file-too-large-to-read", FILE_TOO_LARGE {
            path: String, size: u64, limit: u64,
        };
        InvalidLines = "file-invalid-lines", INVALID_INPUT;
        InvalidMatchLimit = "file-invalid-match-limit", INVALID_INPUT { limit: u64, maximum: u64 };
        GlobsTooLong = "file-globs-too-long", INVALID_PATTERN { limit: usize };
        InvalidGlob = "file-invalid-glob", INVALID_PATTERN { error: String };
        EmptyPattern = "file-empty-pattern", INVALID_PATTERN;
        InvalidPattern = "file-invalid-pattern", INVALID_PATTERN { error: String };
        HashWithCreate = "file-hash-with-create", INVALID_INPUT;
        NotBase64 = "file-not-base64", INVALID_INPUT;
        QuotaUncountable = "file-quota-uncountable", QUOTA_EXCEEDED;
        QuotaExceeded = "file-quota-exceeded", QUOTA_EXCEEDED { limit: u64, used: u64, new: u64 };
    }
}

polis_core::refusal_table! {
    /// Refusals to bind a directory as a workspace.
    pub enum BindingRefusal {
        RecordedPathNotCanonical = "binding-recorded-path-not-canonical", INVALID_WORKSPACE;
        PathNotAbsolute = "binding-path-not-absolute", INVALID_WORKSPACE;
        PathNotUtf8 = "binding-path-not-utf8", INVALID_WORKSPACE;
        ParentAfterMissing = "binding-parent-after-missing", INVALID_WORKSPACE;
        SystemDirectory = "binding-system-directory", INVALID_WORKSPACE;
        InDataDirectory = "binding-in-data-directory", WORKSPACE_OVERLAPS;
        OverlapsOtherWorkspace = "binding-overlaps-other-workspace", WORKSPACE_OVERLAPS;
        OverlapsOtherProject = "binding-overlaps-other-project", WORKSPACE_OVERLAPS;
        OverlapsRegistry = "binding-overlaps-registry", WORKSPACE_OVERLAPS;
        NotADirectory = "binding-not-a-directory", NOT_A_DIRECTORY;
        NotWritable = "binding-not-writable", PERMISSION_DENIED;
        ComponentNotADirectory = "binding-component-not-a-directory", NOT_A_DIRECTORY;
        CannotOpen = "binding-cannot-open", INVALID_WORKSPACE;
    }
}

polis_core::refusal_table! {
    /// Refusals and failures of the sandbox.
    pub enum SandboxRefusal {
        TooWeak = "sandbox-too-weak", SANDBOX_UNAVAILABLE { reason: ListArg };
        InvalidPolicy = "sandbox-invalid-policy", INVALID_CONFIG { problem: String };
        NotStarted = "sandbox-not-started", COMMAND_FAILED { reason: Reason };
    }
}

polis_core::problem_table! {
    /// Problems of setting up a sandbox: a missing layer, or a step that failed.
    pub enum SandboxProblem {
        StepFailed = "sandbox-step-failed" { step: SandboxStep, error: String };
        StepUnavailable = "sandbox-step-unavailable" { step: SandboxStep, error: String };
        NoLandlock = "sandbox-no-landlock";
        LandlockTooOld = "sandbox-landlock-too-old";
        LoopbackWithoutNamespace = "sandbox-loopback-without-namespace";
        NoFilter = "sandbox-no-filter";
        ContainsProject = "sandbox-contains-project";
        OtherOwner = "sandbox-other-owner" { user: u32 };
        ParentInaccessible = "sandbox-parent-inaccessible" { user: u32 };
        CommandHasNul = "sandbox-command-has-nul";
        NoControlGroups = "sandbox-no-control-groups";
        NoGroupDirectory = "sandbox-no-group-directory";
        GroupNotCreated = "sandbox-group-not-created" { error: String };
    }
}

polis_core::phrase_table! {
    /// Steps of setting up a sandbox, in words.
    pub enum SandboxStep {
        Session = "sandbox-step-session";
        User = "sandbox-step-user";
        Hide = "sandbox-step-hide";
        Copy = "sandbox-step-copy";
        Root = "sandbox-step-root";
        Fixture = "sandbox-step-fixture";
        Attributes = "sandbox-step-attributes";
        Attach = "sandbox-step-attach";
        Tmp = "sandbox-step-tmp";
        Proc = "sandbox-step-proc";
        Pivot = "sandbox-step-pivot";
        Name = "sandbox-step-name";
        Loopback = "sandbox-step-loopback";
        Directory = "sandbox-step-directory";
        Privileges = "sandbox-step-privileges";
        Capabilities = "sandbox-step-capabilities";
        Adoption = "sandbox-step-adoption";
        Start = "sandbox-step-start";
        Descriptors = "sandbox-step-descriptors";
        Limits = "sandbox-step-limits";
        Landlock = "sandbox-step-landlock";
        Seccomp = "sandbox-step-seccomp";
        Execute = "sandbox-step-execute";
        Watch = "sandbox-step-watch";
        Namespaces = "sandbox-step-namespaces";
        Mount = "sandbox-step-mount";
        ScratchDirectory = "sandbox-step-scratch-directory";
        FileOwner = "sandbox-step-file-owner";
        ControlGroup = "sandbox-step-control-group";
    }
}
