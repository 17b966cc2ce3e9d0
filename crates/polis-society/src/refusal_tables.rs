//! Refusals of this crate: their messages, codes and arguments.

use polis_core::refusal::Reason;

polis_core::refusal_table! {
    /// Refusals of members' calls, and failures while a member is driven.
    pub enum MemberRefusal {
        RecordDamaged = "member-record-damaged", StoreCorrupt { record: String };
        ChangedByOther = "member-changed-by-other", OutcomeUnknown;
        CallDenied = "member-call-denied", CallDenied;
        CallDeniedWithNote = "member-call-denied-with-note", CallDenied { note: String };
        ArgumentsNotAnObject = "member-arguments-not-an-object", InvalidInput { error: Reason };
        CallInterrupted = "member-call-interrupted", CallInterrupted;
        LeaseDamaged = "member-lease-damaged", StoreCorrupt;
    }
}

polis_core::refusal_table! {
    /// Refusals of the configuration of models, recordings and the trace collector.
    pub enum ModelRefusal {
        InvalidApiKey = "model-invalid-api-key", InvalidConfig;
        InvalidBaseUrl = "model-invalid-base-url", InvalidConfig { name: String, detail: String };
        InvalidHeader = "model-invalid-header", InvalidConfig { name: String };
        NoDefaultEndpoint = "model-no-default-endpoint", InvalidConfig { name: String };
        NoEndpoint = "model-no-endpoint", InvalidConfig;
        InvalidRecording = "model-invalid-recording", InvalidConfig {
            number: usize, problem: String,
        };
        InvalidTraceHeader = "model-invalid-trace-header", InvalidConfig;
        InvalidTraceUrl = "model-invalid-trace-url", InvalidConfig { detail: String };
    }
}
