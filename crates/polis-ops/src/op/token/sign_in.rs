//! Operations that sign a browser in and out: one-time sign-in keys, sessions from a key or a token, and
//! logout.

use polis_core::token::{self, ApiToken, SignInKey, TokenSecret, TokenView};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::op::token::tokens::{IssuedToken, find_valid_token, load_token, new_secret};
use crate::port::PortError;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// A new one-time sign-in key; its text is returned only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedSignInKey {
    /// The key for the sign-in link; not stored.
    pub key: String,
    /// When it expires.
    pub expires_at: polis_core::Timestamp,
}

/// Credential presented at login.
#[derive(Debug, Clone, Copy)]
pub enum LoginCredential<'a> {
    /// The one-time key of a sign-in link.
    Key(&'a str),
    /// An API token.
    Token(&'a str),
}

/// Creates a one-time key that starts one session of the person. Fails with `permission_denied` if the caller
/// is not the person.
pub async fn issue_sign_in_key(request: &Request) -> Result<IssuedSignInKey, OpError> {
    let caller = &request.resolve_caller().await?;
    let key = &new_secret(&request.app)?;
    let now = request.app.clock.now_millis();
    let decide = || -> AttemptFuture<'_, SignInKey> {
        let decided = token::decide_create_sign_in_key(key, caller, now);
        Box::pin(std::future::ready(decided.map_err(OpError::from)))
    };
    let sign_in_key = request
        .retry_on_conflict(decide, |sign_in_key: SignInKey, _| sign_in_key)
        .await?;
    Ok(IssuedSignInKey {
        key: key.sign_in_key(),
        expires_at: sign_in_key.expires_at,
    })
}

/// Starts a session. A key is consumed in the same commit; of two concurrent uses, one is refused. Fails with
/// `Unauthorized` if the credential is not valid.
pub async fn sign_in(app: &App, credential: LoginCredential<'_>) -> Result<IssuedToken, OpError> {
    let session = &new_secret(app)?;
    let now = app.clock.now_millis();
    let view = match credential {
        LoginCredential::Key(text) => {
            let key =
                &TokenSecret::parse_sign_in_key(text).ok_or_else(token::invalid_sign_in_key)?;
            let (sign_in_key, _) = load_sign_in_key(app, key).await?;
            let request = &app.request(&sign_in_key.agent);
            let decide = || -> AttemptFuture<'_, ApiToken> {
                Box::pin(async move {
                    let (sign_in_key, revision) = load_sign_in_key(app, key).await?;
                    let signer = request.resolve_caller().await?;
                    let now = app.clock.now_millis();
                    let decided = token::decide_sign_in_with_key(
                        &sign_in_key,
                        revision,
                        key,
                        session,
                        &signer,
                        now,
                    );
                    Ok(decided?)
                })
            };
            request
                .retry_on_conflict(decide, move |token, _| token.into_view(now))
                .await?
        }
        LoginCredential::Token(text) => {
            let parent = &find_valid_token(app, text).await?;
            let request = &app.request(&parent.agent);
            let signer = &request
                .resolve_caller()
                .await
                .map_err(|_| token::unauthorized_refusal())?;
            let decide = || -> AttemptFuture<'_, ApiToken> {
                let decided = token::decide_sign_in_with_token(parent, session, signer, now);
                Box::pin(std::future::ready(decided.map_err(OpError::from)))
            };
            request
                .retry_on_conflict(decide, move |token, _| token.into_view(now))
                .await?
        }
    };
    Ok(IssuedToken {
        token: session.token_text(),
        view,
    })
}

/// Ends a session, by its token's id. Fails with `Unauthorized` unless it is a session of the caller.
pub async fn sign_out(request: &Request, id: &str) -> Result<TokenView, OpError> {
    let signer = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, ApiToken> {
        Box::pin(async move {
            let found = load_token(&request.app, id).await?;
            let (session, revision) = found.ok_or_else(token::unauthorized_refusal)?;
            let now = request.app.clock.now_millis();
            Ok(token::decide_sign_out(&session, revision, signer, now)?)
        })
    };
    let now = request.app.clock.now_millis();
    request
        .retry_on_conflict(decide, move |token, _| token.into_view(now))
        .await
}

async fn load_sign_in_key(app: &App, key: &TokenSecret) -> Result<(SignInKey, u64), OpError> {
    let stored = app.store.record(&SignInKey::record_name(&key.id)).await?;
    let stored = stored.ok_or_else(token::invalid_sign_in_key)?;
    let sign_in_key = serde_json::from_str(&stored.body).map_err(|error| {
        PortError::from(OperationRefusal::SignInKeyDamaged).with_source(error.to_string())
    })?;
    Ok((sign_in_key, stored.revision))
}
