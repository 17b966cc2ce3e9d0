//! URL encoding: strict percent-decoding of path segments and of queries (as pairs; `+` is a space only there),
//! and replacement of one parameter of a query, for the link to the next page.
//!
//! Text is decoded exactly once. Invalid UTF-8 and incomplete escapes are refused with `InvalidInput`, not
//! repaired. `request_params` interprets the decoded values.

use percent_encoding::percent_decode_str;
use polis_core::Refusal;

use crate::refusal_tables::HttpRefusal;

/// Decodes a path segment.
pub(crate) fn decode_path_segment(raw: &str) -> Result<String, Refusal> {
    decode_percent_escapes(raw)
}

/// Returns the decoded name-value pairs of a query, in order. A name without `=` has an empty value.
pub(crate) fn parse_query_pairs(
    query: &str,
) -> impl Iterator<Item = Result<(String, String), Refusal>> + '_ {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((
                decode_query_component(name)?,
                decode_query_component(value)?,
            ))
        })
}

/// Returns the query with the value of one parameter replaced, or added if it is absent.
pub(crate) fn replace_query_param(query: &str, name: &str, value: &str) -> String {
    let mut result = String::with_capacity(query.len() + name.len() + value.len() + 2);
    let others = query.split('&').filter(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && decode_query_component(key).is_ok_and(|key| key != name)
    });
    for pair in others {
        result.push_str(pair);
        result.push('&');
    }
    result.push_str(name);
    result.push('=');
    result.extend(percent_encoding::utf8_percent_encode(
        value,
        percent_encoding::NON_ALPHANUMERIC,
    ));
    result
}

/// Decodes a query component, in which a plus sign is a space.
fn decode_query_component(raw: &str) -> Result<String, Refusal> {
    if raw.contains('+') {
        decode_percent_escapes(&raw.replace('+', " "))
    } else {
        decode_percent_escapes(raw)
    }
}

fn decode_percent_escapes(raw: &str) -> Result<String, Refusal> {
    if !raw.contains('%') {
        return Ok(raw.to_owned());
    }
    let is_valid = raw.split('%').skip(1).all(|tail| {
        let mut digits = tail.bytes();
        let mut next = || digits.next().is_some_and(|b| b.is_ascii_hexdigit());
        next() && next()
    });
    let text = percent_decode_str(raw).decode_utf8();
    match text {
        Ok(text) if is_valid => Ok(text.into_owned()),
        _ => Err(Refusal::from(HttpRefusal::InvalidPercentEncoding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percent_escapes_are_decoded_exactly_once() {
        assert_eq!(decode_path_segment("mid%2Fbackend").unwrap(), "mid/backend");
        assert_eq!(decode_path_segment("%252e%252e").unwrap(), "%2e%2e");
        assert_eq!(decode_path_segment("a+b").unwrap(), "a+b");
        assert_eq!(decode_path_segment("%E4%B8%AD").unwrap(), "中");
        // An overlong encoding of "/", incomplete escapes, incomplete UTF-8.
        for bad in ["%c0%af", "%", "%2", "%2g", "a%", "%ff", "%e4%b8"] {
            assert!(decode_path_segment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn query_is_parsed_into_pairs() {
        let all: Result<Vec<_>, _> = parse_query_pairs("a=1&b=x+y%26&&c&a=2").collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            all.unwrap(),
            [
                pair("a", "1"),
                pair("b", "x y&"),
                pair("c", ""),
                pair("a", "2")
            ]
        );
        assert_eq!(
            replace_query_param("limit=5&cursor=3&x=%20", "cursor", "a/b"),
            "limit=5&x=%20&cursor=a%2Fb"
        );
        assert_eq!(replace_query_param("", "cursor", "9"), "cursor=9");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn percent_encoding_round_trips(text in any::<String>()) {
            let raw = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
            let raw = raw.to_string();
            prop_assert_eq!(decode_path_segment(&raw).unwrap(), text.clone());
            let query = replace_query_param("", "k", &text);
            let read: Vec<_> = parse_query_pairs(&query).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(&read[0].1, &text);
        }

        #[test]
        fn url_decoding_never_panics(raw in "[%0-9a-f&=+\u{0}-\u{7f}]{0,60}") {
            let _ = decode_path_segment(&raw);
            let _ = parse_query_pairs(&raw).count();
            let _ = replace_query_param(&raw, "x", &raw);
        }
    }
}
