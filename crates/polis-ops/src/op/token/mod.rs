//! Operations on API tokens and browser sign-in.

pub(crate) mod sign_in;
pub(crate) mod tokens;

pub use sign_in::{IssuedSignInKey, LoginCredential, issue_sign_in_key, sign_in, sign_out};
pub use tokens::{
    AuthenticatedCaller, IssuedToken, TokenList, authenticate_token, is_token_valid, issue_token,
    list_tokens, revoke_token, token_expiry,
};
