//! Refusal tables of this crate, for files and the sandbox: the message id, code and arguments of each refusal.
//! The texts of the messages are in `polis-i18n/refusals`.

use polis_core::refusal::{ListArg, Reason, ReasonArg};

polis_core::refusal_table! {
    /// Refusals and failures of file operations in a workspace.
    pub enum FileRefusal {
        HashMismatch = "file-hash-mismatch", HashMismatch { path: String };
        InvalidHash = "file-invalid-hash", InvalidInput;
        DirectoryNotEmpty = "file-directory-not-empty", DirectoryNotEmpty { path: String };
        PartlyDeleted = "file-partly-deleted", WriteFailed { path: String, next: ReasonArg };
        TextNotUnique = "file-text-not-unique", TextNotUnique { count: usize, path: String };
        WrittenConcurrently = "file-written-concurrently", FileBusy { path: String };
        TooLargeToEdit = "file-too-large-to-edit", FileTooLarge { path: String, limit: u64 };
        EditTooLarge = "file-edit-too-large", FileTooLarge { path: String, limit: u64 };
        TextNotFound = "file-text-not-found", TextNotFound { path: String };
        TextNotFoundCrLf = "file-text-not-found-cr-lf", TextNotFound { path: String };
        EmptyOldText = "file-empty-old-text", InvalidInput;
        LinkLoop = "file-link-loop", NotAFile { named: String };
        AccessDenied = "file-access-denied", PermissionDenied { named: String };
        ReadOnlyFileSystem = "file-read-only-file-system", PermissionDenied { named: String };
        PathTooLong = "file-path-too-long", InvalidInput;
        DiskFull = "file-disk-full", WriteFailed { named: String };
        DiskQuotaExhausted = "file-disk-quota-exhausted", QuotaExceeded { named: String };
        MaximumFileSize = "file-maximum-file-size", WriteFailed { named: String };
        TooManyOpenForReading = "file-too-many-open-for-reading", ReadFailed;
        TooManyOpenForWriting = "file-too-many-open-for-writing", WriteFailed;
        NotRead = "file-not-read", ReadFailed { path: String };
        NotWritten = "file-not-written", WriteFailed { path: String };
        NotFound = "file-not-found", FileNotFound { path: String };
        LinkLeavesWorkspace = "file-link-leaves-workspace", PathTraversalBlocked { path: String };
        LinkToReservedName = "file-link-to-reserved-name", InvalidInput {
            path: String, project_data_dir: String,
        };
        WorkspaceReplaced = "file-workspace-replaced", InvalidWorkspace;
        IsADirectory = "file-is-a-directory", IsADirectory { path: String };
        NotADirectory = "file-not-a-directory", NotADirectory { path: String };
        NotAFile = "file-not-a-file", NotAFile { path: String };
        AlreadyExists = "file-already-exists", FileExists { path: String };
        Locked = "file-locked", FileBusy { path: String };
        WorkspaceGone = "file-workspace-gone", FileNotFound;
        WorkspaceItself = "file-workspace-itself", InvalidInput;
        TargetNotEmpty = "file-target-not-empty", DirectoryNotEmpty { path: String };
        OtherFileSystem = "file-other-file-system", WriteFailed;
        MovedIntoItself = "file-moved-into-itself", InvalidInput { path: String };
        NotText = "file-not-text", NotText { path: String };
        TooLargeToRead = "file-too-large-to-read", FileTooLarge {
            path: String, size: u64, limit: u64,
        };
        InvalidLines = "file-invalid-lines", InvalidInput;
        InvalidMatchLimit = "file-invalid-match-limit", InvalidInput { limit: u64, maximum: u64 };
        GlobsTooLong = "file-globs-too-long", InvalidPattern { limit: usize };
        InvalidGlob = "file-invalid-glob", InvalidPattern { error: String };
        EmptyPattern = "file-empty-pattern", InvalidPattern;
        InvalidPattern = "file-invalid-pattern", InvalidPattern { error: String };
        HashWithCreate = "file-hash-with-create", InvalidInput;
        NotBase64 = "file-not-base64", InvalidInput;
        QuotaUncountable = "file-quota-uncountable", QuotaExceeded;
        QuotaExceeded = "file-quota-exceeded", QuotaExceeded { limit: u64, used: u64, new: u64 };
    }
}

polis_core::refusal_table! {
    /// Refusals to bind a directory as a workspace.
    pub enum BindingRefusal {
        RecordedPathNotCanonical = "binding-recorded-path-not-canonical", InvalidWorkspace;
        PathNotAbsolute = "binding-path-not-absolute", InvalidWorkspace;
        PathNotUtf8 = "binding-path-not-utf8", InvalidWorkspace;
        ParentAfterMissing = "binding-parent-after-missing", InvalidWorkspace;
        SystemDirectory = "binding-system-directory", InvalidWorkspace;
        InDataDirectory = "binding-in-data-directory", WorkspaceOverlaps;
        OverlapsOtherWorkspace = "binding-overlaps-other-workspace", WorkspaceOverlaps;
        OverlapsOtherProject = "binding-overlaps-other-project", WorkspaceOverlaps;
        OverlapsRegistry = "binding-overlaps-registry", WorkspaceOverlaps;
        NotADirectory = "binding-not-a-directory", NotADirectory;
        NotWritable = "binding-not-writable", PermissionDenied;
        ComponentNotADirectory = "binding-component-not-a-directory", NotADirectory;
        CannotOpen = "binding-cannot-open", InvalidWorkspace;
    }
}

polis_core::refusal_table! {
    /// Refusals and failures of the sandbox.
    pub enum SandboxRefusal {
        TooWeak = "sandbox-too-weak", SandboxUnavailable { reason: ListArg };
        InvalidPolicy = "sandbox-invalid-policy", InvalidConfig { problem: String };
        NotStarted = "sandbox-not-started", CommandFailed { reason: Reason };
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
