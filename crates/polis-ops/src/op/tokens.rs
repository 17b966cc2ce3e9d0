//! Operations on API tokens: authenticating a bearer token, issuing, listing and revoking.

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::token::{self, Scopes, Secret, Token, TokenIssue, TokenStatus, TokenView};
use polis_core::{AgentId, Code, Registered};
use schemars::JsonSchema;
use serde::Serialize;

use super::list_agents::not_found as no_agent;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::PortError;

/// Number of tokens read per page.
const PAGE: u32 = 500;

/// Result of authenticating a token: its agent and scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The authenticated agent.
    pub agent: AgentId,
    /// The token's scopes.
    pub scopes: Scopes,
    /// The token's id.
    pub token: String,
    /// The agent's registry entry; `None` for the person.
    pub entry: Option<Registered>,
    /// Whether it is a browser session, which is valid for web pages only.
    pub session: bool,
}

/// A token just issued, with the text that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IssuedToken {
    /// The text to give to the agent; it is kept nowhere.
    pub token: String,
    /// What is kept of it.
    #[serde(flatten)]
    pub view: TokenView,
}

/// Tokens, by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<TokenView>,
}

/// Authenticates a bearer token. All invalid tokens give the same error. Called for every request, so a token revoked
/// by any process is invalid from that commit on.
pub async fn admit(polis: &Polis, bearer: &str) -> Result<Admitted, OpError> {
    let token = presented(polis, bearer).await?;
    // The token of a retired agent is invalid.
    let entry = polis.entry(&token.agent).await?;
    if polis.resolve(&token.agent, entry.as_ref()).is_err() {
        return Err(token::unauthorized().into());
    }
    Ok(Admitted {
        agent: token.agent,
        scopes: token.scopes,
        token: token.id,
        entry,
        session: token.session,
    })
}

/// Returns the token for a bearer text. Fails with `Unauthorized` if it is invalid.
pub(super) async fn presented(polis: &Polis, bearer: &str) -> Result<Token, OpError> {
    let secret = Secret::parse(bearer).ok_or_else(token::unauthorized)?;
    let found = token_of(polis, &secret.id).await?;
    let (token, _) = found.ok_or_else(token::unauthorized)?;
    if !token.admits(&secret, polis.clock.now_millis()) || !stands(polis, &token).await? {
        return Err(token::unauthorized().into());
    }
    Ok(token)
}

/// Returns whether the token with this id is still valid.
pub async fn token_counts(polis: &Polis, id: &str) -> Result<bool, OpError> {
    let Some((token, _)) = token_of(polis, id).await? else {
        return Ok(false);
    };
    let now = polis.clock.now_millis();
    Ok(token.status(now) == TokenStatus::Active && stands(polis, &token).await?)
}

/// Returns when a token expires (milliseconds), if it does.
pub async fn token_end(polis: &Polis, id: &str) -> Result<Option<i64>, OpError> {
    let token = token_of(polis, id).await?.map(|(token, _)| token);
    Ok(token.and_then(|token| token.expires_at?.millis()))
}

/// Returns whether the token that a session was started with is still valid; true for tokens that were not started with
/// another token.
async fn stands(polis: &Polis, token: &Token) -> Result<bool, OpError> {
    let Some(with) = &token.begun_with else {
        return Ok(true);
    };
    let with = token_of(polis, with).await?;
    let now = polis.clock.now_millis();
    Ok(with.is_some_and(|(with, _)| with.status(now) == TokenStatus::Active))
}

/// Returns a token by its id, with its revision.
pub(super) async fn token_of(polis: &Polis, id: &str) -> Result<Option<(Token, u64)>, OpError> {
    let name = RecordName::new(RecordKind::Token, id);
    let stored = polis.store.record(&name).await?;
    stored.as_ref().map(read).transpose()
}

/// Creates a random secret for a token.
pub(super) fn new_secret(polis: &Polis) -> Result<Secret, OpError> {
    let digits: String = (0..3).map(|_| polis.chance.token()).collect();
    let secret = Secret::from_random(&digits);
    secret.ok_or_else(|| PortError::internal("Making a token", "too little randomness").into())
}

/// Issues a token for a registered agent, or for the person.
pub async fn issue_token(
    polis: &Polis,
    caller: &AgentId,
    params: &TokenIssue,
) -> Result<IssuedToken, OpError> {
    let caller = &polis.caller(caller).await?;
    let whose = &params.agent;
    if whose.as_str() != AgentId::USER {
        polis.entry(whose).await?.ok_or_else(|| no_agent(whose))?;
        polis.caller(whose).await?;
    }
    let secret = &new_secret(polis)?;
    let now = polis.clock.now_millis();
    let decide = || -> Attempt<'_, Token> {
        let decided = token::decide_issue(params, secret, caller, now);
        Box::pin(std::future::ready(decided.map_err(OpError::from)))
    };
    let view = polis
        .settle(decide, move |token: Token, _| token.view(now))
        .await?;
    Ok(IssuedToken {
        token: secret.text(),
        view,
    })
}

/// Revokes a token.
pub async fn revoke_token(polis: &Polis, caller: &AgentId, id: &str) -> Result<TokenView, OpError> {
    let caller = &polis.caller(caller).await?;
    token::check_list(caller)?;
    let decide = || -> Attempt<'_, Token> {
        Box::pin(async move {
            let found = token_of(polis, id).await?;
            let (token, revision) = found.ok_or_else(|| token::not_found(id))?;
            let now = polis.clock.now_millis();
            Ok(token::decide_revoke(&token, revision, caller, now)?)
        })
    };
    let now = polis.clock.now_millis();
    polis.settle(decide, move |token, _| token.view(now)).await
}

/// Lists all tokens, or those of one agent; never their secrets.
pub async fn list_tokens(
    polis: &Polis,
    caller: &AgentId,
    of: Option<&AgentId>,
) -> Result<TokenList, OpError> {
    token::check_list(&polis.caller(caller).await?)?;
    let now = polis.clock.now_millis();
    let mut tokens = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = polis
            .store
            .records(RecordKind::Token, after.as_deref(), PAGE)
            .await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        for stored in &page {
            let token = read(stored)?.0;
            if of.is_none_or(|of| token.agent == *of) {
                tokens.push(token.view(now));
            }
        }
    }
    Ok(TokenList { tokens })
}

fn read(stored: &Stored) -> Result<(Token, u64), OpError> {
    let token = serde_json::from_str(&stored.body).map_err(|e| {
        PortError::new(
            Code::StoreCorrupt,
            "A token in the store cannot be read.",
            "revoke it and issue a new one",
        )
        .because(e.to_string())
    })?;
    Ok((token, stored.revision))
}
