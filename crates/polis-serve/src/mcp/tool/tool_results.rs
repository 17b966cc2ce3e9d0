//! Conversion of results and errors to MCP: tool results with an error a model can act on, or protocol errors
//! for requests that are not tool calls.

use polis_core::{Refusal, RefusalKind};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::OpError;
use polis_ops::tool::ToolOutput;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Converts a tool's answer: structured content for programs, text for the model.
pub(crate) fn success_result(answer: ToolOutput) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(answer.text)];
    result.structured_content = Some(answer.document);
    result
}

/// Converts an error to a tool result with text: code, message, next step and details.
pub(crate) fn error_result(error: &OpError, lang: UiLanguage) -> CallToolResult {
    refusal_result(ToolOutput::from_error(error, lang, true))
}

/// Converts a refusal to a tool result.
///
/// It has no `structuredContent`: the specification requires that to match the tool's output schema, which
/// describes successes, and clients on the TypeScript SDK 1.x replace a result that does not match by an
/// error without the text.
pub(crate) fn refusal_result(refused: ToolOutput) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(refused.text)];
    result.is_error = Some(true);
    result
}

/// Converts an error to a protocol error, for requests that are not tool calls. `uri` is the requested
/// resource.
pub(crate) fn protocol_error(error: &OpError, uri: Option<&str>, lang: UiLanguage) -> ErrorData {
    let output = ToolOutput::from_error(error, lang, true);
    let mut data = output.document;
    if let (Some(data), Some(uri)) = (data.as_object_mut(), uri) {
        data.insert("uri".to_owned(), Value::from(uri));
    }
    let data = Some(data);
    match error.kind() {
        RefusalKind::NotFound if uri.is_some() => ErrorData::resource_not_found(output.text, data),
        RefusalKind::Internal => ErrorData::internal_error(output.text, data),
        _ => ErrorData::invalid_params(output.text, data),
    }
}

/// Returns the protocol error for an unknown tool, as the specification requires.
pub(crate) fn unknown_tool_error(refusal: Refusal, lang: UiLanguage) -> ErrorData {
    let error = OpError::from(refusal);
    let document = error.error_document(Surface::Tool, lang);
    let data = json!({ "error": document.error });
    ErrorData::invalid_params(document.error.message, Some(data))
}

/// Returns the error of a cancelled request; it is not sent.
pub(crate) fn cancelled_error() -> ErrorData {
    ErrorData::internal_error("The request was cancelled.", None)
}
