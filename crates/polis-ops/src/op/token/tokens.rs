//! Operations on API tokens: authenticating a bearer token, and issuing, listing and revoking tokens (only
//! the person may).

use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::token::{
    self, ApiToken, TokenIssueParams, TokenScopes, TokenSecret, TokenStatus, TokenView,
};
use polis_core::{AgentId, RegisteredAgent};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::op::agent::list_agents::agent_not_found;
use crate::port::PortError;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request, load_registry_entry, resolve_agent};

/// Number of tokens read per page.
const PAGE_SIZE: u32 = 500;

/// Result of authenticating a token: its agent and scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedCaller {
    /// The authenticated agent.
    pub agent: AgentId,
    /// What the token gives access to.
    pub scopes: TokenScopes,
    /// Id of the token.
    pub token_id: String,
    /// The agent's registry entry; `None` for the person.
    pub entry: Option<RegisteredAgent>,
    /// Whether it is a browser session, which is valid for web pages only.
    pub is_session: bool,
}

/// A new token; its text is returned only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IssuedToken {
    /// The token's text, for the agent; not stored.
    pub token: String,
    /// The stored part of the token.
    #[serde(flatten)]
    pub view: TokenView,
}

/// Tokens, ordered by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<TokenView>,
}

/// Authenticates a bearer token. Fails with `Unauthorized`, which is the same for all invalid tokens. Called
/// for every request, so a token revoked by any process is invalid from that commit on.
pub async fn authenticate_token(app: &App, bearer: &str) -> Result<AuthenticatedCaller, OpError> {
    let token = find_valid_token(app, bearer).await?;
    // The token of a retired agent is invalid.
    let entry = load_registry_entry(app, &token.agent).await?;
    if resolve_agent(app, &token.agent, entry.as_ref(), None).is_err() {
        return Err(token::unauthorized_refusal().into());
    }
    Ok(AuthenticatedCaller {
        agent: token.agent,
        scopes: token.scopes,
        token_id: token.id,
        entry,
        is_session: token.session,
    })
}

/// Returns the token for a bearer text. Fails with `Unauthorized` if it is invalid.
pub(crate) async fn find_valid_token(app: &App, bearer: &str) -> Result<ApiToken, OpError> {
    let secret = TokenSecret::parse(bearer).ok_or_else(token::unauthorized_refusal)?;
    let found = load_token(app, &secret.id).await?;
    let (token, _) = found.ok_or_else(token::unauthorized_refusal)?;
    if !token.accepts(&secret, app.clock.now_millis())
        || !is_parent_token_valid(app, &token).await?
    {
        return Err(token::unauthorized_refusal().into());
    }
    Ok(token)
}

/// Returns whether the token with this id is still valid. Fails only if the store does.
pub async fn is_token_valid(app: &App, id: &str) -> Result<bool, OpError> {
    let Some((token, _)) = load_token(app, id).await? else {
        return Ok(false);
    };
    let now = app.clock.now_millis();
    Ok(token.status(now) == TokenStatus::Active && is_parent_token_valid(app, &token).await?)
}

/// Returns when a token expires (milliseconds), if it does. Fails only if the store does.
pub async fn token_expiry(app: &App, id: &str) -> Result<Option<i64>, OpError> {
    let token = load_token(app, id).await?.map(|(token, _)| token);
    Ok(token.and_then(|token| token.expires_at?.millis()))
}

/// Returns whether the token that a session was started with is still valid; true for tokens that were not
/// started with another token.
async fn is_parent_token_valid(app: &App, token: &ApiToken) -> Result<bool, OpError> {
    let Some(parent) = &token.parent_token_id else {
        return Ok(true);
    };
    let parent = load_token(app, parent).await?;
    let now = app.clock.now_millis();
    Ok(parent.is_some_and(|(parent, _)| parent.status(now) == TokenStatus::Active))
}

/// Returns a token by its id, with its revision. Fails with `store_corrupt` if it cannot be parsed.
pub(crate) async fn load_token(app: &App, id: &str) -> Result<Option<(ApiToken, u64)>, OpError> {
    let name = RecordName::new(RecordKind::Token, id);
    let stored = app.store.record(&name).await?;
    stored.as_ref().map(parse_token).transpose()
}

/// Creates a random secret for a token. Fails with `internal` if the random source returns too little.
pub(crate) fn new_secret(app: &App) -> Result<TokenSecret, OpError> {
    let digits: String = (0..3).map(|_| app.random.random_token()).collect();
    let secret = TokenSecret::from_random(&digits);
    secret.ok_or_else(|| PortError::internal("Creating a token", "too little randomness").into())
}

/// Issues a token for a registered agent, or for the person. Fails if the caller may not manage tokens, or if
/// the agent is not registered or is retired.
pub async fn issue_token(
    request: &Request,
    params: &TokenIssueParams,
) -> Result<IssuedToken, OpError> {
    let caller = &request.resolve_caller().await?;
    let owner = &params.agent;
    if owner.as_str() != AgentId::USER {
        let entry = request.registry_entry(owner).await?;
        let entry = entry.ok_or_else(|| agent_not_found(owner))?;
        resolve_agent(&request.app, owner, Some(&entry), None)?;
    }
    let secret = &new_secret(&request.app)?;
    let now = request.app.clock.now_millis();
    let decide = || -> AttemptFuture<'_, ApiToken> {
        let decided = token::decide_issue_token(params, secret, caller, now);
        Box::pin(std::future::ready(decided.map_err(OpError::from)))
    };
    let view = request
        .retry_on_conflict(decide, move |token: ApiToken, _| token.into_view(now))
        .await?;
    Ok(IssuedToken {
        token: secret.token_text(),
        view,
    })
}

/// Revokes a token. Fails if the caller may not manage tokens, or if the token does not exist.
pub async fn revoke_token(request: &Request, id: &str) -> Result<TokenView, OpError> {
    let caller = &request.resolve_caller().await?;
    token::check_may_list_tokens(caller)?;
    let decide = || -> AttemptFuture<'_, ApiToken> {
        Box::pin(async move {
            let found = load_token(&request.app, id).await?;
            let (token, revision) = found.ok_or_else(|| token::token_not_found(id))?;
            let now = request.app.clock.now_millis();
            Ok(token::decide_revoke_token(&token, revision, caller, now)?)
        })
    };
    let now = request.app.clock.now_millis();
    request
        .retry_on_conflict(decide, move |token, _| token.into_view(now))
        .await
}

/// Lists all tokens, or those of one agent; never their secrets. Fails if the caller may not manage tokens.
pub async fn list_tokens(request: &Request, owner: Option<&AgentId>) -> Result<TokenList, OpError> {
    token::check_may_list_tokens(&request.resolve_caller().await?)?;
    let now = request.app.clock.now_millis();
    let mut tokens = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = request
            .app
            .store
            .records(RecordKind::Token, after.as_deref(), PAGE_SIZE)
            .await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        for stored in &page {
            let token = parse_token(stored)?.0;
            if owner.is_none_or(|owner| token.agent == *owner) {
                tokens.push(token.into_view(now));
            }
        }
    }
    Ok(TokenList { tokens })
}

fn parse_token(stored: &StoredRecord) -> Result<(ApiToken, u64), OpError> {
    let token = serde_json::from_str(&stored.body)
        .map_err(|e| PortError::from(OperationRefusal::TokenDamaged).with_source(e.to_string()))?;
    Ok((token, stored.revision))
}
