//! Refusals of web pages: forms, sign-in and pages that do not exist.

polis_core::refusal_table! {
    /// Refusals of web pages: forms, sign-in and pages that do not exist.
    pub enum PageRefusal {
        FormTooLarge = "page-form-too-large", RequestTooLarge;
        CsrfTokenInvalid = "page-csrf-token-invalid", OriginForbidden;
        ExcerptFailed = "page-excerpt-failed", ReadFailed { error: String };
        InvalidValue = "page-invalid-value", InvalidInput;
        InvalidTopics = "page-invalid-topics", InvalidInput { max_topics: usize };
        SignInFromOtherSite = "page-sign-in-from-other-site", OriginForbidden;
        TooManyFailedSignIns = "page-too-many-failed-sign-ins", RateLimited { seconds: u64 };
        UnknownDecisionAction = "page-unknown-decision-action", InvalidInput;
        DecisionNotFound = "page-decision-not-found", DecisionNotFound;
        TooLongToEdit = "page-too-long-to-edit", RequestTooLarge;
        FieldMissing = "page-field-missing", InvalidInput { field: String };
        BoardNotShown = "page-board-not-shown", ReadFailed { error: String };
        NoPage = "page-no-page", RouteNotFound;
        ApprovalGone = "page-approval-gone", ApprovalNotFound;
        NotATaskNumber = "page-not-a-task-number", InvalidInput { text: String };
        DownloadTooLarge = "page-download-too-large", RequestTooLarge {
            size: String, limit: String,
        };
        FileCutShort = "page-file-cut-short", ReadFailed;
        NoOwnWorkspace = "page-no-own-workspace", WorkspaceNotAssigned { agent: String };
    }
}
