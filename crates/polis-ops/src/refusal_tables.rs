//! Refusal tables of this crate, for operations, tool calls and ports: the message id, code and arguments of each
//! refusal. The texts of the messages are in `polis-i18n/refusals`.

use polis_core::AgentId;
use polis_core::refusal::{ListArg, Reason};

polis_core::refusal_table! {
    /// Refusals of operations, beyond those of the rules.
    pub enum OperationRefusal {
        ResponseUnknown = "operation-response-unknown", OutcomeUnknown;
        KeyReused = "operation-key-reused", IdempotencyKeyReused;
        InvalidKey = "operation-invalid-key", InvalidInput;
        BoardLogDamaged = "operation-board-log-damaged", StoreCorrupt { board: String };
        BoardVersionNotFound = "operation-board-version-not-found", VersionNotFound {
            board: String, version: u64,
        };
        NoProjectDirectory = "operation-no-project-directory", NotInitialized;
        AgentNotRegistered = "operation-agent-not-registered", AgentNotFound { id: String };
        BlackboardFileNotFound = "operation-blackboard-file-not-found", FileNotFound {
            path: String,
        };
        BlackboardFileLocked = "operation-blackboard-file-locked", BoardLocked { path: String };
        DecisionFieldMissing = "operation-decision-field-missing", InvalidInput { field: String };
        DecisionFieldInapplicable = "operation-decision-field-inapplicable", InvalidInput {
            field: String,
        };
        InvalidBoardCursor = "operation-invalid-board-cursor", InvalidInput { cursor: String };
        NothingToAppend = "operation-nothing-to-append", InvalidInput;
        WebhookDamaged = "operation-webhook-damaged", StoreCorrupt;
        ArtifactDamaged = "operation-artifact-damaged", StoreCorrupt;
        PersonMailbox = "operation-person-mailbox", PermissionDenied;
        TooManyRead = "operation-too-many-read", InvalidInput { max_page_size: u32 };
        BudgetExhausted = "operation-budget-exhausted", BudgetExhausted {
            owner: String, resource: String, amount: String,
        };
        TurnDamaged = "operation-turn-damaged", StoreCorrupt;
        SocietyRecordDamaged = "operation-society-record-damaged", StoreCorrupt;
        RootOfStoppedRun = "operation-root-of-stopped-run", RecipientNotFound { id: String };
        NoRunNamed = "operation-no-run-named", RunNotFound;
        NotAMember = "operation-not-a-member", AgentNotFound { agent: String };
        NeitherMemberNorRun = "operation-neither-member-nor-run", InvalidInput;
        UnregisteredCannotHire = "operation-unregistered-cannot-hire", InvalidSupervisor {
            agent: String,
        };
        NoRoleGiven = "operation-no-role-given", InvalidBrief;
        RunNameTaken = "operation-run-name-taken", InvalidInput { id: String };
        NoReadyTask = "operation-no-ready-task", NothingToClaim { agent: AgentId, role: String };
        NoReadyTaskForStranger = "operation-no-ready-task-for-stranger", NothingToClaim {
            agent: AgentId, roles: Vec<String>,
        };
        FileChangedDuringImport = "operation-file-changed-during-import", InvalidInput {
            file: String, reason: Reason,
        };
        ImportFaults = "operation-import-faults", ImportFaults { count: usize, list: ListArg };
        SignInKeyDamaged = "operation-sign-in-key-damaged", StoreCorrupt;
        TokenDamaged = "operation-token-damaged", StoreCorrupt;
        CommandDamaged = "operation-command-damaged", StoreCorrupt;
        CommandNotFound = "operation-command-not-found", CommandNotFound { id: String };
        CommandCancelled = "operation-command-cancelled", CommandFailed;
        CommandTimeout = "operation-command-timeout", CommandTimeout { timeout_ms: u64 };
        OnlyRegisteredAgents = "operation-only-registered-agents", PermissionDenied { id: String };
        TooManyConflicts = "operation-too-many-conflicts", StoreBusy;
    }
}

polis_core::refusal_table! {
    /// Refusals of tool calls: unknown tools and invalid arguments.
    pub enum ToolRefusal {
        NotFound = "tool-not-found", ToolNotFound { name: String };
        InvalidParameters = "tool-invalid-parameters", InvalidInput {
            location: String, problem: Reason,
        };
        UnknownGroup = "tool-unknown-group", InvalidInput { name: String, groups: Vec<String> };
        UnknownName = "tool-unknown-name", InvalidInput { name: String };
        MisspeltParameter = "tool-misspelt-parameter", InvalidInput {
            name: String, parameter: String, suggestion: String,
        };
    }
}

polis_core::problem_table! {
    /// Problems of parameters, and parts of them.
    pub enum ParameterProblem {
        MissingField = "tool-missing-field" { name: String };
        UnknownField = "tool-unknown-field" { name: String, expected: Reason };
        UnknownVariant = "tool-unknown-variant" { name: String, expected: Reason };
        InvalidType = "tool-invalid-type" { found: Reason, expected: Reason };
        InvalidValue = "tool-invalid-value" { found: Reason, expected: Reason };
        BriefExpected = "tool-brief-expected";
        RecipientExpected = "tool-recipient-expected";
        TextsExpected = "tool-texts-expected";
        TimeExpected = "tool-time-expected";
        OneOf = "tool-one-of" { names: String };
        Either = "tool-either" { first: String, second: String };
        FoundKind = "tool-found-kind" { kind: String };
        FoundValue = "tool-found-value" { kind: String, value: String };
        ExpectedKind = "tool-expected-kind" { kind: String };
        ExpectedInteger = "tool-expected-integer" { name: String };
        Other = "tool-other-problem" { text: String };
    }
}

polis_core::problem_table! {
    /// Errors of the JSON reader about syntax.
    pub enum JsonProblem {
        At = "json-at" { problem: Reason, line: String, column: String };
        ListUnclosed = "json-list-unclosed";
        ObjectUnclosed = "json-object-unclosed";
        StringUnclosed = "json-string-unclosed";
        ValueMissing = "json-value-missing";
        ColonExpected = "json-colon-expected";
        ListEndExpected = "json-list-end-expected";
        ObjectEndExpected = "json-object-end-expected";
        WordExpected = "json-word-expected";
        ValueExpected = "json-value-expected";
        QuoteExpected = "json-quote-expected";
        InvalidEscape = "json-invalid-escape";
        InvalidNumber = "json-invalid-number";
        NumberOutOfRange = "json-number-out-of-range";
        InvalidCodePoint = "json-invalid-code-point";
        ControlCharacter = "json-control-character";
        KeyNotAString = "json-key-not-a-string";
        LoneSurrogate = "json-lone-surrogate";
        HexEscapeUnclosed = "json-hex-escape-unclosed";
        TrailingComma = "json-trailing-comma";
        TrailingCharacters = "json-trailing-characters";
        TooDeep = "json-too-deep";
    }
}

polis_core::refusal_table! {
    /// Failures of ports that have no message of their own.
    pub enum PortFailure {
        InternalError = "port-internal-error", Internal { activity: String };
    }
}
