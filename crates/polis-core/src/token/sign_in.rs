//! Browser sign-in: creates a one-time, short-lived key, starts a session with a key or a token, and ends it.
//!
//! A session is an ordinary token, marked as valid for web pages only. The key is stored like a token, as a
//! hash. The commit that issues the session deletes the key, so that if the same key is used twice, the
//! second use is refused.

use serde::{Deserialize, Serialize};

use super::{
    ApiToken, TokenScopes, TokenSecret, constant_time_eq, require_person, revoke_token,
    token_event, unauthorized_refusal,
};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::digest;
use crate::event::EventPayload;
use crate::id::AgentId;
use crate::json::to_json_text;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Refusal, TokenRefusal};
use crate::timestamp::Timestamp;

/// Lifetime of a key: ten minutes.
pub const SIGN_IN_KEY_LIFETIME_MS: i64 = 10 * 60_000;
/// Lifetime of a session: thirty days.
pub const BROWSER_SESSION_LIFETIME_MS: i64 = 30 * 86_400_000;

/// A sign-in key as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInKey {
    /// Public part of the key, by which it is found.
    pub id: String,
    /// The agent whose session it starts.
    pub agent: AgentId,
    /// SHA-256 of its secret.
    pub hash: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl SignInKey {
    /// Returns the record name of a key.
    pub fn record_name(id: &str) -> RecordName {
        RecordName::new(RecordKind::SignIn, id)
    }

    /// Returns whether `key` has the right secret and has not expired. The secret is compared in constant
    /// time.
    fn accepts(&self, key: &TokenSecret, now: i64) -> bool {
        let matches = constant_time_eq(
            digest::sha256_hex(&key.secret).as_bytes(),
            self.hash.as_bytes(),
        );
        let unexpired = self.expires_at.millis().is_some_and(|end| now < end);
        matches && unexpired
    }
}

/// Creates a sign-in key for the person's session. Fails with `permission_denied` for any other caller,
/// because the holder of a key can act as the person. Expired keys are deleted in the same commit.
pub fn decide_create_sign_in_key(
    key: &TokenSecret,
    caller: &Caller,
    now: i64,
) -> Result<(SignInKey, Changeset), Refusal> {
    require_person(caller)?;
    let end = now.saturating_add(SIGN_IN_KEY_LIFETIME_MS);
    let sign_in_key = SignInKey {
        id: key.id.clone(),
        agent: caller.id.clone(),
        hash: digest::sha256_hex(&key.secret),
        expires_at: Timestamp::from_millis(end),
    };
    let changes = Changeset::new(caller, Timestamp::from_millis(now))
        .with_write(StoreWrite::DeleteExpiredRecords {
            kind: RecordKind::SignIn,
            before: now,
        })
        .with_write(StoreWrite::PutRecord {
            name: SignInKey::record_name(&sign_in_key.id),
            expect: WritePrecondition::Absent,
            expires_at: Some(end),
            body: RecordBody::Text(to_json_text(&sign_in_key)),
        });
    Ok((sign_in_key, changes))
}

/// Exchanges a key for a session. `caller` must be the agent that the key was created for. Fails with
/// [`invalid_sign_in_key`].
pub fn decide_sign_in_with_key(
    sign_in_key: &SignInKey,
    revision: u64,
    key: &TokenSecret,
    session: &TokenSecret,
    caller: &Caller,
    now: i64,
) -> Result<(ApiToken, Changeset), Refusal> {
    if !sign_in_key.accepts(key, now) || caller.id != sign_in_key.agent {
        return Err(invalid_sign_in_key());
    }
    let end = now.saturating_add(BROWSER_SESSION_LIFETIME_MS);
    let token = new_session_token(session, caller, TokenScopes::all(), end, None, now);
    let changes = Changeset::new(caller, token.created_at.clone())
        .with_write(StoreWrite::DeleteRecord {
            name: SignInKey::record_name(&sign_in_key.id),
            expect: WritePrecondition::Revision(revision),
        })
        .with_write(token.to_write(WritePrecondition::Absent))
        .with_event(token_event(EventPayload::TokenIssued, &token));
    Ok((token, changes))
}

/// Starts a session with a token: for the same agent, with the same scopes, and not beyond the token's
/// expiry. A session cannot start another session. Fails with `unauthorized`.
pub fn decide_sign_in_with_token(
    token_used: &ApiToken,
    session: &TokenSecret,
    caller: &Caller,
    now: i64,
) -> Result<(ApiToken, Changeset), Refusal> {
    if token_used.session || caller.id != token_used.agent {
        return Err(unauthorized_refusal());
    }
    let default_end = now.saturating_add(BROWSER_SESSION_LIFETIME_MS);
    let end = token_used.expires_at.as_ref().and_then(Timestamp::millis);
    let end = end.map_or(default_end, |end| end.min(default_end));
    let token = new_session_token(
        session,
        caller,
        token_used.scopes.clone(),
        end,
        Some(&token_used.id),
        now,
    );
    let changes = Changeset::new(caller, token.created_at.clone())
        .with_write(token.to_write(WritePrecondition::Absent))
        .with_event(token_event(EventPayload::TokenIssued, &token));
    Ok((token, changes))
}

/// Ends a session. Fails with `unauthorized` unless the caller is the session's own agent; no other
/// permission is needed.
pub fn decide_sign_out(
    session: &ApiToken,
    revision: u64,
    caller: &Caller,
    now: i64,
) -> Result<(ApiToken, Changeset), Refusal> {
    if !session.session || session.agent != caller.id {
        return Err(unauthorized_refusal());
    }
    Ok(revoke_token(session, revision, caller, now))
}

fn new_session_token(
    secret: &TokenSecret,
    caller: &Caller,
    scopes: TokenScopes,
    end: i64,
    begun_with: Option<&str>,
    now: i64,
) -> ApiToken {
    ApiToken {
        id: secret.id.clone(),
        agent: caller.id.clone(),
        hash: digest::sha256_hex(&secret.secret),
        scopes,
        created_at: Timestamp::from_millis(now),
        created_by: caller.id.clone(),
        expires_at: Some(Timestamp::from_millis(end)),
        revoked_at: None,
        session: true,
        parent_token_id: begun_with.map(str::to_owned),
    }
}

/// Returns the refusal for every invalid key. It does not reveal what is wrong with it.
pub fn invalid_sign_in_key() -> Refusal {
    Refusal::from(TokenRefusal::SignInLinkInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    fn person_caller() -> Caller {
        Caller::resolve(AgentId::user(), None).unwrap()
    }

    fn test_secret(digit: &str) -> TokenSecret {
        TokenSecret::from_random(&digit.repeat(96)).unwrap()
    }

    #[test]
    fn sign_in_key_starts_one_session() {
        let key = test_secret("a");
        assert_eq!(
            TokenSecret::parse_sign_in_key(&key.sign_in_key()),
            Some(key.clone())
        );
        let (created, changes) = decide_create_sign_in_key(&key, &person_caller(), 1_000).unwrap();
        assert!(changes.events.is_empty(), "creating a key is not logged");
        assert!(!format!("{changes:?}").contains(&key.secret));
        let sign_in = |key: &TokenSecret, now| {
            decide_sign_in_with_key(&created, 3, key, &test_secret("b"), &person_caller(), now)
        };
        let (session, changes) = sign_in(&key, 2_000).unwrap();
        assert!(session.session);
        assert_eq!(session.scopes, TokenScopes::all());
        let removed = StoreWrite::DeleteRecord {
            name: SignInKey::record_name(&created.id),
            expect: WritePrecondition::Revision(3),
        };
        assert!(changes.writes.contains(&removed));
        assert!(sign_in(&test_secret("c"), 2_000).is_err());
        assert!(sign_in(&key, 1_000 + SIGN_IN_KEY_LIFETIME_MS).is_err());
    }

    #[test]
    fn sign_in_key_for_agent_is_refused() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let refused = decide_create_sign_in_key(&test_secret("a"), &agent, 0).unwrap_err();
        assert_eq!(refused.code, RefusalCode::PERMISSION_DENIED);
    }

    #[test]
    fn session_has_the_scopes_and_expiry_of_its_token() {
        let agent = Caller::resolve("a".parse().unwrap(), None).unwrap();
        let with = ApiToken {
            session: false,
            scopes: "tasks:read".parse().unwrap(),
            expires_at: Some(Timestamp::from_millis(5_000)),
            ..new_session_token(&test_secret("a"), &agent, TokenScopes::all(), 0, None, 0)
        };
        let (session, _) =
            decide_sign_in_with_token(&with, &test_secret("b"), &agent, 1_000).unwrap();
        assert_eq!(session.scopes, with.scopes);
        assert_eq!(session.expires_at, with.expires_at);
        assert_eq!(session.parent_token_id.as_deref(), Some(with.id.as_str()));
        assert!(decide_sign_in_with_token(&session, &test_secret("c"), &agent, 1_000).is_err());
        assert!(
            decide_sign_in_with_token(&with, &test_secret("c"), &person_caller(), 1_000).is_err()
        );
        let (left, changes) = decide_sign_out(&session, 1, &agent, 2_000).unwrap();
        assert!(left.revoked_at.is_some() && !changes.is_empty());
        assert!(decide_sign_out(&with, 1, &agent, 2_000).is_err());
        assert!(decide_sign_out(&session, 1, &person_caller(), 2_000).is_err());
    }

    #[test]
    fn malformed_sign_in_key_is_rejected() {
        for bad in ["", "abc", &"x".repeat(76), &"a".repeat(77), "字字字字字字"] {
            assert_eq!(TokenSecret::parse_sign_in_key(bad), None, "{bad}");
        }
    }
}
