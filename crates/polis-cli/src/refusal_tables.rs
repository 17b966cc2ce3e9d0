//! Refusals of this crate: their messages, codes and arguments.

use polis_core::refusal::Reason;

/// Codes of the project, its configuration and its models, which only the command line opens.
#[derive(Debug)]
pub enum CliCode {}

polis_core::refusal_codes! {
    CliCode {
        /// The permissions file is invalid.
        INVALID_RBAC = "invalid_rbac", Invalid;
        /// The project was not created by this user on this machine, or is inside an agent's workspace.
        NOT_TRUSTED = "not_trusted", Forbidden;
        /// No such team template.
        TEAM_NOT_FOUND = "team_not_found", NotFound;
        /// No model is configured, or none has the given name.
        MODEL_NOT_CONFIGURED = "model_not_configured", Invalid;
    }
}

polis_core::refusal_table! {
    /// Refusals about the project directory, its trust, its configuration and its team templates.
    pub enum ProjectRefusal {
        NotCreatedHere = "project-not-created-here", CliCode::NOT_TRUSTED {
            project: String, project_data_dir: String,
        };
        InOtherProjectData = "project-in-other-project-data", CliCode::NOT_TRUSTED { project: String };
        InAgentWorkspace = "project-in-agent-workspace", CliCode::NOT_TRUSTED {
            project: String, owner: String, workspace: String,
        };
        GitUnreadable = "project-git-unreadable", CliCode::NOT_TRUSTED {
            project: String, project_data_dir: String,
        };
        ChangedDuringGit = "project-changed-during-git", CliCode::NOT_TRUSTED { project: String };
        TrackedAndChanged = "project-tracked-and-changed", CliCode::NOT_TRUSTED {
            project: String, files: String,
        };
        TrackedByGit = "project-tracked-by-git", CliCode::NOT_TRUSTED {
            name: String, project: String, project_data_dir: String,
        };
        NothingToTrust = "project-nothing-to-trust", NOT_INITIALIZED;
        CommandStillRuns = "project-command-still-runs", INVALID_INPUT;
        NotAWorkspace = "project-not-a-workspace", INVALID_INPUT;
        NoDatabase = "project-no-database", NOT_INITIALIZED { data_dir_name: String };
        InvalidStore = "project-invalid-store", INVALID_INPUT;
        ConfigLine = "project-config-line", INVALID_CONFIG {
            config_file: String, line: String, reason: Reason,
        };
        ConfigUnreadable = "project-config-unreadable", INVALID_CONFIG { config_file: String };
        RbacUnreadable = "project-rbac-unreadable", CliCode::INVALID_RBAC { rbac_file: String };
        RbacLine = "project-rbac-line", CliCode::INVALID_RBAC {
            rbac_file: String, line: String, reason: Reason,
        };
        TeamFile = "project-team-file", INVALID_CONFIG {
            teams_dir: String, team: String, file: String, reason: String, detail: String,
        };
        NoTeam = "project-no-team", CliCode::TEAM_NOT_FOUND { name: String, names: String, teams_dir: String };
        NoBlackboard = "project-no-blackboard", FILE_NOT_FOUND;
        TaskDirMissing = "project-task-dir-missing", INVALID_INPUT;
        TrustRecordNotWritable = "project-trust-record-not-writable", STORE_READ_ONLY {
            state_dir_variable: String,
        };
        TeamFilesWithoutProject = "project-team-files-without-project", INVALID_INPUT;
        GitWouldCommitData = "project-git-would-commit-data", INVALID_INPUT;
        OpenedOnSecondAttempt = "project-opened-on-second-attempt", INVALID_INPUT;
        MirrorDiffers = "project-mirror-differs", INVALID_INPUT { first: String };
        DatabaseDamaged = "project-database-damaged", INVALID_INPUT { first: String };
        DirectoryNotWritable = "project-directory-not-writable", INVALID_INPUT;
        SandboxTooWeak = "project-sandbox-too-weak", INVALID_INPUT {
            tier: String, required: String, role_name: String,
        };
        NotFoundHere = "project-not-found-here", NOT_INITIALIZED;
        NotFoundThere = "project-not-found-there", NOT_INITIALIZED;
        NoProjectOrBlackboard = "project-no-project-or-blackboard", NOT_INITIALIZED {
            problem: Reason,
        };
        CreateDenied = "project-create-denied", STORE_READ_ONLY;
        CreateFull = "project-create-full", STORE_FULL;
        CreateFailed = "project-create-failed", INVALID_INPUT;
        TaskDirFull = "project-task-dir-full", STORE_FULL;
        TaskDirDenied = "project-task-dir-denied", STORE_READ_ONLY;
        TaskDirFailed = "project-task-dir-failed", INVALID_INPUT;
    }
}

polis_core::refusal_table! {
    /// Refusals of commands of the command line and of their arguments.
    pub enum CommandRefusal {
        PersonIsNoAgent = "command-person-is-no-agent", AGENT_NOT_FOUND;
        ContentNotUtf8 = "command-content-not-utf8", NOT_UTF8;
        ContentUnreadable = "command-content-unreadable", INVALID_INPUT { reason: String };
        NotJson = "command-not-json", INVALID_INPUT { error: Reason };
        InvalidJson = "command-invalid-json", INVALID_INPUT { error: Reason };
        NotATime = "command-not-a-time", INVALID_INPUT { text: String };
        ManPagesNotWritten = "command-man-pages-not-written", INVALID_INPUT;
        LonelyTlsSetting = "command-lonely-tls-setting", INVALID_INPUT;
        StdinNotUtf8 = "command-stdin-not-utf8", INVALID_INPUT;
        InvalidDuration = "command-invalid-duration", INVALID_INPUT { message: Reason };
        InvalidLineRange = "command-invalid-line-range", INVALID_INPUT;
        NoJsonTerminal = "command-no-json-terminal", INVALID_INPUT;
        NoTab = "command-no-tab", INVALID_INPUT { tab: String };
        OnlyPersonSignsIn = "command-only-person-signs-in", INVALID_INPUT;
        TimeoutNotANumber = "command-timeout-not-a-number", INVALID_TIMEOUT;
        CommandNotUtf8 = "command-command-not-utf8", INVALID_COMMAND;
        DemoTimeout = "command-demo-timeout", STORE_BUSY;
        DemoNotWritable = "command-demo-not-writable", STORE_READ_ONLY;
        DemoUnconfined = "command-demo-unconfined", SANDBOX_UNAVAILABLE;
        TooManyDemos = "command-too-many-demos", INVALID_INPUT { demo_dir: String };
        RunStopped = "command-run-stopped", RUN_NOT_FOUND { run: String };
        RequirementEmpty = "command-requirement-empty", INVALID_INPUT;
        RequirementWithResume = "command-requirement-with-resume", INVALID_INPUT;
        RequirementMissing = "command-requirement-missing", INVALID_INPUT;
        DetachWithResume = "command-detach-with-resume", INVALID_INPUT;
        NoPendingCall = "command-no-pending-call", APPROVAL_NOT_FOUND;
        SeveralPendingCalls = "command-several-pending-calls", INVALID_INPUT;
        InvalidMoney = "command-invalid-money", INVALID_INPUT;
        NoRunYet = "command-no-run-yet", RUN_NOT_FOUND;
        TextNotSendable = "command-text-not-sendable", INVALID_TEXT;
        SeveralActiveRuns = "command-several-active-runs", INVALID_INPUT;
        MetadataNotJson = "command-metadata-not-json", INVALID_METADATA { error: Reason };
        DirectoryNameInvalid = "command-directory-name-invalid", INVALID_WORKSPACE;
        OutputNotWritten = "command-output-not-written", INTERNAL;
        BudgetWithoutPrice = "command-budget-without-price", INVALID_INPUT;
        RecordingNotWritable = "command-recording-not-writable", INVALID_INPUT;
        ContentTooLong = "command-content-too-long", FILE_TOO_LARGE { mebibytes: u64 };
        Usage = "command-usage", INVALID_INPUT { message: String };
        AddressInUse = "command-address-in-use", INVALID_INPUT { address: String, free: String };
        AddressInUseBy = "command-address-in-use-by", INVALID_INPUT {
            address: String, program: String, pid: String, free: String,
        };
        SocketInUse = "command-socket-in-use", INVALID_INPUT { path: String };
        SocketInUseBy = "command-socket-in-use-by", INVALID_INPUT {
            path: String, program: String, pid: String,
        };
        CannotListen = "command-cannot-listen", INVALID_INPUT { target: String, problem: String };
        RecordingUnreadable = "command-recording-unreadable", CliCode::MODEL_NOT_CONFIGURED;
        NoModel = "command-no-model", CliCode::MODEL_NOT_CONFIGURED;
        UnusableUrl = "command-unusable-url", CliCode::MODEL_NOT_CONFIGURED { variable: String };
        KeyVariableMissing = "command-key-variable-missing", CliCode::MODEL_NOT_CONFIGURED {
            endpoint: String, variable: String, name: String,
        };
        KeyFileUnreadable = "command-key-file-unreadable", CliCode::MODEL_NOT_CONFIGURED {
            endpoint: String, name: String,
        };
    }
}

polis_core::refusal_table! {
    /// Refusals of `polis mcp` and of writing the configuration of MCP clients.
    pub enum InstallRefusal {
        AgentMissing = "install-agent-missing", INVALID_INPUT;
        PathNotUtf8 = "install-path-not-utf8", INVALID_INPUT { what: Reason };
        NoHomeDirectory = "install-no-home-directory", INVALID_INPUT;
        InvalidFile = "install-invalid-file", INVALID_CONFIG {
            file: String, line: Reason, reason: Reason, client: String,
        };
        OtherServer = "install-other-server", INVALID_CONFIG {
            file: String, server_name: String, client: String,
        };
        NotAClientAgent = "install-not-a-client-agent", INVALID_INPUT { agent: String };
        NoProjectScope = "install-no-project-scope", INVALID_INPUT { client: String };
        StoreByFlag = "install-store-by-flag", INVALID_INPUT;
        NoProjectForClient = "install-no-project-for-client", INVALID_INPUT;
        NoAllowedTools = "install-no-allowed-tools", INVALID_INPUT {
            client: String, alternative: String,
        };
        ExpandedPath = "install-expanded-path", INVALID_INPUT { mark: String, client: String };
        KeepsChanging = "install-keeps-changing", FILE_BUSY { file: String };
        SessionNamesTaken = "install-session-names-taken", HELD_BY_OTHER_SESSION { agent: String };
        FileUnreadable = "install-file-unreadable", READ_FAILED { file: String };
        AgentRetired = "install-agent-retired", AGENT_EXISTS { agent: String };
        AgentRegisteredAs = "install-agent-registered-as", AGENT_EXISTS {
            agent: String, role: String,
        };
        FileIsNoFile = "install-file-is-no-file", NOT_A_FILE { file: String };
        FileTooLarge = "install-file-too-large", FILE_TOO_LARGE { file: String, mebibytes: u64 };
        FileNotText = "install-file-not-text", NOT_TEXT { file: String };
        FileReadOnly = "install-file-read-only", WRITE_FAILED { file: String };
        FileSymlinkLoop = "install-file-symlink-loop", NOT_A_FILE { file: String };
        TooManyBackups = "install-too-many-backups", FILE_EXISTS { file: String };
        DiskFull = "install-disk-full", STORE_FULL { file: String };
        FileNotWritable = "install-file-not-writable", WRITE_FAILED { file: String };
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
