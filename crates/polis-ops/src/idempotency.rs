//! Idempotency keys: a retry with the same key returns the stored response instead of repeating the side effect.
//!
//! If the effect is a store commit, the response is stored in the same commit, so one never exists without the other.
//! If the effect is outside the store (a file, a command), the key is stored before it and the response after it. A
//! request that was interrupted in between is never repeated: its caller gets `OutcomeUnknown`, because the server
//! cannot know how far the request got.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::changeset::{Receipt, Write};
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{AgentId, Changeset, Code, Expect, RecordKey, Refusal, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::commit_hook::{Alongside, AnswerOf};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::Outcome;
use crate::tool::{Ask, Tool};

/// How long a response is stored: one day.
pub const KEPT_MS: i64 = 24 * 3_600 * 1_000;
/// Maximum length of a key in bytes.
const MAX_KEY: usize = 255;

/// A request with an idempotency key that has not been answered yet. As a commit hook it stores the response.
#[derive(Debug, Clone)]
struct Once {
    name: RecordName,
    request: String,
    expect: Expect,
}

/// Stored record of a request.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<'a> {
    /// Fingerprint of the request: using the same key for a different request is an error.
    request: &'a str,
    /// When the record expires (milliseconds).
    until: i64,
    /// The response; `None` while the outcome is unknown.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    answer: Option<&'a RawValue>,
}

/// A response, and whether it was replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Replied {
    /// The tool's document, or `{"error":…}` if an operation outside the store was refused.
    pub document: Value,
    /// Whether this is the stored response of an earlier request.
    pub replayed: bool,
}

impl Once {
    fn put(&self, until: i64, body: RecordBody) -> Write {
        Write::PutRecord {
            name: self.name.clone(),
            expect: self.expect,
            expires_at: Some(until),
            body,
        }
    }
}

/// Stores the response in the commit that carries out the request.
impl Alongside for Once {
    fn join(&self, changes: Changeset, now: i64, answer: AnswerOf) -> Changeset {
        let request = self.request.clone();
        let until = now.saturating_add(KEPT_MS);
        let body = move |receipt: &Receipt| body(&request, until, Some(&answer(receipt)));
        changes.write(self.put(until, RecordBody::OfReceipt(Arc::new(body))))
    }

    fn lost(&self, key: &RecordKey) -> Option<Refusal> {
        is_reply(key).then(unknown)
    }

    fn committed(&self, _: &Receipt) {}
}

/// Serializes a response for storage.
pub(crate) fn kept(answer: &impl Serialize) -> String {
    // Our own types always serialize; if one did not, a retry would get `OutcomeUnknown`.
    serde_json::to_string(answer).unwrap_or_default()
}

/// Returns whether a conflict is about the record of an idempotency key, that is, a duplicate request.
fn is_reply(key: &RecordKey) -> bool {
    matches!(key, RecordKey::Record(name) if name.kind == RecordKind::Reply)
}

/// The refusal for a retry while the earlier request is not finished.
fn unknown() -> Refusal {
    Refusal::new(
        Code::OutcomeUnknown,
        "An earlier request with this key is still being carried out, or was cut off; what it did is not known.",
        "look at the state of things, and use a new key if it has to be done",
    )
}

fn body(request: &str, until: i64, answer: Option<&str>) -> String {
    let answer = answer.and_then(|text| serde_json::from_str(text).ok());
    let kept = Kept {
        request,
        until,
        answer,
    };
    serde_json::to_string(&kept).unwrap_or_default()
}

/// Calls a tool, or returns the stored response if a request with this key was answered before.
pub async fn call_once(
    polis: &Polis,
    tool: &'static Tool,
    ask: Ask<'_>,
    key: &str,
) -> Result<Replied, OpError> {
    let once = match take(polis, ask.by, key, fingerprint(tool.name, &ask)).await? {
        Looked::Answered(replied) => return Ok(replied),
        Looked::Free(once) => once,
    };
    if tool.outside {
        return outside(polis, tool, ask, once).await;
    }
    let call = async move |ground: Polis| Ok(tool.call(&ground, ask).await?.document);
    within(polis, once, call).await
}

/// Runs an operation that makes one commit, or returns the stored response if a request with this key was answered
/// before. For callers that have an operation but no tool for it. `asked` must contain everything that identifies the
/// request.
pub async fn do_once<V, F>(
    polis: &Polis,
    by: &AgentId,
    key: &str,
    asked: &[&str],
    deed: impl FnOnce(Polis) -> F,
) -> Result<Replied, OpError>
where
    V: Serialize,
    F: Future<Output = Result<V, OpError>>,
{
    let once = match take(polis, by, key, digest::of_parts(asked)).await? {
        Looked::Answered(replied) => return Ok(replied),
        Looked::Free(once) => once,
    };
    let deed = |ground| {
        let done = deed(ground);
        async { Ok(serde_json::to_value(done.await?).unwrap_or_default()) }
    };
    within(polis, once, deed).await
}

/// Runs an operation whose effect is a store commit; the response is stored in the same commit.
async fn within<F>(
    polis: &Polis,
    once: Once,
    deed: impl FnOnce(Polis) -> F,
) -> Result<Replied, OpError>
where
    F: Future<Output = Result<Value, OpError>>,
{
    let (name, request) = (once.name.clone(), once.request.clone());
    match deed(polis.alongside(Arc::new(once))).await {
        Ok(document) => Ok(Replied {
            document,
            replayed: false,
        }),
        // A concurrent request with the same key committed first.
        Err(error) if error.code() == Code::OutcomeUnknown => {
            match look(polis, &name, &request).await? {
                Looked::Answered(replied) => Ok(replied),
                Looked::Free(_) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Runs a tool whose effect is outside the store: stores the key first, then calls the tool, then stores the response.
async fn outside(
    polis: &Polis,
    tool: &'static Tool,
    ask: Ask<'_>,
    mut once: Once,
) -> Result<Replied, OpError> {
    let caller = polis.caller(ask.by).await?;
    let until = polis.clock.now_millis().saturating_add(KEPT_MS);
    let begun = once.put(until, RecordBody::Text(body(&once.request, until, None)));
    let begun = Changeset::by(&caller, polis.now()).write(begun);
    if let Outcome::Conflict(_) = polis.store.commit(begun).await? {
        return match look(polis, &once.name, &once.request).await? {
            Looked::Answered(replied) => Ok(replied),
            Looked::Free(_) => Err(unknown().into()),
        };
    }
    let done = tool.call(polis, ask).await;
    let document = match &done {
        Ok(answer) => answer.document.clone(),
        Err(error) => serde_json::to_value(error.document()).unwrap_or_default(),
    };
    once.expect = match once.expect {
        Expect::Absent => Expect::Revision(1),
        Expect::Revision(before) => Expect::Revision(before + 1),
    };
    let answer = body(&once.request, until, Some(&document.to_string()));
    let answered = once.put(until, RecordBody::Text(answer));
    let answered = Changeset::by(&caller, polis.now()).write(answered);
    // The effect has happened and its response is returned anyway. If this commit fails, a retry gets `OutcomeUnknown`.
    let _ = polis.store.commit(answered).await;
    done.map(|_| Replied {
        document,
        replayed: false,
    })
}

/// Result of looking up a key.
enum Looked<F> {
    /// The key was used for this request, and the response is stored.
    Answered(Replied),
    /// The key may be used, with this data.
    Free(F),
}

/// Looks up the key of a request that is about to be carried out.
async fn take(
    polis: &Polis,
    by: &AgentId,
    key: &str,
    request: String,
) -> Result<Looked<Once>, OpError> {
    check_key(key)?;
    let name = RecordName::new(RecordKind::Reply, format!("{by}/{key}"));
    Ok(match look(polis, &name, &request).await? {
        Looked::Answered(replied) => Looked::Answered(replied),
        Looked::Free(expect) => Looked::Free(Once {
            name,
            request,
            expect,
        }),
    })
}

/// Checks whether a key may be used, and returns the expected state of its record for the commit.
async fn look(polis: &Polis, name: &RecordName, request: &str) -> Result<Looked<Expect>, OpError> {
    let Some(stored) = polis.store.record(name).await? else {
        return Ok(Looked::Free(Expect::Absent));
    };
    let free = Looked::Free(Expect::Revision(stored.revision));
    let Ok(kept) = serde_json::from_str::<Kept<'_>>(&stored.body) else {
        return Ok(free);
    };
    if kept.until <= polis.clock.now_millis() {
        return Ok(free);
    }
    if kept.request != request {
        return Err(Refusal::new(
            Code::IdempotencyKeyReused,
            "This key was used for another request.",
            "use a new key for a new request, and an old one only to repeat its request to the letter",
        )
        .into());
    }
    let answer = kept
        .answer
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    let Some(document) = answer else {
        return Err(unknown().into());
    };
    Ok(Looked::Answered(Replied {
        document,
        replayed: true,
    }))
}

/// Deletes expired responses. A server calls this periodically.
pub async fn forget_replies(polis: &Polis) -> Result<(), OpError> {
    let caller = polis.caller(&AgentId::user()).await?;
    let forget = Write::ForgetRecords {
        kind: RecordKind::Reply,
        before: polis.clock.now_millis(),
    };
    let changes = Changeset::by(&caller, polis.now()).write(forget);
    polis.store.commit(changes).await?;
    Ok(())
}

fn check_key(key: &str) -> Result<(), Refusal> {
    if (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidInput,
        "An idempotency key is 1 to 255 visible ASCII characters.",
        "use a random one for each request, such as a UUID",
    ))
}

/// Hash of the request: a different tool or different parameters give a different fingerprint.
fn fingerprint(tool: &str, ask: &Ask<'_>) -> String {
    let params: BTreeMap<&String, &Value> = ask.params.iter().collect();
    let params = serde_json::to_string(&params).unwrap_or_default();
    digest::of_parts(&[tool, &params])
}
