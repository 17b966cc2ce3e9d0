//! Tokens: issuing, listing, revoking, and asking whose one is.

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::token::{self, Scopes, Secret, Token, TokenIssue, TokenView};
use polis_core::{AgentId, Code, Registered};
use schemars::JsonSchema;
use serde::Serialize;

use super::list_agents::not_found as no_agent;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::PortError;

/// How many tokens are read at a time.
const PAGE: u32 = 500;

/// Whose token it is, and what it is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Who acts.
    pub agent: AgentId,
    /// What the token is good for.
    pub scopes: Scopes,
    /// The token's id.
    pub token: String,
    /// The agent's entry of the registry; none for the person.
    pub entry: Option<Registered>,
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

/// Whose token this is. Everything that is wrong with one is answered alike. Asked for every request: a
/// token revoked anywhere is worth nothing from that commit on.
pub async fn admit(polis: &Polis, bearer: &str) -> Result<Admitted, OpError> {
    let secret = Secret::parse(bearer).ok_or_else(token::unauthorized)?;
    let name = RecordName::new(RecordKind::Token, &secret.id);
    let stored = polis.store.record(&name).await?;
    let (token, _) = match stored {
        Some(stored) => read(&stored)?,
        None => return Err(token::unauthorized().into()),
    };
    if !token.admits(&secret, polis.clock.now_millis()) {
        return Err(token::unauthorized().into());
    }
    // A retired agent's token is worth nothing.
    let entry = polis.entry(&token.agent).await?;
    if polis.resolve(&token.agent, entry.as_ref()).is_err() {
        return Err(token::unauthorized().into());
    }
    Ok(Admitted {
        agent: token.agent,
        scopes: token.scopes,
        token: token.id,
        entry,
    })
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
    let digits: String = (0..3).map(|_| polis.chance.token()).collect();
    let secret = Secret::from_random(&digits)
        .ok_or_else(|| PortError::internal("Making a token", "too little randomness"))?;
    let secret = &secret;
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
    let name = &RecordName::new(RecordKind::Token, id);
    let decide = || -> Attempt<'_, Token> {
        Box::pin(async move {
            let stored = polis.store.record(name).await?;
            let (token, revision) = match stored {
                Some(stored) => read(&stored)?,
                None => return Err(token::not_found(&name.id).into()),
            };
            let now = polis.clock.now_millis();
            Ok(token::decide_revoke(&token, revision, caller, now)?)
        })
    };
    let now = polis.clock.now_millis();
    polis.settle(decide, move |token, _| token.view(now)).await
}

/// All tokens, or those of an agent; never their secrets.
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
