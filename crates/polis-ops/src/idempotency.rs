//! Requests that may come again: whoever did not hear an answer asks a second time with the same key, and
//! gets the first answer instead of a second deed.
//!
//! Where the deed is a commit, the answer is kept in that very commit, so there is no moment in which one
//! is there without the other. Where it is outside of the store (a file, a command), the key is kept
//! before and the answer after it; a request that was cut off in between is never done again, its caller is
//! told that nobody knows how far it came.

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

/// How long an answer is kept: a day.
pub const KEPT_MS: i64 = 24 * 3_600 * 1_000;
/// The longest key.
const MAX_KEY: usize = 255;

/// A request that may come again.
#[derive(Debug, Clone)]
struct Once {
    name: RecordName,
    request: String,
    expect: Expect,
}

/// What is kept of a request.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<'a> {
    /// What was asked: the same key with another request is a mistake.
    request: &'a str,
    /// When it is forgotten (milliseconds).
    until: i64,
    /// The answer; none while nobody knows it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    answer: Option<&'a RawValue>,
}

/// An answer, and whether it was given before.
#[derive(Debug, Clone, PartialEq)]
pub struct Replied {
    /// The tool's document, or `{"error":…}` of a deed outside of the store that was refused.
    pub document: Value,
    /// Whether it is the answer of an earlier request.
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

/// The answer to the request is kept in the commit that carries it out.
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

/// An answer as it is kept.
pub(crate) fn kept(answer: &impl Serialize) -> String {
    // Our own types serialise; should one not, the caller hears that nobody knows.
    serde_json::to_string(answer).unwrap_or_default()
}

/// Whether a conflict is about a request that came a second time.
fn is_reply(key: &RecordKey) -> bool {
    matches!(key, RecordKey::Record(name) if name.kind == RecordKind::Reply)
}

/// What is told when an earlier request is not finished.
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

/// Calls a tool, unless a request with this key was answered before: then that answer is given.
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

/// Does something in one commit, unless a request with this key was answered before: then that answer is given.
/// For whoever has an operation and no tool for it; `asked` is all that is asked for.
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

/// Carries out what is in the store's commit, together with its answer.
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
        // Its twin was faster.
        Err(error) if error.code() == Code::OutcomeUnknown => {
            match look(polis, &name, &request).await? {
                Looked::Answered(replied) => Ok(replied),
                Looked::Free(_) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Carries out what is not in the store's commit: the key first, then the deed, then its answer.
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
    // The deed is done and told; should this fail, a second request hears that nobody knows.
    let _ = polis.store.commit(answered).await;
    done.map(|_| Replied {
        document,
        replayed: false,
    })
}

/// What is known of a key.
enum Looked<F> {
    /// It was used for this request, and answered.
    Answered(Replied),
    /// It may be used, with this.
    Free(F),
}

/// Looks at the key of a request that is about to be carried out.
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

/// Whether a key may be used, and what its record has to be like when it is.
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

/// Forgets the answers whose time is up. A server does this now and then.
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

/// What was asked, short: another tool or other parameters give another one.
fn fingerprint(tool: &str, ask: &Ask<'_>) -> String {
    let params: BTreeMap<&String, &Value> = ask.params.iter().collect();
    let params = serde_json::to_string(&params).unwrap_or_default();
    digest::of_parts(&[tool, &params])
}
