//! Refusal tables of this crate, for operations, tool calls and ports: the message id, code and arguments of each
//! refusal. The texts of the messages are in `polis-i18n/refusals`.

use polis_core::AgentId;
use polis_core::refusal::{ListArg, Reason};

polis_core::refusal_table! {
    /// Refusals of operations, beyond those of the rules.
    pub enum OperationRefusal {
        ResponseUnknown = "operation-response-unknown", OUTCOME_UNKNOWN;
        KeyReused = "operation-key-reused", IDEMPOTENCY_KEY_REUSED;
        InvalidKey = "operation-invalid-key", INVALID_INPUT;
        BoardLogDamaged = "operation-board-log-damaged", STORE_CORRUPT { board: String };
        BoardVersionNotFound = "operation-board-version-not-found", VERSION_NOT_FOUND {
            board: String, version: u64,
        };
        NoProjectDirectory = "operation-no-project-directory", NOT_INITIALIZED;
        AgentNotRegistered = "operation-agent-not-registered", AGENT_NOT_FOUND { id: String };
        BlackboardFileNotFound = "operation-blackboard-file-not-found", FILE_NOT_FOUND {
            path: String,
        };
        BlackboardFileLocked = "operation-blackboard-file-locked", BOARD_LOCKED { path: String };
        DecisionFieldMissing = "operation-decision-field-missing", INVALID_INPUT { field: String };
        DecisionFieldInapplicable = "operation-decision-field-inapplicable", INVALID_INPUT {
            field: String,
        };
        InvalidBoardCursor = "operation-invalid-board-cursor", INVALID_INPUT { cursor: String };
        NothingToAppend = "operation-nothing-to-append", INVALID_INPUT;
        WebhookDamaged = "operation-webhook-damaged", STORE_CORRUPT;
        ArtifactDamaged = "operation-artifact-damaged", STORE_CORRUPT;
        PersonMailbox = "operation-person-mailbox", PERMISSION_DENIED;
        TooManyRead = "operation-too-many-read", INVALID_INPUT { max_page_size: u32 };
        BudgetExhausted = "operation-budget-exhausted", BUDGET_EXHAUSTED {
            owner: String, resource: String, amount: String,
        };
        TurnDamaged = "operation-turn-damaged", STORE_CORRUPT;
        SocietyRecordDamaged = "operation-society-record-damaged", STORE_CORRUPT;
        RootOfStoppedRun = "operation-root-of-stopped-run", RECIPIENT_NOT_FOUND { id: String };
        NoRunNamed = "operation-no-run-named", RUN_NOT_FOUND;
        NotAMember = "operation-not-a-member", AGENT_NOT_FOUND { agent: String };
        NeitherMemberNorRun = "operation-neither-member-nor-run", INVALID_INPUT;
        UnregisteredCannotHire = "operation-unregistered-cannot-hire", INVALID_SUPERVISOR {
            agent: String,
        };
        NoRoleGiven = "operation-no-role-given", INVALID_BRIEF;
        RunNameTaken = "operation-run-name-taken", INVALID_INPUT { id: String };
        NoReadyTask = "operation-no-ready-task", NOTHING_TO_CLAIM { agent: AgentId, role: String };
        NoReadyTaskForStranger = "operation-no-ready-task-for-stranger", NOTHING_TO_CLAIM {
            agent: AgentId, roles: Vec<String>,
        };
        FileChangedDuringImport = "operation-file-changed-during-import", INVALID_INPUT {
            file: String, reason: Reason,
        };
        ImportFaults = "operation-import-faults", IMPORT_FAULTS { count: usize, list: ListArg };
        SignInKeyDamaged = "operation-sign-in-key-damaged", STORE_CORRUPT;
        TokenDamaged = "operation-token-damaged", STORE_CORRUPT;
        CommandDamaged = "operation-command-damaged", STORE_CORRUPT;
        CommandNotFound = "operation-command-not-found", COMMAND_NOT_FOUND { id: String };
        CommandCancelled = "operation-command-cancelled", COMMAND_FAILED;
        CommandTimeout = "operation-command-timeout", COMMAND_TIMEOUT { timeout_ms: u64 };
        OnlyRegisteredAgents = "operation-only-registered-agents", PERMISSION_DENIED { id: String };
        TooManyConflicts = "operation-too-many-conflicts", STORE_BUSY;
    }
}

polis_core::refusal_table! {
    /// Refusals of tool calls: unknown tools and invalid arguments.
    pub enum ToolRefusal {
        NotFound = "tool-not-found", TOOL_NOT_FOUND { name: String };
        InvalidParameters = "tool-invalid-parameters", INVALID_INPUT {
            location: String, problem: Reason,
        };
        UnknownGroup = "tool-unknown-group", INVALID_INPUT { name: String, groups: Vec<String> };
        UnknownName = "tool-unknown-name", INVALID_INPUT { name: String };
        MisspeltParameter = "tool-misspelt-parameter", INVALID_INPUT {
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
        InternalError = "port-internal-error", INTERNAL { activity: String };
    }
}
