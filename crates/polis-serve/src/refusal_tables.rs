//! Refusal tables of this crate, for HTTP requests, the start of a server, event streams, MCP requests and webhook
//! deliveries: the message id and arguments of each refusal or problem, and the code of each refusal. The texts of
//! the messages are in `polis-i18n/refusals`.

use polis_core::AgentId;
use polis_core::refusal::Reason;

/// Codes that only HTTP has.
#[derive(Debug)]
pub enum HttpCode {}

polis_core::refusal_codes! {
    HttpCode {
        /// The content type of the request is not supported.
        UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", Invalid;
        /// The address does not support this method.
        METHOD_NOT_ALLOWED = "method_not_allowed", Invalid;
        /// The request took too long to arrive or to be processed.
        REQUEST_TIMEOUT = "request_timeout", Busy;
    }
}

polis_core::refusal_table! {
    /// Refusals of HTTP requests before and around the operation.
    pub enum HttpRefusal {
        HostForbidden = "http-host-forbidden", ORIGIN_FORBIDDEN;
        OriginForbidden = "http-origin-forbidden", ORIGIN_FORBIDDEN;
        TokenRateLimited = "http-token-rate-limited", RATE_LIMITED;
        AddressRateLimited = "http-address-rate-limited", RATE_LIMITED;
        HostMissing = "http-host-missing", INVALID_INPUT;
        TooManyRequests = "http-too-many-requests", STORE_BUSY;
        BodyTimeout = "http-body-timeout", HttpCode::REQUEST_TIMEOUT;
        BodyMalformed = "http-body-malformed", INVALID_INPUT;
        BodyTooLarge = "http-body-too-large", REQUEST_TOO_LARGE { limit: usize };
        BodyNotJson = "http-body-not-json", HttpCode::UNSUPPORTED_MEDIA_TYPE;
        ShuttingDown = "http-shutting-down", STORE_BUSY;
        StoreSilent = "http-store-silent", STORE_UNAVAILABLE;
        MethodNotAllowed = "http-method-not-allowed", HttpCode::METHOD_NOT_ALLOWED;
        NoRoute = "http-no-route", ROUTE_NOT_FOUND;
        UnknownParameter = "http-unknown-parameter", INVALID_INPUT {
            name: String, query: Vec<String>, body: Vec<String>,
        };
        UnknownQueryParameter = "http-unknown-query-parameter", INVALID_INPUT {
            name: String, query: Vec<String>,
        };
        UnknownBodyParameter = "http-unknown-body-parameter", INVALID_INPUT {
            name: String, body: Vec<String>,
        };
        NoParameters = "http-no-parameters", INVALID_INPUT { name: String };
        QueryRepeated = "http-query-repeated", INVALID_INPUT { name: String };
        BodyRepeated = "http-body-repeated", INVALID_INPUT { name: String };
        BodyNotAnObject = "http-body-not-an-object", INVALID_INPUT { error: Reason };
        WrongParameterType = "http-wrong-parameter-type", INVALID_INPUT {
            name: String, expected: String,
        };
        EtagOfNoVersion = "http-etag-of-no-version", VERSION_MISMATCH;
        EtagOfNoFile = "http-etag-of-no-file", HASH_MISMATCH;
        InvalidCondition = "http-invalid-condition", INVALID_INPUT;
        InvalidHeader = "http-invalid-header", INVALID_INPUT { name: String };
        OperationTimeout = "http-operation-timeout", HttpCode::REQUEST_TIMEOUT;
        InvalidPercentEncoding = "http-invalid-percent-encoding", INVALID_INPUT;
    }
}

polis_core::refusal_table! {
    /// Refusals to start a server: its address and its certificate.
    pub enum ListenRefusal {
        PlaintextReachable = "listen-plaintext-reachable", INVALID_INPUT { address: String };
        InvalidAddress = "listen-invalid-address", INVALID_INPUT;
        KeyMismatch = "listen-key-mismatch", INVALID_INPUT;
        UnreadableCertificate = "listen-unreadable-certificate", INVALID_INPUT;
        UnreadableKey = "listen-unreadable-key", INVALID_INPUT;
    }
}

polis_core::refusal_table! {
    /// Refusals of event streams and their filters.
    pub enum EventRefusal {
        NotAKind = "event-not-a-kind", INVALID_INPUT { kind: String };
        TooManyEntries = "event-too-many-entries", INVALID_INPUT { limit: usize };
        FilterTooLong = "event-filter-too-long", INVALID_INPUT { limit: usize };
        TooManyReaders = "event-too-many-readers", RATE_LIMITED;
        NotYetLogged = "event-not-yet-logged", INVALID_INPUT { since: u64, head: u64 };
        QueryNotUtf8 = "event-query-not-utf8", INVALID_INPUT;
        NotAPosition = "event-not-a-position", INVALID_INPUT { name: String, value: String };
        NotALimit = "event-not-a-limit", INVALID_INPUT { value: String };
        UnknownParameter = "event-unknown-parameter", INVALID_INPUT { name: String };
    }
}

polis_core::refusal_table! {
    /// Refusals of MCP requests that are not calls of tools.
    pub enum McpRefusal {
        TooManyConcurrent = "mcp-too-many-concurrent", RATE_LIMITED { count: usize, what: String };
        GroupsNotUtf8 = "mcp-groups-not-utf8", INVALID_INPUT;
        ArgumentsNotAnObject = "mcp-arguments-not-an-object", INVALID_INPUT;
        OtherSession = "mcp-other-session", UNAUTHORIZED;
        StreamNotPrepared = "mcp-stream-not-prepared", INTERNAL;
        NoPrompt = "mcp-no-prompt", INVALID_INPUT { name: String };
        InvalidArgument = "mcp-invalid-argument", INVALID_INPUT {
            argument: String, problem: String,
        };
        NoResource = "mcp-no-resource", ROUTE_NOT_FOUND { uri: String };
        InvalidCursor = "mcp-invalid-cursor", INVALID_INPUT { cursor: String };
        BinaryTooLarge = "mcp-binary-too-large", FILE_TOO_LARGE { size: u64, max_binary_bytes: u64 };
        TooManySubscriptions = "mcp-too-many-subscriptions", RATE_LIMITED {
            max_subscriptions: usize,
        };
        FilesNotWatched = "mcp-files-not-watched", INVALID_INPUT;
        CannotReadBoard = "mcp-cannot-read-board", PERMISSION_DENIED {
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
