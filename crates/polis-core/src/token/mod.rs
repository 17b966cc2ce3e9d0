//! API tokens: authentication of agents and the person over a network, and browser sessions.
//!
//! A token's text is `polis_ID_SECRET`. Only a hash of the secret is stored, so that a stolen store gives no
//! access. It needs no salt, because the secret is random and long. [`ApiToken::accepts`] checks a presented
//! token; the operations store and look up tokens.

mod sign_in;
mod token_scope;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use sign_in::{
    BROWSER_SESSION_LIFETIME_MS, SIGN_IN_KEY_LIFETIME_MS, SignInKey, decide_create_sign_in_key,
    decide_sign_in_with_key, decide_sign_in_with_token, decide_sign_out, invalid_sign_in_key,
};
pub use token_scope::{AccessLevel, OperationArea, TokenScopes};

use crate::caller::{Caller, CallerKind};
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::digest;
use crate::event::{EventPayload, EventSubject, NewEvent, TokenEvent};
use crate::id::{AgentId, quote_untrusted};
use crate::json::to_json_text;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Refusal, TokenRefusal};
use crate::timestamp::Timestamp;

/// Prefix of every token, so that people and secret scanners recognize one.
const TOKEN_PREFIX: &str = "polis_";
/// Number of hexadecimal digits in an id.
const ID_DIGITS: usize = 12;
/// Number of hexadecimal digits in a secret.
const SECRET_DIGITS: usize = 64;

/// A token as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiToken {
    /// Public part of the token's text, by which it is found.
    pub id: String,
    /// The agent it authenticates; `user` for the person.
    pub agent: AgentId,
    /// SHA-256 of its secret.
    pub hash: String,
    /// What the token gives access to.
    pub scopes: TokenScopes,
    /// When it was issued.
    pub created_at: Timestamp,
    /// The agent or person that issued it.
    pub created_by: AgentId,
    /// When it expires, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether it is a browser session, which is valid for web pages only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
    /// The token that the session was started with. The session is valid only as long as that token is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "begunWith")]
    pub parent_token_id: Option<String>,
}

/// A token as shown to callers: without its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Id of the token.
    pub id: String,
    /// The agent it authenticates.
    pub agent: AgentId,
    /// Scopes of the token.
    pub scopes: TokenScopes,
    /// Whether the token is valid now.
    pub status: TokenStatus,
    /// When it was issued.
    pub created_at: Timestamp,
    /// The caller that issued it.
    pub created_by: AgentId,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether it is a browser session.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
    /// The token that the session was started with, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "begunWith")]
    pub parent_token_id: Option<String>,
}

/// Whether a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenStatus {
    /// The token is valid.
    Active,
    /// The token has expired.
    Expired,
    /// The token was revoked.
    Revoked,
}

impl ApiToken {
    /// Returns whether it is active, expired or revoked at this time (milliseconds).
    pub fn status(&self, now: i64) -> TokenStatus {
        if self.revoked_at.is_some() {
            return TokenStatus::Revoked;
        }
        // An expiry time that cannot be parsed counts as expired.
        let is_past = |end: &Timestamp| end.millis().is_none_or(|end| end <= now);
        if self.expires_at.as_ref().is_some_and(is_past) {
            return TokenStatus::Expired;
        }
        TokenStatus::Active
    }

    /// Returns the token without its hash.
    pub fn into_view(self, now: i64) -> TokenView {
        TokenView {
            status: self.status(now),
            id: self.id,
            agent: self.agent,
            scopes: self.scopes,
            created_at: self.created_at,
            created_by: self.created_by,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            session: self.session,
            parent_token_id: self.parent_token_id,
        }
    }

    /// Returns whether `secret` is correct and the token is active. The secret is compared in constant time.
    pub fn accepts(&self, secret: &TokenSecret, now: i64) -> bool {
        let right = constant_time_eq(
            digest::sha256_hex(&secret.secret).as_bytes(),
            self.hash.as_bytes(),
        );
        right && self.status(now) == TokenStatus::Active
    }

    fn record_name(&self) -> RecordName {
        RecordName::new(RecordKind::Token, &self.id)
    }

    fn to_write(&self, expect: WritePrecondition) -> StoreWrite {
        StoreWrite::PutRecord {
            name: self.record_name(),
            expect,
            expires_at: None,
            body: RecordBody::Text(to_json_text(self)),
        }
    }
}

/// A parsed token text. It is never printed: its `Debug` output omits the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret {
    /// Public part of the token's text.
    pub id: String,
    secret: String,
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenSecret")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl TokenSecret {
    /// Creates a token text from at least 76 random hexadecimal digits. Returns `None` if there are too few.
    pub fn from_random(digits: &str) -> Option<Self> {
        let (secret, rest) = digits.split_at_checked(SECRET_DIGITS)?;
        let id = rest.get(rest.len().checked_sub(ID_DIGITS)?..)?;
        Some(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Parses a token text. Returns `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(TOKEN_PREFIX)?.split_once('_')?;
        let digits = |text: &str, length| {
            text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
        };
        (digits(id, ID_DIGITS) && digits(secret, SECRET_DIGITS)).then(|| Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Parses the key of a sign-in link: id and secret without prefix and separator. Returns `None` if it is
    /// malformed.
    pub fn parse_sign_in_key(text: &str) -> Option<Self> {
        let (id, secret) = text.split_at_checked(ID_DIGITS)?;
        Self::parse(&format!("{TOKEN_PREFIX}{id}_{secret}"))
    }

    /// Returns the text of a sign-in link's key.
    pub fn sign_in_key(&self) -> String {
        format!("{}{}", self.id, self.secret)
    }

    /// Returns the token text, which is shown once.
    pub fn token_text(&self) -> String {
        format!("{TOKEN_PREFIX}{}_{}", self.id, self.secret)
    }
}

/// Parameters of a new token.
#[derive(Debug, Clone)]
pub struct TokenIssueParams {
    /// The agent it is for.
    pub agent: AgentId,
    /// What the token will give access to.
    pub scopes: TokenScopes,
    /// Lifetime in milliseconds; unlimited if absent.
    pub expires_in_ms: Option<i64>,
}

/// Checks the issue of a token and returns the token with the changeset. Fails with `permission_denied`
/// unless the caller is the person, because an issuer can act as any agent.
pub fn decide_issue_token(
    params: &TokenIssueParams,
    secret: &TokenSecret,
    caller: &Caller,
    now: i64,
) -> Result<(ApiToken, Changeset), Refusal> {
    require_person(caller)?;
    if params.expires_in_ms.is_some_and(|ms| ms <= 0) {
        return Err(Refusal::from(TokenRefusal::ExpiresNow));
    }
    let at = Timestamp::from_millis(now);
    let end = params
        .expires_in_ms
        .map(|ms| Timestamp::from_millis(now.saturating_add(ms)));
    let token = ApiToken {
        id: secret.id.clone(),
        agent: params.agent.clone(),
        hash: digest::sha256_hex(&secret.secret),
        scopes: params.scopes.clone(),
        created_at: at.clone(),
        created_by: caller.id.clone(),
        expires_at: end,
        revoked_at: None,
        session: false,
        parent_token_id: None,
    };
    let changes = Changeset::new(caller, at)
        .with_write(token.to_write(WritePrecondition::Absent))
        .with_event(token_event(EventPayload::TokenIssued, &token));
    Ok((token, changes))
}

/// Checks the revocation of a token and returns the token with the changeset. A token that is already revoked
/// is not changed. Fails with `permission_denied` unless the caller is the person.
pub fn decide_revoke_token(
    token: &ApiToken,
    revision: u64,
    caller: &Caller,
    now: i64,
) -> Result<(ApiToken, Changeset), Refusal> {
    require_person(caller)?;
    Ok(revoke_token(token, revision, caller, now))
}

fn revoke_token(
    token: &ApiToken,
    revision: u64,
    caller: &Caller,
    now: i64,
) -> (ApiToken, Changeset) {
    let at = Timestamp::from_millis(now);
    let mut token = token.clone();
    let mut changes = Changeset::new(caller, at.clone());
    if token.revoked_at.is_none() {
        token.revoked_at = Some(at);
        changes = changes
            .with_write(token.to_write(WritePrecondition::Revision(revision)))
            .with_event(token_event(EventPayload::TokenRevoked, &token));
    }
    (token, changes)
}

/// Returns the refusal for an unknown token.
pub fn token_not_found(id: &str) -> Refusal {
    Refusal::from(TokenRefusal::NotFound {
        id: quote_untrusted(id),
    })
}

/// Returns the refusal for every invalid token. It does not reveal what is wrong with it.
pub fn unauthorized_refusal() -> Refusal {
    Refusal::from(TokenRefusal::Required)
}

fn require_person(caller: &Caller) -> Result<(), Refusal> {
    if caller.kind == CallerKind::Person {
        return Ok(());
    }
    Err(Refusal::from(TokenRefusal::OnlyPersonManages))
}

/// Fails with `permission_denied` unless the caller is the person, who alone may see tokens.
pub fn check_may_list_tokens(caller: &Caller) -> Result<(), Refusal> {
    require_person(caller)
}

fn token_event(payload: fn(TokenEvent) -> EventPayload, token: &ApiToken) -> NewEvent {
    let data = TokenEvent {
        token: token.id.clone(),
        scopes: token.scopes.clone(),
        expires_at: token.expires_at.clone(),
        session: token.session,
    };
    NewEvent::new(EventSubject::Agent(token.agent.clone()), payload(data))
}

/// Compares in constant time (for inputs of the same length).
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    let differences = a
        .iter()
        .zip(b)
        .fold(0, |difference, (x, y)| difference | (x ^ y));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    fn person_caller() -> Caller {
        Caller::resolve(AgentId::user(), None).unwrap()
    }

    fn issue_token(expires_in_ms: Option<i64>) -> (TokenSecret, ApiToken) {
        let secret = TokenSecret::from_random(&"0123456789abcdef".repeat(5)).unwrap();
        let params = TokenIssueParams {
            agent: "a".parse().unwrap(),
            scopes: TokenScopes::all(),
            expires_in_ms,
        };
        let (token, changes) =
            decide_issue_token(&params, &secret, &person_caller(), 1_000).unwrap();
        assert_eq!(changes.writes.len(), 1);
        assert!(!format!("{changes:?}").contains(&secret.secret));
        (secret, token)
    }

    #[test]
    fn token_accepts_its_secret_until_expiry_or_revocation() {
        let (secret, token) = issue_token(Some(500));
        assert_eq!(
            TokenSecret::parse(&secret.token_text()),
            Some(secret.clone())
        );
        assert!(token.accepts(&secret, 1_499));
        assert!(!token.accepts(&secret, 1_500));
        let other = TokenSecret {
            secret: "0".repeat(64),
            ..secret.clone()
        };
        assert!(!token.accepts(&other, 1_000));
        let (revoked, changes) = decide_revoke_token(&token, 1, &person_caller(), 1_200).unwrap();
        assert!(!revoked.accepts(&secret, 1_201));
        assert!(!changes.is_empty());
        assert!(
            decide_revoke_token(&revoked, 2, &person_caller(), 1_300)
                .unwrap()
                .1
                .is_empty()
        );
    }

    #[test]
    fn token_issue_by_agent_is_refused() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let (secret, token) = issue_token(None);
        let params = TokenIssueParams {
            agent: "b".parse().unwrap(),
            scopes: TokenScopes::all(),
            expires_in_ms: None,
        };
        assert_eq!(
            decide_issue_token(&params, &secret, &agent, 0)
                .unwrap_err()
                .code,
            RefusalCode::PERMISSION_DENIED
        );
        assert_eq!(
            decide_revoke_token(&token, 1, &agent, 0).unwrap_err().code,
            RefusalCode::PERMISSION_DENIED
        );
    }

    #[test]
    fn malformed_token_is_rejected() {
        for bad in [
            "",
            "polis_",
            "polis_abc_def",
            "Bearer x",
            "polis_0123456789ab_",
            &"x".repeat(10_000),
        ] {
            assert_eq!(TokenSecret::parse(bad), None, "{bad}");
        }
    }
}
