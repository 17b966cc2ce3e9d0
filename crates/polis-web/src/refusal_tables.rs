//! Refusals of web pages: forms, sign-in and pages that do not exist.

polis_core::refusal_table! {
    /// Refusals of web pages: forms, sign-in and pages that do not exist.
    pub enum PageRefusal {
        FormTooLarge = "page-form-too-large", REQUEST_TOO_LARGE;
        CsrfTokenInvalid = "page-csrf-token-invalid", ORIGIN_FORBIDDEN;
        ExcerptFailed = "page-excerpt-failed", READ_FAILED { error: String };
        InvalidValue = "page-invalid-value", INVALID_INPUT;
        InvalidTopics = "page-invalid-topics", INVALID_INPUT { max_topics: usize };
        SignInFromOtherSite = "page-sign-in-from-other-site", ORIGIN_FORBIDDEN;
        TooManyFailedSignIns = "page-too-many-failed-sign-ins", RATE_LIMITED { seconds: u64 };
        UnknownDecisionAction = "page-unknown-decision-action", INVALID_INPUT;
        DecisionNotFound = "page-decision-not-found", DECISION_NOT_FOUND;
        TooLongToEdit = "page-too-long-to-edit", REQUEST_TOO_LARGE;
        FieldMissing = "page-field-missing", INVALID_INPUT { field: String };
        BoardNotShown = "page-board-not-shown", READ_FAILED { error: String };
        NoPage = "page-no-page", ROUTE_NOT_FOUND;
        ApprovalGone = "page-approval-gone", APPROVAL_NOT_FOUND;
        NotATaskNumber = "page-not-a-task-number", INVALID_INPUT { text: String };
        DownloadTooLarge = "page-download-too-large", REQUEST_TOO_LARGE {
            size: String, limit: String,
        };
        FileCutShort = "page-file-cut-short", READ_FAILED;
        NoOwnWorkspace = "page-no-own-workspace", WORKSPACE_NOT_ASSIGNED { agent: String };
    }
}
