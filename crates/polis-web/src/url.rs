//! URL building: percent-encoding of path segments and query values in any script.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are not escaped in a path segment or a query value.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Characters that are not escaped in a path of several segments.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// Encodes a name as a path segment or a query value.
pub(crate) fn segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

/// Encodes a name whose slashes separate path segments.
pub(crate) fn path(name: &str) -> String {
    utf8_percent_encode(name, PATH).to_string()
}

/// Returns a URL with a query string; fields without a value are omitted.
pub(crate) fn asking(page: &str, fields: &[(&str, &str)]) -> String {
    match query(fields) {
        query if query.is_empty() => page.to_owned(),
        query => format!("{page}?{query}"),
    }
}

/// Returns fields as a query string without the question mark; fields without a value are omitted.
pub(crate) fn query(fields: &[(&str, &str)]) -> String {
    let set = fields.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> = set
        .map(|(name, value)| format!("{name}={}", segment(value)))
        .collect();
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_an_address_so_that_they_come_back() {
        assert_eq!(segment("a b/c?中"), "a%20b%2Fc%3F%E4%B8%AD");
        assert_eq!(path("mid/a b.md"), "mid/a%20b.md");
    }

    #[test]
    fn only_what_is_asked_for_is_in_a_query() {
        let fields = [("q", "a&b"), ("role", ""), ("all", "1")];
        assert_eq!(query(&fields), "q=a%26b&all=1");
        assert_eq!(asking("/tasks", &fields), "/tasks?q=a%26b&all=1");
        assert_eq!(asking("/tasks", &[("q", "")]), "/tasks");
    }
}
