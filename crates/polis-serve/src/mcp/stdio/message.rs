//! Parses a line as a JSON-RPC message, or returns the JSON-RPC error for it.

use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, NumberOrString, RequestId};
use serde_json::Value;

/// Result of parsing a line.
#[derive(Debug)]
pub(super) enum Read {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// An invalid message, with the error to send and the request id if known.
    Wrong(ErrorData, Option<RequestId>),
    /// Nothing that requires a response.
    Nothing,
}

/// Parses a line.
pub(super) fn read(line: &[u8]) -> Read {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Read::Message(Box::new(message)),
        Err(_) => wrong(line),
    }
}

fn wrong(line: &[u8]) -> Read {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("The line is not JSON: {error}.");
            return Read::Wrong(ErrorData::parse_error(message, None), None);
        }
    };
    if value.is_array() {
        let message = "A line holds one message: batches are not a part of the protocol.";
        return Read::Wrong(ErrorData::invalid_request(message, None), None);
    }
    let id = match value.get("id") {
        Some(Value::String(id)) => Some(NumberOrString::String(id.as_str().into())),
        Some(Value::Number(id)) => id.as_i64().map(NumberOrString::Number),
        _ => None,
    };
    // Notifications and responses are never answered, even if invalid.
    let is_request = value.get("id").is_some() && value.get("method").is_some();
    if value.is_object() && !is_request {
        return Read::Nothing;
    }
    let message = "The line is no message of JSON-RPC 2.0.";
    Read::Wrong(ErrorData::invalid_request(message, None), id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rmcp::model::ErrorCode;

    use super::*;

    fn code_and_id(line: &str) -> Option<(ErrorCode, Option<RequestId>)> {
        match read(line.as_bytes()) {
            Read::Wrong(error, id) => Some((error.code, id)),
            Read::Message(_) | Read::Nothing => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_if_it_wants_an_answer() {
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
    fn a_message_is_read() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}\r",
            r#"{"jsonrpc":"2.0","id":7,"method":"no/such","params":{"x":[1]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Read::Message(_)), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_fall_over(line in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&line);
        }
    }
}
