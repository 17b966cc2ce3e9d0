//! Operations that sign a browser in and out: one-time sign-in keys, sessions from a key or a token, and logout.

use polis_core::AgentId;
use polis_core::Code;
use polis_core::token::{self, Secret, SignIn, Token, TokenView};
use schemars::JsonSchema;
use serde::Serialize;

use super::tokens::{IssuedToken, new_secret, presented, token_of};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::PortError;

/// A key just made, with the text that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedSignIn {
    /// What the link has to name; it is kept nowhere.
    pub key: String,
    /// Until when it is good.
    pub expires_at: polis_core::Timestamp,
}

/// Credential presented at login.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The one-time key of a sign-in link.
    Key(&'a str),
    /// An API token.
    Token(&'a str),
}

/// Creates a one-time key that starts one session of the person.
pub async fn offer_sign_in(polis: &Polis, caller: &AgentId) -> Result<OfferedSignIn, OpError> {
    let caller = &polis.caller(caller).await?;
    let key = &new_secret(polis)?;
    let now = polis.clock.now_millis();
    let decide = || -> Attempt<'_, SignIn> {
        let decided = token::decide_offer(key, caller, now);
        Box::pin(std::future::ready(decided.map_err(OpError::from)))
    };
    let offer = polis.settle(decide, |offer: SignIn, _| offer).await?;
    Ok(OfferedSignIn {
        key: key.key(),
        expires_at: offer.expires_at,
    })
}

/// Starts a session. A key is consumed in the same commit; of two concurrent uses, one is refused.
pub async fn sign_in(polis: &Polis, shown: Shown<'_>) -> Result<IssuedToken, OpError> {
    let session = &new_secret(polis)?;
    let now = polis.clock.now_millis();
    let view = match shown {
        Shown::Key(text) => {
            let key = &Secret::parse_key(text).ok_or_else(token::used_up)?;
            let decide = || -> Attempt<'_, Token> {
                Box::pin(async move {
                    let (offer, revision) = offer_of(polis, key).await?;
                    let by = polis.caller(&offer.agent).await?;
                    let now = polis.clock.now_millis();
                    let decided = token::decide_enter(&offer, revision, key, session, &by, now);
                    Ok(decided?)
                })
            };
            polis
                .settle(decide, move |token, _| token.view(now))
                .await?
        }
        Shown::Token(text) => {
            let with = &presented(polis, text).await?;
            let by = &polis
                .caller(&with.agent)
                .await
                .map_err(|_| token::unauthorized())?;
            let decide = || -> Attempt<'_, Token> {
                let decided = token::decide_session(with, session, by, now);
                Box::pin(std::future::ready(decided.map_err(OpError::from)))
            };
            polis
                .settle(decide, move |token, _| token.view(now))
                .await?
        }
    };
    Ok(IssuedToken {
        token: session.text(),
        view,
    })
}

/// Ends a session, by its token's id.
pub async fn sign_out(polis: &Polis, caller: &AgentId, id: &str) -> Result<TokenView, OpError> {
    let by = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, Token> {
        Box::pin(async move {
            let found = token_of(polis, id).await?;
            let (session, revision) = found.ok_or_else(token::unauthorized)?;
            let now = polis.clock.now_millis();
            Ok(token::decide_leave(&session, revision, by, now)?)
        })
    };
    let now = polis.clock.now_millis();
    polis.settle(decide, move |token, _| token.view(now)).await
}

async fn offer_of(polis: &Polis, key: &Secret) -> Result<(SignIn, u64), OpError> {
    let stored = polis.store.record(&SignIn::record(&key.id)).await?;
    let stored = stored.ok_or_else(token::used_up)?;
    let offer = serde_json::from_str(&stored.body).map_err(|error| {
        PortError::new(
            Code::StoreCorrupt,
            "A key in the store cannot be read.",
            "run `polis open` for a new one",
        )
        .because(error.to_string())
    })?;
    Ok((offer, stored.revision))
}
