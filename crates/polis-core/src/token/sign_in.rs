//! How a browser gets a session: with a key that is good once and for a short time, or with a token.
//!
//! A session is a token like any other, marked so that it counts for pages alone. The key is kept as a
//! token is, by its hash; using it removes it in the commit that issues the session, so that of two who
//! use the same key one is refused.

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

/// How long a key is good: ten minutes.
pub const KEY_LIFE_MS: i64 = 10 * 60_000;
/// How long a session lasts: thirty days.
pub const SESSION_LIFE_MS: i64 = 30 * 86_400_000;

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignIn {
    /// Its id.
    pub id: String,
    /// Whose session it begins.
    pub agent: AgentId,
    /// SHA-256 of its secret.
    pub hash: String,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

impl SignIn {
    /// Its record's name.
    pub fn record(id: &str) -> RecordName {
        RecordName::new(RecordKind::SignIn, id)
    }

    /// Whether this is its secret and it is still good; takes the same time whatever is wrong.
    fn admits(&self, key: &Secret, now: i64) -> bool {
        let right = same(digest::of(&key.secret).as_bytes(), self.hash.as_bytes());
        let good = self.expires_at.millis().is_some_and(|end| now < end);
        right && good
    }
}

/// Offers a key for the person's session. Only the person may: whoever has one can be the person. Keys
/// whose time is up are forgotten along the way.
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

/// Uses a key up for a session. `by` is the agent the key was offered for.
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

/// Begins a session with a token: of the same agent, good for the same, and no longer. A session begins no
/// other.
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

/// Ends a session. Its own agent may, which needs no other right.
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

/// What everybody hears whose key does not count, whatever is wrong with it.
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
