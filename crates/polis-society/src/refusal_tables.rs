//! Refusal tables of this crate, for members and for the configuration of models, recordings and the trace
//! collector: the message id, code and arguments of each refusal. The texts of the messages are in
//! `polis-i18n/refusals`.

use polis_core::refusal::Reason;

/// Codes of members' calls.
#[derive(Debug)]
pub enum SocietyCode {}

polis_core::refusal_codes! {
    SocietyCode {
        /// The same call was repeated with the same result too often.
        REPEATED_CALL = "repeated_call", Conflict;
        /// The process ended during the call; the outcome is unknown.
        CALL_INTERRUPTED = "call_interrupted", Conflict;
        /// A person denied the call.
        CALL_DENIED = "call_denied", Forbidden;
    }
}

polis_core::refusal_table! {
    /// Refusals of members' calls, and failures while a member is driven.
    pub enum MemberRefusal {
        RecordDamaged = "member-record-damaged", STORE_CORRUPT { record: String };
        ChangedByOther = "member-changed-by-other", OUTCOME_UNKNOWN;
        CallDenied = "member-call-denied", SocietyCode::CALL_DENIED;
        CallDeniedWithNote = "member-call-denied-with-note", SocietyCode::CALL_DENIED { note: String };
        ArgumentsNotAnObject = "member-arguments-not-an-object", INVALID_INPUT { error: Reason };
        CallInterrupted = "member-call-interrupted", SocietyCode::CALL_INTERRUPTED;
        LeaseDamaged = "member-lease-damaged", STORE_CORRUPT;
    }
}

polis_core::refusal_table! {
    /// Refusals of the configuration of models, recordings and the trace collector.
    pub enum ModelRefusal {
        InvalidApiKey = "model-invalid-api-key", INVALID_CONFIG;
        InvalidBaseUrl = "model-invalid-base-url", INVALID_CONFIG { name: String, detail: String };
        InvalidHeader = "model-invalid-header", INVALID_CONFIG { name: String };
        NoDefaultEndpoint = "model-no-default-endpoint", INVALID_CONFIG { name: String };
        NoEndpoint = "model-no-endpoint", INVALID_CONFIG;
        InvalidRecording = "model-invalid-recording", INVALID_CONFIG {
            number: usize, problem: String,
        };
        InvalidTraceHeader = "model-invalid-trace-header", INVALID_CONFIG;
        InvalidTraceUrl = "model-invalid-trace-url", INVALID_CONFIG { detail: String };
    }
}
