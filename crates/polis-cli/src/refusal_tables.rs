//! Refusals of this crate: their messages, codes and arguments.

use polis_core::refusal::Reason;

polis_core::refusal_table! {
    /// Refusals about the project directory, its trust, its configuration and its team templates.
    pub enum ProjectRefusal {
        NotCreatedHere = "project-not-created-here", NotTrusted {
            project: String, project_data_dir: String,
        };
        InOtherProjectData = "project-in-other-project-data", NotTrusted { project: String };
        InAgentWorkspace = "project-in-agent-workspace", NotTrusted {
            project: String, owner: String, workspace: String,
        };
        GitUnreadable = "project-git-unreadable", NotTrusted {
            project: String, project_data_dir: String,
        };
        ChangedDuringGit = "project-changed-during-git", NotTrusted { project: String };
        TrackedAndChanged = "project-tracked-and-changed", NotTrusted {
            project: String, files: String,
        };
        TrackedByGit = "project-tracked-by-git", NotTrusted {
            name: String, project: String, project_data_dir: String,
        };
        NothingToTrust = "project-nothing-to-trust", NotInitialized;
        CommandStillRuns = "project-command-still-runs", InvalidInput;
        NotAWorkspace = "project-not-a-workspace", InvalidInput;
        NoDatabase = "project-no-database", NotInitialized { data_dir_name: String };
        InvalidStore = "project-invalid-store", InvalidInput;
        ConfigLine = "project-config-line", InvalidConfig {
            config_file: String, line: String, reason: Reason,
        };
        ConfigUnreadable = "project-config-unreadable", InvalidConfig { config_file: String };
        RbacUnreadable = "project-rbac-unreadable", InvalidRbac { rbac_file: String };
        RbacLine = "project-rbac-line", InvalidRbac {
            rbac_file: String, line: String, reason: Reason,
        };
        TeamFile = "project-team-file", InvalidConfig {
            teams_dir: String, team: String, file: String, reason: String, detail: String,
        };
        NoTeam = "project-no-team", TeamNotFound { name: String, names: String, teams_dir: String };
        NoBlackboard = "project-no-blackboard", FileNotFound;
        TaskDirMissing = "project-task-dir-missing", InvalidInput;
        TrustRecordNotWritable = "project-trust-record-not-writable", StoreReadOnly {
            state_dir_variable: String,
        };
        TeamFilesWithoutProject = "project-team-files-without-project", InvalidInput;
        GitWouldCommitData = "project-git-would-commit-data", InvalidInput;
        OpenedOnSecondAttempt = "project-opened-on-second-attempt", InvalidInput;
        MirrorDiffers = "project-mirror-differs", InvalidInput { first: String };
        DatabaseDamaged = "project-database-damaged", InvalidInput { first: String };
        DirectoryNotWritable = "project-directory-not-writable", InvalidInput;
        SandboxTooWeak = "project-sandbox-too-weak", InvalidInput {
            tier: String, required: String, role_name: String,
        };
        NotFoundHere = "project-not-found-here", NotInitialized;
        NotFoundThere = "project-not-found-there", NotInitialized;
        NoProjectOrBlackboard = "project-no-project-or-blackboard", NotInitialized {
            problem: Reason,
        };
        CreateDenied = "project-create-denied", StoreReadOnly;
        CreateFull = "project-create-full", StoreFull;
        CreateFailed = "project-create-failed", InvalidInput;
        TaskDirFull = "project-task-dir-full", StoreFull;
        TaskDirDenied = "project-task-dir-denied", StoreReadOnly;
        TaskDirFailed = "project-task-dir-failed", InvalidInput;
    }
}

polis_core::refusal_table! {
    /// Refusals of commands of the command line and of their arguments.
    pub enum CommandRefusal {
        PersonIsNoAgent = "command-person-is-no-agent", AgentNotFound;
        ContentNotUtf8 = "command-content-not-utf8", NotUtf8;
        ContentUnreadable = "command-content-unreadable", InvalidInput { reason: String };
        NotJson = "command-not-json", InvalidInput { error: Reason };
        InvalidJson = "command-invalid-json", InvalidInput { error: Reason };
        NotATime = "command-not-a-time", InvalidInput { text: String };
        ManPagesNotWritten = "command-man-pages-not-written", InvalidInput;
        LonelyTlsSetting = "command-lonely-tls-setting", InvalidInput;
        StdinNotUtf8 = "command-stdin-not-utf8", InvalidInput;
        InvalidDuration = "command-invalid-duration", InvalidInput { message: Reason };
        InvalidLineRange = "command-invalid-line-range", InvalidInput;
        NoJsonTerminal = "command-no-json-terminal", InvalidInput;
        NoTab = "command-no-tab", InvalidInput { tab: String };
        OnlyPersonSignsIn = "command-only-person-signs-in", InvalidInput;
        TimeoutNotANumber = "command-timeout-not-a-number", InvalidTimeout;
        CommandNotUtf8 = "command-command-not-utf8", InvalidCommand;
        DemoTimeout = "command-demo-timeout", StoreBusy;
        DemoNotWritable = "command-demo-not-writable", StoreReadOnly;
        DemoUnconfined = "command-demo-unconfined", SandboxUnavailable;
        TooManyDemos = "command-too-many-demos", InvalidInput { demo_dir: String };
        RunStopped = "command-run-stopped", RunNotFound { run: String };
        RequirementEmpty = "command-requirement-empty", InvalidInput;
        RequirementWithResume = "command-requirement-with-resume", InvalidInput;
        RequirementMissing = "command-requirement-missing", InvalidInput;
        DetachWithResume = "command-detach-with-resume", InvalidInput;
        NoPendingCall = "command-no-pending-call", ApprovalNotFound;
        SeveralPendingCalls = "command-several-pending-calls", InvalidInput;
        InvalidMoney = "command-invalid-money", InvalidInput;
        NoRunYet = "command-no-run-yet", RunNotFound;
        TextNotSendable = "command-text-not-sendable", InvalidText;
        SeveralActiveRuns = "command-several-active-runs", InvalidInput;
        MetadataNotJson = "command-metadata-not-json", InvalidMetadata { error: Reason };
        DirectoryNameInvalid = "command-directory-name-invalid", InvalidWorkspace;
        OutputNotWritten = "command-output-not-written", Internal;
        BudgetWithoutPrice = "command-budget-without-price", InvalidInput;
        RecordingNotWritable = "command-recording-not-writable", InvalidInput;
        ContentTooLong = "command-content-too-long", FileTooLarge { mebibytes: u64 };
        Usage = "command-usage", InvalidInput { message: String };
        AddressInUse = "command-address-in-use", InvalidInput { address: String, free: String };
        AddressInUseBy = "command-address-in-use-by", InvalidInput {
            address: String, program: String, pid: String, free: String,
        };
        SocketInUse = "command-socket-in-use", InvalidInput { path: String };
        SocketInUseBy = "command-socket-in-use-by", InvalidInput {
            path: String, program: String, pid: String,
        };
        CannotListen = "command-cannot-listen", InvalidInput { target: String, problem: String };
        RecordingUnreadable = "command-recording-unreadable", ModelNotConfigured;
        NoModel = "command-no-model", ModelNotConfigured;
        UnusableUrl = "command-unusable-url", ModelNotConfigured { variable: String };
        KeyVariableMissing = "command-key-variable-missing", ModelNotConfigured {
            endpoint: String, variable: String, name: String,
        };
        KeyFileUnreadable = "command-key-file-unreadable", ModelNotConfigured {
            endpoint: String, name: String,
        };
    }
}

polis_core::refusal_table! {
    /// Refusals of `polis mcp` and of writing the configuration of MCP clients.
    pub enum InstallRefusal {
        AgentMissing = "install-agent-missing", InvalidInput;
        PathNotUtf8 = "install-path-not-utf8", InvalidInput { what: Reason };
        NoHomeDirectory = "install-no-home-directory", InvalidInput;
        InvalidFile = "install-invalid-file", InvalidConfig {
            file: String, line: Reason, reason: Reason, client: String,
        };
        OtherServer = "install-other-server", InvalidConfig {
            file: String, server_name: String, client: String,
        };
        NotAClientAgent = "install-not-a-client-agent", InvalidInput { agent: String };
        NoProjectScope = "install-no-project-scope", InvalidInput { client: String };
        StoreByFlag = "install-store-by-flag", InvalidInput;
        NoProjectForClient = "install-no-project-for-client", InvalidInput;
        NoAllowedTools = "install-no-allowed-tools", InvalidInput {
            client: String, alternative: String,
        };
        ExpandedPath = "install-expanded-path", InvalidInput { mark: String, client: String };
        KeepsChanging = "install-keeps-changing", FileBusy { file: String };
        SessionNamesTaken = "install-session-names-taken", HeldByOtherSession { agent: String };
        FileUnreadable = "install-file-unreadable", ReadFailed { file: String };
        AgentRetired = "install-agent-retired", AgentExists { agent: String };
        AgentRegisteredAs = "install-agent-registered-as", AgentExists {
            agent: String, role: String,
        };
        FileIsNoFile = "install-file-is-no-file", NotAFile { file: String };
        FileTooLarge = "install-file-too-large", FileTooLarge { file: String, mebibytes: u64 };
        FileNotText = "install-file-not-text", NotText { file: String };
        FileReadOnly = "install-file-read-only", WriteFailed { file: String };
        FileSymlinkLoop = "install-file-symlink-loop", NotAFile { file: String };
        TooManyBackups = "install-too-many-backups", FileExists { file: String };
        DiskFull = "install-disk-full", StoreFull { file: String };
        FileNotWritable = "install-file-not-writable", WriteFailed { file: String };
    }
}

polis_core::problem_table! {
    /// Parts of the refusals of [`InstallRefusal`]: paths, and the position of an error.
    pub enum InstallPart {
        ProjectDirectory = "install-project-directory";
        ProgramPath = "install-program-path";
        Line = "install-line" { line: usize };
        NoLine = "install-no-line";
    }
}

polis_core::problem_table! {
    /// Problems of a client's file that cannot be edited.
    pub enum ClientFileProblem {
        JsonSyntax = "client-file-json-syntax" { error: String };
        UnsupportedLayout = "client-file-unsupported-layout";
        ByteOrderMark = "client-file-byte-order-mark";
        Comment = "client-file-comment";
        TrailingComma = "client-file-trailing-comma";
        UnclosedComment = "client-file-unclosed-comment";
        FileNotAnObject = "client-file-not-an-object";
        KeyNotAnObject = "client-file-key-not-an-object" { key: String };
        KeyNotATable = "client-file-key-not-a-table" { key: String };
        KeyIsInlineTable = "client-file-key-is-inline-table" { key: String };
        SecondDocument = "client-file-second-document";
        FileNotAMapping = "client-file-not-a-mapping";
        KeyNotAMapping = "client-file-key-not-a-mapping" { key: String };
    }
}

polis_core::problem_table! {
    /// Problems of a YAML text.
    pub enum YamlProblem {
        Syntax = "yaml-syntax" { error: String };
        NestedTooDeeply = "yaml-nested-too-deeply";
        TooManyAliases = "yaml-too-many-aliases";
    }
}

polis_core::problem_table! {
    /// Problems of a value or a key in the configuration.
    pub enum ConfigProblem {
        Syntax = "config-syntax" { error: String };
        Key = "config-key" { key: String, problem: Reason };
        UnknownKey = "config-unknown-key" { suggestion: Reason };
        UnknownNamedKey = "config-unknown-named-key" { key: String, suggestion: Reason };
        DidYouMean = "config-did-you-mean" { name: String };
        DidYouMeanOneOf = "config-did-you-mean-one-of" { name: String };
        NoSuggestion = "config-no-suggestion";
        KeyIsNotWritten = "config-key-is-not-written";
        ExpectedBool = "config-expected-bool" { found: Reason };
        ExpectedCount = "config-expected-count" { limit: u32 };
        ExpectedString = "config-expected-string" { found: Reason };
        ExpectedList = "config-expected-list" { found: Reason };
        ExpectedTable = "config-expected-table" { found: Reason };
        ExpectedKeyTable = "config-expected-key-table" { found: Reason };
        ExpectedNumber = "config-expected-number" { found: Reason };
        ExpectedNumberNotText = "config-expected-number-not-text" { text: String };
        ExpectedAmount = "config-expected-amount";
        ExpectedNonNegative = "config-expected-non-negative";
        ExpectedTemperature = "config-expected-temperature";
        ExpectedTokens = "config-expected-tokens";
        ExpectedWholeNumber = "config-expected-whole-number";
        ExpectedStoreUrl = "config-expected-store-url";
        ExpectedHttpUrl = "config-expected-http-url";
        ExpectedBareUrl = "config-expected-bare-url";
        ExpectedName = "config-expected-name";
        ExpectedKeyVariable = "config-expected-key-variable";
        ExpectedLongDuration = "config-expected-long-duration";
        ExpectedPositiveDuration = "config-expected-positive-duration";
        NotOneOf = "config-not-one-of" { value: String, names: String, suggestion: Reason };
        NotARole = "config-not-a-role" { name: String };
        NotAHost = "config-not-a-host" { name: String };
        NotAnOrigin = "config-not-an-origin" { name: String };
        NotASize = "config-not-a-size" { text: String };
        NotAnAbsolutePath = "config-not-an-absolute-path" { path: String };
        NotAVariable = "config-not-a-variable" { name: String };
        InvalidPattern = "config-invalid-pattern" { writer: String, error: String };
        NulInValue = "config-nul-in-value" { name: String };
        OutOfRange = "config-out-of-range" { number: String };
        TooLarge = "config-too-large";
        TooSmall = "config-too-small" { minimum: u64 };
        TwoKeySources = "config-two-key-sources" { endpoint: String };
        NoDefaultEndpoint = "config-no-default-endpoint" { endpoint: String, suggestion: Reason };
    }
}

polis_core::problem_table! {
    /// Problems of the permissions file.
    pub enum RbacProblem {
        SecondDocument = "rbac-second-document";
        UnknownMode = "rbac-unknown-mode" { mode: String };
        NoTypeList = "rbac-no-type-list";
        NotAMapping = "rbac-not-a-mapping" { part: Reason };
        NotAList = "rbac-not-a-list" { part: Reason };
        NotAString = "rbac-not-a-string" { part: Reason };
        UnknownName = "rbac-unknown-name" { part: Reason, name: String, suggestion: Reason };
        File = "rbac-file";
        AKey = "rbac-a-key";
        Mode = "rbac-mode";
        Roles = "rbac-roles";
        ARole = "rbac-a-role";
        APermission = "rbac-a-permission";
        Permissions = "rbac-permissions";
        TypeRoles = "rbac-type-roles";
        TypesOfRoles = "rbac-task-type-roles";
        ATaskType = "rbac-a-task-type";
        ClaimedTypes = "rbac-claimed-types";
        Key = "rbac-key";
        Permission = "rbac-permission";
        PermissionWithList = "rbac-permission-with-list";
        Role = "rbac-role";
        TaskType = "rbac-task-type";
    }
}

polis_core::problem_table! {
    /// Types of TOML values.
    pub enum TomlType {
        String = "toml-string";
        Integer = "toml-integer";
        Float = "toml-float";
        Boolean = "toml-boolean";
        Datetime = "toml-datetime";
        Array = "toml-array";
        InlineTable = "toml-inline-table";
        Table = "toml-table";
        ArrayOfTables = "toml-array-of-tables";
        Nothing = "toml-none";
    }
}
