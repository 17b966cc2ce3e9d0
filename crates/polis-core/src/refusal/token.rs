//! Refusals about tokens, sign-in and scopes.

crate::refusal_table! {
    /// Refusals about tokens, sign-in and scopes.
    pub enum TokenRefusal {
        ExpiresNow = "token-expires-now", InvalidInput;
        NotFound = "token-not-found", TokenNotFound { id: String };
        Required = "token-required", Unauthorized;
        OnlyPersonManages = "token-only-person-manages", PermissionDenied;
        SignInLinkInvalid = "token-sign-in-link-invalid", Unauthorized;
        ScopeMissing = "token-scope-missing", InsufficientScope { required: String };
        InvalidScope = "token-invalid-scope", InvalidScope { text: String, areas: Vec<String> };
    }
}
