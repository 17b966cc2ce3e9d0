//! URL building: percent-encoding of path segments and query values, and query strings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are escaped in a path segment or a query value: all except ASCII letters, digits and
/// `-_.~`.
const SEGMENT_ESCAPE_SET: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Characters that are escaped in a path of several segments: the same, except `/`.
const PATH_ESCAPE_SET: &AsciiSet = &SEGMENT_ESCAPE_SET.remove(b'/');

/// Encodes a name as a path segment or a query value.
pub(crate) fn encode_segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT_ESCAPE_SET).to_string()
}

/// Encodes a name whose slashes separate path segments.
pub(crate) fn encode_path(name: &str) -> String {
    utf8_percent_encode(name, PATH_ESCAPE_SET).to_string()
}

/// Returns a URL with a query string; fields without a value are omitted.
pub(crate) fn url_with_query(page: &str, fields: &[(&str, &str)]) -> String {
    match query_string(fields) {
        query if query.is_empty() => page.to_owned(),
        query => format!("{page}?{query}"),
    }
}

/// Returns fields as a query string without the question mark; fields without a value are omitted.
pub(crate) fn query_string(fields: &[(&str, &str)]) -> String {
    let set = fields.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> = set
        .map(|(name, value)| format!("{name}={}", encode_segment(value)))
        .collect();
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_percent_encoded() {
        assert_eq!(encode_segment("a b/c?中"), "a%20b%2Fc%3F%E4%B8%AD");
        assert_eq!(encode_path("mid/a b.md"), "mid/a%20b.md");
    }

    #[test]
    fn empty_query_fields_are_omitted() {
        let fields = [("q", "a&b"), ("role", ""), ("all", "1")];
        assert_eq!(query_string(&fields), "q=a%26b&all=1");
        assert_eq!(url_with_query("/tasks", &fields), "/tasks?q=a%26b&all=1");
        assert_eq!(url_with_query("/tasks", &[("q", "")]), "/tasks");
    }
}
