//! What a client is told when something is not done: a tool's error that a model can act on, or, where
//! there is no tool, an error of the protocol.

use polis_core::{Kind, Refusal};
use polis_ops::OpError;
use polis_ops::tool::Answer;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// A tool's answer: the document for programs, the few words for a model.
pub(crate) fn done(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(answer.text)];
    result.structured_content = Some(answer.document);
    result
}

/// A tool's refusal as text: code, sentence, next step and particulars.
pub(crate) fn not_done(error: &OpError) -> CallToolResult {
    refusal(Answer::refused(error, true))
}

/// A refusal as a tool's result.
///
/// It has no `structuredContent`: the specification wants that to match the tool's output schema, which describes
/// successes, and clients on the TypeScript SDK 1.x replace a result that does not match by an error without the
/// text.
pub(crate) fn refusal(refused: Answer) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(refused.text)];
    result.is_error = Some(true);
    result
}

/// The same as an error of the protocol, for requests that are no tool's; `uri` is the resource they named.
pub(crate) fn protocol(error: &OpError, uri: Option<&str>) -> ErrorData {
    let told = Answer::refused(error, true);
    let mut data = told.document;
    if let (Some(data), Some(uri)) = (data.as_object_mut(), uri) {
        data.insert("uri".to_owned(), Value::from(uri));
    }
    let data = Some(data);
    match error.kind() {
        Kind::NotFound if uri.is_some() => ErrorData::resource_not_found(told.text, data),
        Kind::Internal => ErrorData::internal_error(told.text, data),
        _ => ErrorData::invalid_params(told.text, data),
    }
}

/// A call of a tool that is not there: the protocol wants an error of its own for this.
pub(crate) fn no_tool(refusal: Refusal) -> ErrorData {
    let data = json!({ "error": refusal });
    ErrorData::invalid_params(refusal.message, Some(data))
}

/// A request nobody waits for any more; its answer is not sent.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::internal_error("The request was cancelled.", None)
}
