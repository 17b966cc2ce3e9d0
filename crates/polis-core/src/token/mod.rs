//! API tokens: authentication of agents and the person over a network.
//!
//! A token's text is `polis_ID_SECRET`. Only a hash of the secret is stored, so that a stolen store gives no
//! access. It needs no salt, because the secret is random and long. The operations store and look up tokens.

mod scope;
mod sign_in;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use scope::{Access, Area, Scopes};
pub use sign_in::{
    KEY_LIFE_MS, SESSION_LIFE_MS, SignIn, decide_enter, decide_leave, decide_offer, decide_session,
    used_up,
};

use crate::caller::{Caller, Standing};
use crate::changeset::{Changeset, Expect, Write};
use crate::digest;
use crate::event::{NewEvent, Subject, kind};
use crate::id::{AgentId, quoted};
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Prefix of every token, so that people and secret scanners recognize one.
const PREFIX: &str = "polis_";
/// Number of hexadecimal digits in an id.
const ID_DIGITS: usize = 12;
/// Number of hexadecimal digits in a secret.
const SECRET_DIGITS: usize = 64;

/// A token as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Its id.
    pub id: String,
    /// The agent it authenticates; `user` for the person.
    pub agent: AgentId,
    /// SHA-256 of its secret.
    pub hash: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it was issued.
    pub created_at: Timestamp,
    /// Who issued it.
    pub created_by: AgentId,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether it is a browser session, which is valid for web pages only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
    /// The token that the session was started with. The session is valid only as long as that token is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_with: Option<String>,
}

/// A token as it is shown: without its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Its id.
    pub id: String,
    /// Who may act with it.
    pub agent: AgentId,
    /// What it is good for.
    pub scopes: Scopes,
    /// Whether it counts now.
    pub status: TokenStatus,
    /// When it was issued.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: AgentId,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether it is a browser's session.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
    /// The token the session was begun with, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_with: Option<String>,
}

/// Whether a token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenStatus {
    /// It does.
    Active,
    /// Its time is up.
    Expired,
    /// It was taken back.
    Revoked,
}

impl Token {
    /// Returns whether it is valid at this time (milliseconds).
    pub fn status(&self, now: i64) -> TokenStatus {
        if self.revoked_at.is_some() {
            return TokenStatus::Revoked;
        }
        // An expiry time that cannot be parsed counts as expired.
        let ended = |end: &Timestamp| end.millis().is_none_or(|end| end <= now);
        if self.expires_at.as_ref().is_some_and(ended) {
            return TokenStatus::Expired;
        }
        TokenStatus::Active
    }

    /// Returns the token without its hash.
    pub fn view(self, now: i64) -> TokenView {
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
            begun_with: self.begun_with,
        }
    }

    /// Returns whether `secret` is correct and the token is active. The secret is compared in constant time.
    pub fn admits(&self, secret: &Secret, now: i64) -> bool {
        let right = same(digest::of(&secret.secret).as_bytes(), self.hash.as_bytes());
        right && self.status(now) == TokenStatus::Active
    }

    fn name(&self) -> RecordName {
        RecordName::new(RecordKind::Token, &self.id)
    }

    fn put(&self, expect: Expect) -> Write {
        Write::PutRecord {
            name: self.name(),
            expect,
            expires_at: None,
            body: RecordBody::Text(serde_json::to_string(self).unwrap_or_default()),
        }
    }
}

/// A parsed token text. It is never printed: its `Debug` output omits the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The token's id.
    pub id: String,
    secret: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Secret {
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
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let digits =
            |text: &str, many| text.len() == many && text.bytes().all(|b| b.is_ascii_hexdigit());
        (digits(id, ID_DIGITS) && digits(secret, SECRET_DIGITS)).then(|| Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Parses the key of a sign-in link: id and secret without prefix and separator. Returns `None` if it is
    /// malformed.
    pub fn parse_key(text: &str) -> Option<Self> {
        let (id, secret) = text.split_at_checked(ID_DIGITS)?;
        Self::parse(&format!("{PREFIX}{id}_{secret}"))
    }

    /// Returns the text of a sign-in link's key.
    pub fn key(&self) -> String {
        format!("{}{}", self.id, self.secret)
    }

    /// Returns the token text, which is shown once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }
}

/// Parameters of a new token.
#[derive(Debug, Clone)]
pub struct TokenIssue {
    /// The agent it is for.
    pub agent: AgentId,
    /// Its scopes.
    pub scopes: Scopes,
    /// Its lifetime in milliseconds; unlimited if absent.
    pub expires_in_ms: Option<i64>,
}

/// Decides the issue of a token. Only the person may issue one, because an issuer can act as any agent.
pub fn decide_issue(
    params: &TokenIssue,
    secret: &Secret,
    by: &Caller,
    now: i64,
) -> Result<(Token, Changeset), Refusal> {
    only_the_person(by)?;
    if params.expires_in_ms.is_some_and(|ms| ms <= 0) {
        return Err(Refusal::new(
            Code::InvalidInput,
            "The token would be over before it begins.",
            "give --expires a time from now, such as 30d",
        ));
    }
    let at = Timestamp::from_millis(now);
    let end = params
        .expires_in_ms
        .map(|ms| Timestamp::from_millis(now.saturating_add(ms)));
    let token = Token {
        id: secret.id.clone(),
        agent: params.agent.clone(),
        hash: digest::of(&secret.secret),
        scopes: params.scopes.clone(),
        created_at: at.clone(),
        created_by: by.id.clone(),
        expires_at: end,
        revoked_at: None,
        session: false,
        begun_with: None,
    };
    let changes = Changeset::by(by, at)
        .write(token.put(Expect::Absent))
        .event(told(kind::TOKEN_ISSUED, &token));
    Ok((token, changes))
}

/// Decides the revocation of a token. A token that is already revoked is not changed.
pub fn decide_revoke(
    token: &Token,
    revision: u64,
    by: &Caller,
    now: i64,
) -> Result<(Token, Changeset), Refusal> {
    only_the_person(by)?;
    Ok(take_back(token, revision, by, now))
}

fn take_back(token: &Token, revision: u64, by: &Caller, now: i64) -> (Token, Changeset) {
    let at = Timestamp::from_millis(now);
    let mut token = token.clone();
    let mut changes = Changeset::by(by, at.clone());
    if token.revoked_at.is_none() {
        token.revoked_at = Some(at);
        changes = changes
            .write(token.put(Expect::Revision(revision)))
            .event(told(kind::TOKEN_REVOKED, &token));
    }
    (token, changes)
}

/// Returns the refusal for an unknown token.
pub fn not_found(id: &str) -> Refusal {
    Refusal::new(
        Code::TokenNotFound,
        format!("There is no token {}.", quoted(id)),
        "run `polis agent token list` to see the tokens there are",
    )
}

/// Returns the refusal for every invalid token. It does not reveal what is wrong with it.
pub fn unauthorized() -> Refusal {
    Refusal::new(
        Code::Unauthorized,
        "A valid token is needed.",
        "send `Authorization: Bearer TOKEN`; the person who runs polis issues one with `polis agent token issue AGENT`",
    )
}

fn only_the_person(by: &Caller) -> Result<(), Refusal> {
    if by.standing == Standing::Human {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PermissionDenied,
        "Permission denied: only the person may issue, see and revoke tokens.",
        "ask the person who runs this polis",
    ))
}

/// Fails with `permission_denied` if the caller may not see tokens.
pub fn check_list(by: &Caller) -> Result<(), Refusal> {
    only_the_person(by)
}

fn told(kind: &'static str, token: &Token) -> NewEvent {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        token: &'a str,
        scopes: &'a Scopes,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<&'a Timestamp>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        session: bool,
    }
    let data = Told {
        token: &token.id,
        scopes: &token.scopes,
        expires_at: token.expires_at.as_ref(),
        session: token.session,
    };
    NewEvent::of(kind, Subject::Agent(token.agent.clone()), &data)
}

/// Compares in constant time (for inputs of the same length).
fn same(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |seen, (x, y)| seen | (x ^ y));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person() -> Caller {
        Caller::resolve(AgentId::user(), None).unwrap()
    }

    fn issue(expires_in_ms: Option<i64>) -> (Secret, Token) {
        let secret = Secret::from_random(&"0123456789abcdef".repeat(5)).unwrap();
        let params = TokenIssue {
            agent: "a".parse().unwrap(),
            scopes: Scopes::all(),
            expires_in_ms,
        };
        let (token, changes) = decide_issue(&params, &secret, &person(), 1_000).unwrap();
        assert_eq!(changes.writes.len(), 1);
        assert!(!format!("{changes:?}").contains(&secret.secret));
        (secret, token)
    }

    #[test]
    fn a_token_admits_its_secret_until_it_ends() {
        let (secret, token) = issue(Some(500));
        assert_eq!(Secret::parse(&secret.text()), Some(secret.clone()));
        assert!(token.admits(&secret, 1_499));
        assert!(!token.admits(&secret, 1_500));
        let other = Secret {
            secret: "0".repeat(64),
            ..secret.clone()
        };
        assert!(!token.admits(&other, 1_000));
        let (revoked, changes) = decide_revoke(&token, 1, &person(), 1_200).unwrap();
        assert!(!revoked.admits(&secret, 1_201));
        assert!(!changes.is_empty());
        assert!(
            decide_revoke(&revoked, 2, &person(), 1_300)
                .unwrap()
                .1
                .is_empty()
        );
    }

    #[test]
    fn only_the_person_issues() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let (secret, token) = issue(None);
        let params = TokenIssue {
            agent: "b".parse().unwrap(),
            scopes: Scopes::all(),
            expires_in_ms: None,
        };
        assert_eq!(
            decide_issue(&params, &secret, &agent, 0).unwrap_err().code,
            Code::PermissionDenied
        );
        assert_eq!(
            decide_revoke(&token, 1, &agent, 0).unwrap_err().code,
            Code::PermissionDenied
        );
    }

    #[test]
    fn what_is_no_token_is_none() {
        for bad in [
            "",
            "polis_",
            "polis_abc_def",
            "Bearer x",
            "polis_0123456789ab_",
            &"x".repeat(10_000),
        ] {
            assert_eq!(Secret::parse(bad), None, "{bad}");
        }
    }
}
