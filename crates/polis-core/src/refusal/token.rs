//! Refusals about tokens, sign-in and scopes.

crate::refusal_table! {
    /// Refusals about tokens, sign-in and scopes.
    pub enum TokenRefusal {
        ExpiresNow = "token-expires-now", INVALID_INPUT;
        NotFound = "token-not-found", TOKEN_NOT_FOUND { id: String };
        Required = "token-required", UNAUTHORIZED;
        OnlyPersonManages = "token-only-person-manages", PERMISSION_DENIED;
        SignInLinkInvalid = "token-sign-in-link-invalid", UNAUTHORIZED;
        ScopeMissing = "token-scope-missing", INSUFFICIENT_SCOPE { required: String };
        InvalidScope = "token-invalid-scope", INVALID_SCOPE { text: String, areas: Vec<String> };
    }
}
