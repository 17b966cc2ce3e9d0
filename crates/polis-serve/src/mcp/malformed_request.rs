//! Responses to requests that `rmcp` could not parse: a protocol error if the protocol revision has no such
//! method or the parameters are invalid. A tool call whose `arguments` are not an object gets a tool result
//! with an error instead, which the model sees.

use polis_core::Refusal;
use polis_i18n::{UiLanguage, msg};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, ProtocolVersion};
use serde_json::Value;

use super::tool::tool_results;
use crate::refusal_tables::McpRefusal;

/// Methods of every protocol revision. Invalid parameters and unknown methods get different errors.
const COMMON_METHODS: &[&str] = &[
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Methods of the revisions with an `initialize` handshake.
const SESSION_METHODS: &[&str] = &[
    "initialize",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Methods of the stateless revision.
const STATELESS_METHODS: &[&str] = &["subscriptions/listen"];

/// Returns whether a protocol revision has a method.
fn has_method(method: &str, version: Option<&ProtocolVersion>) -> bool {
    let of_era = if version.is_none_or(ProtocolVersion::has_initialize) {
        SESSION_METHODS
    } else {
        STATELESS_METHODS
    };
    COMMON_METHODS.contains(&method) || of_era.contains(&method)
}

/// Returns a tool error if a model passed arguments that are not an object, otherwise a protocol error.
pub(crate) fn respond_to_malformed(
    request: CustomRequest,
    version: Option<&ProtocolVersion>,
    lang: UiLanguage,
) -> Result<CustomResult, ErrorData> {
    let params = request.params.unwrap_or_default();
    if request.method == "tools/call"
        && params.get("name").is_some_and(Value::is_string)
        && params
            .get("arguments")
            .is_some_and(|value| !value.is_object())
    {
        return invalid_arguments_result(version, lang);
    }
    if has_method(&request.method, version) {
        let message = if request.method == "tools/call" {
            msg::mcp_invalid_tool_call(lang).to_owned()
        } else {
            msg::mcp_invalid_parameters(lang, &request.method)
        };
        return Err(ErrorData::invalid_params(message, None));
    }
    Err(ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        msg::mcp_unknown_method(lang, request.method),
        None,
    ))
}

fn invalid_arguments_result(
    version: Option<&ProtocolVersion>,
    lang: UiLanguage,
) -> Result<CustomResult, ErrorData> {
    let refusal = Refusal::from(McpRefusal::ArgumentsNotAnObject);
    let mut result = tool_results::error_result(&refusal.into(), lang);
    // Protocol revisions with an `initialize` handshake have no result types.
    if version.is_none_or(|version| version.has_initialize()) {
        result.result_type = None;
    }
    serde_json::to_value(result)
        .map(CustomResult::new)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_of_other_protocol_revision_is_not_found() {
        let code = |method: &str, version| {
            let request = CustomRequest::new(method, None);
            respond_to_malformed(request, Some(&version), UiLanguage::En)
                .unwrap_err()
                .code
        };
        for method in SESSION_METHODS {
            let now = code(method, ProtocolVersion::V_2026_07_28);
            let before = code(method, ProtocolVersion::V_2025_11_25);
            assert_eq!(
                (now, before),
                (ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS)
            );
        }
        for method in STATELESS_METHODS {
            let now = code(method, ProtocolVersion::V_2026_07_28);
            let before = code(method, ProtocolVersion::V_2025_06_18);
            assert_eq!(
                (now, before),
                (ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND)
            );
        }
        for method in COMMON_METHODS {
            assert_eq!(
                code(method, ProtocolVersion::V_2026_07_28),
                ErrorCode::INVALID_PARAMS
            );
        }
    }

    #[test]
    fn error_of_malformed_request_says_what_to_do() {
        let message = |method: &str| {
            let request = CustomRequest::new(method, None);
            let version = ProtocolVersion::V_2025_11_25;
            let error = respond_to_malformed(request, Some(&version), UiLanguage::Zh);
            error.unwrap_err().message
        };
        assert_eq!(
            message("tools/call"),
            "tools/call 的参数无效。请传入 `name`（tools/list 中的工具名称）和 `arguments`（对象）。"
        );
        assert!(message("tasks/list").starts_with("此协议版本没有方法 tasks/list。请使用"));
    }
}
