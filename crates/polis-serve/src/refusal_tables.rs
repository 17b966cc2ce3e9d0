//! Refusals of this crate: their messages, codes and arguments.

use polis_core::AgentId;
use polis_core::refusal::Reason;

polis_core::refusal_table! {
    /// Refusals of HTTP requests before and around the operation.
    pub enum HttpRefusal {
        HostForbidden = "http-host-forbidden", OriginForbidden;
        OriginForbidden = "http-origin-forbidden", OriginForbidden;
        TokenRateLimited = "http-token-rate-limited", RateLimited;
        AddressRateLimited = "http-address-rate-limited", RateLimited;
        HostMissing = "http-host-missing", InvalidInput;
        TooManyRequests = "http-too-many-requests", StoreBusy;
        BodyTimeout = "http-body-timeout", RequestTimeout;
        BodyMalformed = "http-body-malformed", InvalidInput;
        BodyTooLarge = "http-body-too-large", RequestTooLarge { limit: usize };
        BodyNotJson = "http-body-not-json", UnsupportedMediaType;
        ShuttingDown = "http-shutting-down", StoreBusy;
        StoreSilent = "http-store-silent", StoreUnavailable;
        MethodNotAllowed = "http-method-not-allowed", MethodNotAllowed;
        NoRoute = "http-no-route", RouteNotFound;
        UnknownParameter = "http-unknown-parameter", InvalidInput {
            name: String, query: Vec<String>, body: Vec<String>,
        };
        UnknownQueryParameter = "http-unknown-query-parameter", InvalidInput {
            name: String, query: Vec<String>,
        };
        UnknownBodyParameter = "http-unknown-body-parameter", InvalidInput {
            name: String, body: Vec<String>,
        };
        NoParameters = "http-no-parameters", InvalidInput { name: String };
        QueryRepeated = "http-query-repeated", InvalidInput { name: String };
        BodyRepeated = "http-body-repeated", InvalidInput { name: String };
        BodyNotAnObject = "http-body-not-an-object", InvalidInput { error: Reason };
        WrongParameterType = "http-wrong-parameter-type", InvalidInput {
            name: String, expected: String,
        };
        EtagOfNoVersion = "http-etag-of-no-version", VersionMismatch;
        EtagOfNoFile = "http-etag-of-no-file", HashMismatch;
        InvalidCondition = "http-invalid-condition", InvalidInput;
        InvalidHeader = "http-invalid-header", InvalidInput { name: String };
        OperationTimeout = "http-operation-timeout", RequestTimeout;
        InvalidPercentEncoding = "http-invalid-percent-encoding", InvalidInput;
    }
}

polis_core::refusal_table! {
    /// Refusals to start a server: its address and its certificate.
    pub enum ListenRefusal {
        PlaintextReachable = "listen-plaintext-reachable", InvalidInput { address: String };
        InvalidAddress = "listen-invalid-address", InvalidInput;
        KeyMismatch = "listen-key-mismatch", InvalidInput;
        UnreadableCertificate = "listen-unreadable-certificate", InvalidInput;
        UnreadableKey = "listen-unreadable-key", InvalidInput;
    }
}

polis_core::refusal_table! {
    /// Refusals of event streams and their filters.
    pub enum EventRefusal {
        NotAKind = "event-not-a-kind", InvalidInput { kind: String };
        TooManyEntries = "event-too-many-entries", InvalidInput { limit: usize };
        FilterTooLong = "event-filter-too-long", InvalidInput { limit: usize };
        TooManyReaders = "event-too-many-readers", RateLimited;
        NotYetLogged = "event-not-yet-logged", InvalidInput { since: u64, head: u64 };
        QueryNotUtf8 = "event-query-not-utf8", InvalidInput;
        NotAPosition = "event-not-a-position", InvalidInput { name: String, value: String };
        NotALimit = "event-not-a-limit", InvalidInput { value: String };
        UnknownParameter = "event-unknown-parameter", InvalidInput { name: String };
    }
}

polis_core::refusal_table! {
    /// Refusals of MCP requests that are not calls of tools.
    pub enum McpRefusal {
        TooManyConcurrent = "mcp-too-many-concurrent", RateLimited { count: usize, what: String };
        GroupsNotUtf8 = "mcp-groups-not-utf8", InvalidInput;
        ArgumentsNotAnObject = "mcp-arguments-not-an-object", InvalidInput;
        OtherSession = "mcp-other-session", Unauthorized;
        StreamNotPrepared = "mcp-stream-not-prepared", Internal;
        NoPrompt = "mcp-no-prompt", InvalidInput { name: String };
        InvalidArgument = "mcp-invalid-argument", InvalidInput {
            argument: String, problem: String,
        };
        NoResource = "mcp-no-resource", RouteNotFound { uri: String };
        InvalidCursor = "mcp-invalid-cursor", InvalidInput { cursor: String };
        BinaryTooLarge = "mcp-binary-too-large", FileTooLarge { size: u64, max_binary_bytes: u64 };
        TooManySubscriptions = "mcp-too-many-subscriptions", RateLimited {
            max_subscriptions: usize,
        };
        FilesNotWatched = "mcp-files-not-watched", InvalidInput;
        CannotReadBoard = "mcp-cannot-read-board", PermissionDenied {
            agent: AgentId, board: String,
        };
    }
}

polis_core::problem_table! {
    /// Problems of webhook deliveries. They are stored, so ids and arguments stay.
    pub enum DeliveryProblem {
        InvalidUrl = "delivery-invalid-url";
        Answered = "delivery-answered" { status: String };
        Redirected = "delivery-redirected" { status: String };
        NoConnection = "delivery-no-connection" { cause: Reason };
        TlsHandshakeFailed = "delivery-tls-handshake-failed" { detail: String };
        ResponseTimeout = "delivery-response-timeout" { seconds: String };
        InvalidResponse = "delivery-invalid-response";
        ConnectionClosed = "delivery-connection-closed";
    }
}

polis_core::problem_table! {
    /// Reasons why there is no connection to the receiver of a webhook.
    pub enum ConnectionProblem {
        Refused = "connection-refused";
        Reset = "connection-reset";
        HostUnreachable = "connection-host-unreachable";
        NetworkUnreachable = "connection-network-unreachable";
        TimedOut = "connection-timed-out";
        ConnectTimeout = "connection-timeout";
        ProxyUnreachable = "connection-proxy-unreachable";
        TunnelRefused = "connection-tunnel-refused";
        Other = "connection-other" { detail: String };
    }
}
