//! JSON-RPC parsing: turns a line into a message, or into the JSON-RPC error to send back.

use polis_i18n::{UiLanguage, msg};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, NumberOrString, RequestId};
use serde_json::Value;

/// Result of parsing a line.
#[derive(Debug)]
pub(super) enum ParsedLine {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// An invalid message, with the error to send and the request id if known.
    Invalid(ErrorData, Option<RequestId>),
    /// Nothing that requires a response.
    Ignored,
}

/// Parses a line. Texts of errors are in the language.
pub(super) fn parse_line(line: &[u8], lang: UiLanguage) -> ParsedLine {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return ParsedLine::Ignored;
    }
    match serde_json::from_slice(line) {
        Ok(message) => ParsedLine::Message(Box::new(message)),
        Err(_) => invalid_line(line, lang),
    }
}

fn invalid_line(line: &[u8], lang: UiLanguage) -> ParsedLine {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = msg::mcp_line_not_json(lang, error);
            return ParsedLine::Invalid(ErrorData::parse_error(message, None), None);
        }
    };
    if value.is_array() {
        let message = msg::mcp_line_is_batch(lang);
        return ParsedLine::Invalid(ErrorData::invalid_request(message, None), None);
    }
    let id = match value.get("id") {
        Some(Value::String(id)) => Some(NumberOrString::String(id.as_str().into())),
        Some(Value::Number(id)) => id.as_i64().map(NumberOrString::Number),
        _ => None,
    };
    // Notifications and responses are never answered, even if invalid.
    let is_request = value.get("id").is_some() && value.get("method").is_some();
    if value.is_object() && !is_request {
        return ParsedLine::Ignored;
    }
    let message = msg::mcp_line_not_json_rpc(lang);
    ParsedLine::Invalid(ErrorData::invalid_request(message, None), id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rmcp::model::ErrorCode;

    use super::*;

    fn code_and_id(line: &str) -> Option<(ErrorCode, Option<RequestId>)> {
        match parse_line(line.as_bytes(), UiLanguage::En) {
            ParsedLine::Invalid(error, id) => Some((error.code, id)),
            ParsedLine::Message(_) | ParsedLine::Ignored => None,
        }
    }

    #[test]
    fn invalid_message_is_answered_if_it_is_a_request() {
        let seven = Some(NumberOrString::Number(7));
        for (line, expected) in [
            ("{", Some((ErrorCode::PARSE_ERROR, None))),
            ("\u{0}", Some((ErrorCode::PARSE_ERROR, None))),
            ("[]", Some((ErrorCode::INVALID_REQUEST, None))),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                Some((ErrorCode::INVALID_REQUEST, None)),
            ),
            ("5", Some((ErrorCode::INVALID_REQUEST, None))),
            (
                r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
                Some((ErrorCode::INVALID_REQUEST, seven)),
            ),
            ("", None),
            ("  \r", None),
            ("{}", None),
            (r#"{"id":7}"#, None),
            (r#"{"method":"x"}"#, None),
        ] {
            assert_eq!(code_and_id(line), expected, "{line}");
        }
    }

    #[test]
    fn valid_message_is_parsed() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}\r",
            r#"{"jsonrpc":"2.0","id":7,"method":"no/such","params":{"x":[1]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ] {
            assert!(
                matches!(
                    parse_line(line.as_bytes(), UiLanguage::En),
                    ParsedLine::Message(_)
                ),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn line_parser_never_panics(line in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse_line(&line, UiLanguage::En);
        }
    }
}
