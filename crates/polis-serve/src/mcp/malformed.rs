//! Error responses to requests that `rmcp` could not parse: the method is unknown, or its parameters are
//! invalid.

use polis_core::{Code, Refusal};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, ProtocolVersion};
use serde_json::Value;

use super::tool_results;

/// Methods of every protocol revision. Invalid parameters and unknown methods get different errors.
const ALWAYS: &[&str] = &[
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
const WITH_SESSIONS: &[&str] = &[
    "initialize",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Methods of the stateless revision.
const WITHOUT_SESSIONS: &[&str] = &["subscriptions/listen"];

/// Returns whether a protocol revision has a method.
fn is_there(method: &str, version: Option<&ProtocolVersion>) -> bool {
    let of_era = match version.is_none_or(ProtocolVersion::has_initialize) {
        true => WITH_SESSIONS,
        false => WITHOUT_SESSIONS,
    };
    ALWAYS.contains(&method) || of_era.contains(&method)
}

/// Returns a tool error if a model passed arguments that are not an object, otherwise a protocol error.
pub(crate) fn answer(
    request: CustomRequest,
    version: Option<&ProtocolVersion>,
) -> Result<CustomResult, ErrorData> {
    let params = request.params.unwrap_or_default();
    if request.method == "tools/call"
        && params.get("name").is_some_and(Value::is_string)
        && params
            .get("arguments")
            .is_some_and(|given| !given.is_object())
    {
        return bad_arguments(version);
    }
    if is_there(&request.method, version) {
        let message = format!(
            "The parameters of {} are not what it takes.",
            request.method
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    Err(ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        request.method,
        None,
    ))
}

fn bad_arguments(version: Option<&ProtocolVersion>) -> Result<CustomResult, ErrorData> {
    let refusal = Refusal::new(
        Code::InvalidInput,
        "The tool's arguments are no JSON object.",
        "pass the arguments as an object, as the tool's input schema says",
    );
    let mut result = tool_results::not_done(&refusal.into());
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
    fn a_method_of_another_era_is_not_found() {
        let code = |method: &str, version| {
            let request = CustomRequest::new(method, None);
            answer(request, Some(&version)).unwrap_err().code
        };
        for method in WITH_SESSIONS {
            let now = code(method, ProtocolVersion::V_2026_07_28);
            let before = code(method, ProtocolVersion::V_2025_11_25);
            assert_eq!(
                (now, before),
                (ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS)
            );
        }
        for method in WITHOUT_SESSIONS {
            let now = code(method, ProtocolVersion::V_2026_07_28);
            let before = code(method, ProtocolVersion::V_2025_06_18);
            assert_eq!(
                (now, before),
                (ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND)
            );
        }
        for method in ALWAYS {
            assert_eq!(
                code(method, ProtocolVersion::V_2026_07_28),
                ErrorCode::INVALID_PARAMS
            );
        }
    }
}
