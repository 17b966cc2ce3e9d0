//! Browser sign-in: starts a session with a one-time, short-lived key or with a token.
//!
//! A session is an ordinary token, marked as valid for web pages only. The key is stored like a token, as a
//! hash. The commit that issues the session deletes the key, so that if the same key is used twice, the second
//! use is refused.

use serde::{Deserialize, Serialize};

use super::{Scopes, Secret, Token, only_the_person, same, take_back, told, unauthorized};
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::digest;
use crate::event::kind;
use crate::id::AgentId;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Lifetime of a key: ten minutes.
pub const KEY_LIFE_MS: i64 = 10 * 60_000;
/// Lifetime of a session: thirty days.
pub const SESSION_LIFE_MS: i64 = 30 * 86_400_000;

/// A sign-in key as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignIn {
    /// Its id.
    pub id: String,
    /// The agent whose session it starts.
    pub agent: AgentId,
    /// SHA-256 of its secret.
    pub hash: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl SignIn {
    /// Returns the record name of a key.
    pub fn record(id: &str) -> RecordName {
        RecordName::new(RecordKind::SignIn, id)
    }

    /// Returns whether `key` has the right secret and has not expired. The secret is compared in constant time.
    fn admits(&self, key: &Secret, now: i64) -> bool {
        let right = same(digest::of(&key.secret).as_bytes(), self.hash.as_bytes());
        let good = self.expires_at.millis().is_some_and(|end| now < end);
        right && good
    }
}

/// Creates a sign-in key for the person's session. Only the person may, because the holder of a key can act as
/// the person. Expired keys are deleted in the same commit.
pub fn decide_offer(key: &Secret, by: &Caller, now: i64) -> Result<(SignIn, Changeset), Refusal> {
    only_the_person(by)?;
    let end = now.saturating_add(KEY_LIFE_MS);
    let offer = SignIn {
        id: key.id.clone(),
        agent: by.id.clone(),
        hash: digest::of(&key.secret),
        expires_at: Timestamp::from_millis(end),
    };
    let changes = Changeset::by(by, Timestamp::from_millis(now))
        .write(Write::ForgetRecords {
            kind: RecordKind::SignIn,
            before: now,
        })
        .write(Write::PutRecord {
            name: SignIn::record(&offer.id),
            expect: Expect::Absent,
            expires_at: Some(end),
            body: RecordBody::Text(serde_json::to_string(&offer).unwrap_or_default()),
        });
    Ok((offer, changes))
}

/// Exchanges a key for a session. `by` is the agent that the key was created for.
pub fn decide_enter(
    offer: &SignIn,
    revision: u64,
    key: &Secret,
    session: &Secret,
    by: &Caller,
    now: i64,
) -> Result<(Token, Changeset), Refusal> {
    if !offer.admits(key, now) || by.id != offer.agent {
        return Err(used_up());
    }
    let end = now.saturating_add(SESSION_LIFE_MS);
    let token = begin(session, by, Scopes::all(), end, None, now);
    let changes = Changeset::by(by, token.created_at.clone())
        .write(Write::DeleteRecord {
            name: SignIn::record(&offer.id),
            expect: Expect::Revision(revision),
        })
        .write(token.put(Expect::Absent))
        .event(told(kind::TOKEN_ISSUED, &token));
    Ok((token, changes))
}

/// Starts a session with a token: for the same agent, with the same scopes, and not beyond the token's expiry.
/// A session cannot start another session.
pub fn decide_session(
    with: &Token,
    session: &Secret,
    by: &Caller,
    now: i64,
) -> Result<(Token, Changeset), Refusal> {
    if with.session || by.id != with.agent {
        return Err(unauthorized());
    }
    let usual = now.saturating_add(SESSION_LIFE_MS);
    let end = with.expires_at.as_ref().and_then(Timestamp::millis);
    let end = end.map_or(usual, |end| end.min(usual));
    let token = begin(session, by, with.scopes.clone(), end, Some(&with.id), now);
    let changes = Changeset::by(by, token.created_at.clone())
        .write(token.put(Expect::Absent))
        .event(told(kind::TOKEN_ISSUED, &token));
    Ok((token, changes))
}

/// Ends a session. Only the session's own agent may; no other permission is needed.
pub fn decide_leave(
    session: &Token,
    revision: u64,
    by: &Caller,
    now: i64,
) -> Result<(Token, Changeset), Refusal> {
    if !session.session || session.agent != by.id {
        return Err(unauthorized());
    }
    Ok(take_back(session, revision, by, now))
}

fn begin(
    secret: &Secret,
    by: &Caller,
    scopes: Scopes,
    end: i64,
    with: Option<&str>,
    now: i64,
) -> Token {
    Token {
        id: secret.id.clone(),
        agent: by.id.clone(),
        hash: digest::of(&secret.secret),
        scopes,
        created_at: Timestamp::from_millis(now),
        created_by: by.id.clone(),
        expires_at: Some(Timestamp::from_millis(end)),
        revoked_at: None,
        session: true,
        begun_with: with.map(str::to_owned),
    }
}

/// Returns the refusal for every invalid key. It does not reveal what is wrong with it.
pub fn used_up() -> Refusal {
    Refusal::new(
        Code::Unauthorized,
        "This link does not count: it was used, its time is up, or it is cut off.",
        "run `polis open` for a new one",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person() -> Caller {
        Caller::resolve(AgentId::user(), None).unwrap()
    }

    fn secret(digit: &str) -> Secret {
        Secret::from_random(&digit.repeat(96)).unwrap()
    }

    #[test]
    fn a_key_is_good_for_one_session_of_the_person() {
        let key = secret("a");
        assert_eq!(Secret::parse_key(&key.key()), Some(key.clone()));
        let (offer, changes) = decide_offer(&key, &person(), 1_000).unwrap();
        assert!(changes.events.is_empty(), "an offer is nobody's business");
        assert!(!format!("{changes:?}").contains(&key.secret));
        let enter = |key: &Secret, now| decide_enter(&offer, 3, key, &secret("b"), &person(), now);
        let (session, changes) = enter(&key, 2_000).unwrap();
        assert!(session.session);
        assert_eq!(session.scopes, Scopes::all());
        let removed = Write::DeleteRecord {
            name: SignIn::record(&offer.id),
            expect: Expect::Revision(3),
        };
        assert!(changes.writes.contains(&removed));
        assert!(enter(&secret("c"), 2_000).is_err());
        assert!(enter(&key, 1_000 + KEY_LIFE_MS).is_err());
    }

    #[test]
    fn only_the_person_offers_a_key() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let refused = decide_offer(&secret("a"), &agent, 0).unwrap_err();
        assert_eq!(refused.code, Code::PermissionDenied);
    }

    #[test]
    fn a_session_is_worth_what_its_token_is() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let with = Token {
            session: false,
            scopes: "tasks:read".parse().unwrap(),
            expires_at: Some(Timestamp::from_millis(5_000)),
            ..begin(&secret("a"), &agent, Scopes::all(), 0, None, 0)
        };
        let (session, _) = decide_session(&with, &secret("b"), &agent, 1_000).unwrap();
        assert_eq!(session.scopes, with.scopes);
        assert_eq!(session.expires_at, with.expires_at);
        assert_eq!(session.begun_with.as_deref(), Some(with.id.as_str()));
        assert!(decide_session(&session, &secret("c"), &agent, 1_000).is_err());
        assert!(decide_session(&with, &secret("c"), &person(), 1_000).is_err());
        let (left, changes) = decide_leave(&session, 1, &agent, 2_000).unwrap();
        assert!(left.revoked_at.is_some() && !changes.is_empty());
        assert!(decide_leave(&with, 1, &agent, 2_000).is_err());
        assert!(decide_leave(&session, 1, &person(), 2_000).is_err());
    }

    #[test]
    fn what_is_no_key_is_none() {
        for bad in ["", "abc", &"x".repeat(76), &"a".repeat(77), "字字字字字字"] {
            assert_eq!(Secret::parse_key(bad), None, "{bad}");
        }
    }
}
