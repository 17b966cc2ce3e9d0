//! Conversion of results and errors to MCP: tool results with an error a model can act on, or protocol errors
//! for requests that are not tool calls.

use polis_core::{Kind, Refusal};
use polis_ops::OpError;
use polis_ops::tool::Answer;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Converts a tool's answer: structured content for programs, text for the model.
pub(crate) fn done(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(answer.text)];
    result.structured_content = Some(answer.document);
    result
}

/// Converts an error to a tool result with text: code, message, next step and details.
pub(crate) fn not_done(error: &OpError) -> CallToolResult {
    refusal(Answer::refused(error, true))
}

/// Converts a refusal to a tool result.
///
/// It has no `structuredContent`: the specification requires that to match the tool's output schema, which
/// describes successes, and clients on the TypeScript SDK 1.x replace a result that does not match by an
/// error without the text.
pub(crate) fn refusal(refused: Answer) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(refused.text)];
    result.is_error = Some(true);
    result
}

/// Converts an error to a protocol error, for requests that are not tool calls. `uri` is the requested
/// resource.
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

/// Returns the protocol error for an unknown tool, as the specification requires.
pub(crate) fn no_tool(refusal: Refusal) -> ErrorData {
    let data = json!({ "error": refusal });
    ErrorData::invalid_params(refusal.message, Some(data))
}

/// Returns the error of a cancelled request; it is not sent.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::internal_error("The request was cancelled.", None)
}
