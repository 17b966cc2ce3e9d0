//! Idempotency keys: a retry with the same key returns the stored response instead of repeating the side
//! effect.
//!
//! If the effect is a store commit, the response is stored in the same commit, so one never exists without
//! the other. If the effect is outside the store (a file, a command), the key is stored before it and the
//! response after it. A request that was interrupted in between is not repeated: its caller gets
//! `OutcomeUnknown`, because the server cannot know how far the request got. Responses are kept for one day.
//! The same key with another request is refused.
//!
//! The HTTP API calls this for the header `Idempotency-Key`, web pages for their forms. Keys are per agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::changeset::{Receipt, StoreWrite};
use polis_core::json::to_json_text;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{Changeset, RecordKey, Refusal, RefusalCode, WritePrecondition, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::app::App;
use crate::commit_hook::{CommitHook, ResponseBuilder};
use crate::error::{OpError, StoredErrorDocument};
use crate::port::CommitOutcome;
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;
use crate::tool::{Tool, ToolRequest};

/// How long a response is stored: one day.
pub const RESPONSE_TTL_MS: i64 = 24 * 3_600 * 1_000;
/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 255;

/// A request with an idempotency key that has not been answered yet. As a commit hook it stores the response.
#[derive(Debug, Clone)]
struct IdempotentRequest {
    record_name: RecordName,
    fingerprint: String,
    expect: WritePrecondition,
}

/// Stored record of a request.
#[derive(Debug, Serialize, Deserialize)]
struct IdempotencyRecord<'a> {
    /// Fingerprint of the request: using the same key for a different request is an error.
    request: &'a str,
    /// When the record expires (milliseconds).
    until: i64,
    /// The response; `None` while the outcome is unknown.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "answer")]
    response: Option<&'a RawValue>,
}

/// A response, and whether it was replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct IdempotentResponse {
    /// The tool's document, or `{"error":…}` if an operation outside the store was refused.
    pub document: Value,
    /// Whether this is the stored response of an earlier request.
    pub replayed: bool,
}

impl IdempotentRequest {
    fn put_record(&self, until: i64, body: RecordBody) -> StoreWrite {
        StoreWrite::PutRecord {
            name: self.record_name.clone(),
            expect: self.expect,
            expires_at: Some(until),
            body,
        }
    }
}

/// Stores the response in the commit that carries out the request.
impl CommitHook for IdempotentRequest {
    fn add_writes(&self, changes: Changeset, now: i64, answer: ResponseBuilder) -> Changeset {
        let request = self.fingerprint.clone();
        let until = now.saturating_add(RESPONSE_TTL_MS);
        let body = move |receipt: &Receipt| record_body(&request, until, Some(&answer(receipt)));
        changes.with_write(self.put_record(until, RecordBody::FromReceipt(Arc::new(body))))
    }

    fn refusal_on_conflict(&self, key: &RecordKey) -> Option<Refusal> {
        is_idempotency_record(key).then(outcome_unknown)
    }

    fn on_committed(&self, _: &Receipt) {}
}

/// Serializes a response for storage.
pub(crate) fn serialize_response(answer: &impl Serialize) -> String {
    // Our own types always serialize; if one did not, a retry would get `OutcomeUnknown`.
    to_json_text(answer)
}

/// Returns whether a conflict is about the record of an idempotency key, that is, a duplicate request.
fn is_idempotency_record(key: &RecordKey) -> bool {
    matches!(key, RecordKey::Record(name) if name.kind == RecordKind::IdempotencyResponse)
}

/// The refusal for a retry while the earlier request is not finished.
fn outcome_unknown() -> Refusal {
    Refusal::from(OperationRefusal::ResponseUnknown)
}

fn record_body(request: &str, until: i64, response: Option<&str>) -> String {
    let response = response.and_then(|text| serde_json::from_str(text).ok());
    let record = IdempotencyRecord {
        request,
        until,
        response,
    };
    to_json_text(&record)
}

/// Calls a tool, or returns the stored response if a request with this key was answered before. Fails with
/// `invalid_input` if the key is invalid, with `idempotency_key_reused` if it was used for another request,
/// with `outcome_unknown` if the outcome of an earlier request is not known, and like the tool.
pub async fn call_idempotent(
    request: &Request,
    tool: &'static Tool,
    call: ToolRequest,
    key: &str,
) -> Result<IdempotentResponse, OpError> {
    let fingerprint = request_fingerprint(tool.name, &call);
    let idempotent_request = match look_up_key(request, key, fingerprint).await? {
        KeyLookup::Replay(response) => return Ok(response),
        KeyLookup::Unused(idempotent_request) => idempotent_request,
    };
    if tool.acts_outside_store {
        return run_outside_store(request, tool, call, idempotent_request).await;
    }
    let operation = async move |hooked: Request| Ok(tool.call(&hooked, call).await?.document);
    run_in_commit(request, idempotent_request, operation).await
}

/// Runs an operation that makes one commit, or returns the stored response if a request with this key was
/// answered before. For callers that have an operation but no tool for it. `request_parts` must contain
/// everything that identifies the request. Fails with `invalid_input` if the key is invalid, with
/// `idempotency_key_reused` if it was used for another request, with `outcome_unknown` if the outcome of an
/// earlier request is not known, and like the operation.
pub async fn run_idempotent<V, F>(
    request: &Request,
    key: &str,
    request_parts: &[&str],
    operation: impl FnOnce(Request) -> F,
) -> Result<IdempotentResponse, OpError>
where
    V: Serialize,
    F: Future<Output = Result<V, OpError>>,
{
    let fingerprint = digest::sha256_hex_of_parts(request_parts);
    let idempotent_request = match look_up_key(request, key, fingerprint).await? {
        KeyLookup::Replay(response) => return Ok(response),
        KeyLookup::Unused(idempotent_request) => idempotent_request,
    };
    let operation = |hooked| {
        let response = operation(hooked);
        async { Ok(serde_json::to_value(response.await?).unwrap_or_default()) }
    };
    run_in_commit(request, idempotent_request, operation).await
}

/// Runs an operation whose effect is a store commit; the response is stored in the same commit.
async fn run_in_commit<F>(
    request: &Request,
    idempotent_request: IdempotentRequest,
    operation: impl FnOnce(Request) -> F,
) -> Result<IdempotentResponse, OpError>
where
    F: Future<Output = Result<Value, OpError>>,
{
    let (name, fingerprint) = (
        idempotent_request.record_name.clone(),
        idempotent_request.fingerprint.clone(),
    );
    match operation(request.with_commit_hook(Arc::new(idempotent_request))).await {
        Ok(document) => Ok(IdempotentResponse {
            document,
            replayed: false,
        }),
        // A concurrent request with the same key committed first.
        Err(error) if error.code() == RefusalCode::OUTCOME_UNKNOWN => {
            match look_up_record(&request.app, &name, &fingerprint).await? {
                KeyLookup::Replay(response) => Ok(response),
                KeyLookup::Unused(_) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Runs a tool whose effect is outside the store: stores the key first, then calls the tool, then stores the
/// response.
async fn run_outside_store(
    request: &Request,
    tool: &'static Tool,
    call: ToolRequest,
    mut idempotent_request: IdempotentRequest,
) -> Result<IdempotentResponse, OpError> {
    let caller = request.resolve_caller().await?;
    let until = request
        .app
        .clock
        .now_millis()
        .saturating_add(RESPONSE_TTL_MS);
    let start_write = idempotent_request.put_record(
        until,
        RecordBody::Text(record_body(&idempotent_request.fingerprint, until, None)),
    );
    let start_write = Changeset::new(&caller, request.app.now()).with_write(start_write);
    if let CommitOutcome::Conflict(_) = request.app.store.commit(start_write).await? {
        return match look_up_record(
            &request.app,
            &idempotent_request.record_name,
            &idempotent_request.fingerprint,
        )
        .await?
        {
            KeyLookup::Replay(response) => Ok(response),
            KeyLookup::Unused(_) => Err(outcome_unknown().into()),
        };
    }
    let outcome = tool.call(request, call).await;
    let document = match &outcome {
        Ok(answer) => answer.document.clone(),
        Err(error) => {
            serde_json::to_value(StoredErrorDocument::from_error(error)).unwrap_or_default()
        }
    };
    idempotent_request.expect = match idempotent_request.expect {
        WritePrecondition::Absent => WritePrecondition::Revision(1),
        WritePrecondition::Revision(revision) => WritePrecondition::Revision(revision + 1),
    };
    let answer = record_body(
        &idempotent_request.fingerprint,
        until,
        Some(&document.to_string()),
    );
    let response_write = idempotent_request.put_record(until, RecordBody::Text(answer));
    let response_write = Changeset::new(&caller, request.app.now()).with_write(response_write);
    // The effect has happened and its response is returned anyway. If this commit fails, a retry gets
    // `OutcomeUnknown`.
    let _ = request.app.store.commit(response_write).await;
    outcome.map(|_| IdempotentResponse {
        document,
        replayed: false,
    })
}

/// Result of looking up a key.
enum KeyLookup<F> {
    /// The key was used for this request, and the response is stored.
    Replay(IdempotentResponse),
    /// The key may be used, with this data.
    Unused(F),
}

/// Looks up the key of a request that is about to be carried out.
async fn look_up_key(
    request: &Request,
    key: &str,
    fingerprint: String,
) -> Result<KeyLookup<IdempotentRequest>, OpError> {
    check_key(key)?;
    let caller = request.agent();
    let name = RecordName::new(RecordKind::IdempotencyResponse, format!("{caller}/{key}"));
    Ok(
        match look_up_record(&request.app, &name, &fingerprint).await? {
            KeyLookup::Replay(response) => KeyLookup::Replay(response),
            KeyLookup::Unused(expect) => KeyLookup::Unused(IdempotentRequest {
                record_name: name,
                fingerprint,
                expect,
            }),
        },
    )
}

/// Checks whether a key may be used, and returns the expected state of its record for the commit.
async fn look_up_record(
    app: &App,
    name: &RecordName,
    request: &str,
) -> Result<KeyLookup<WritePrecondition>, OpError> {
    let Some(stored) = app.store.record(name).await? else {
        return Ok(KeyLookup::Unused(WritePrecondition::Absent));
    };
    let free = KeyLookup::Unused(WritePrecondition::Revision(stored.revision));
    let Ok(record) = serde_json::from_str::<IdempotencyRecord<'_>>(&stored.body) else {
        return Ok(free);
    };
    if record.until <= app.clock.now_millis() {
        return Ok(free);
    }
    if record.request != request {
        return Err(Refusal::from(OperationRefusal::KeyReused).into());
    }
    let answer = record
        .response
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    let Some(document) = answer else {
        return Err(outcome_unknown().into());
    };
    Ok(KeyLookup::Replay(IdempotentResponse {
        document,
        replayed: true,
    }))
}

/// Deletes expired responses. A server calls this periodically. Fails only if the store does.
pub async fn delete_expired_responses(app: &App) -> Result<(), OpError> {
    let caller = app.person_request().resolve_caller().await?;
    let forget = StoreWrite::DeleteExpiredRecords {
        kind: RecordKind::IdempotencyResponse,
        before: app.clock.now_millis(),
    };
    let changes = Changeset::new(&caller, app.now()).with_write(forget);
    app.store.commit(changes).await?;
    Ok(())
}

fn check_key(key: &str) -> Result<(), Refusal> {
    if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Refusal::from(OperationRefusal::InvalidKey))
}

/// Hash of the request: a different tool or different parameters give a different fingerprint.
fn request_fingerprint(tool: &str, call: &ToolRequest) -> String {
    let params: BTreeMap<&String, &Value> = call.params.iter().collect();
    let params = to_json_text(&params);
    digest::sha256_hex_of_parts(&[tool, &params])
}
