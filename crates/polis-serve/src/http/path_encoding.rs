//! Strict percent-decoding of URL paths and queries.
//!
//! Text is decoded exactly once. Invalid UTF-8 and incomplete escapes are refused, not repaired. `input`
//! interprets the decoded values.

use percent_encoding::percent_decode_str;
use polis_core::{Code, Refusal};

/// Decodes a path segment.
pub(crate) fn segment(raw: &str) -> Result<String, Refusal> {
    decode(raw)
}

/// Returns the decoded name-value pairs of a query, in order. A name without `=` has an empty value.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), Refusal>> + '_ {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((plus(name)?, plus(value)?))
        })
}

/// Returns the query with the value of one parameter replaced.
pub(crate) fn with(query: &str, name: &str, value: &str) -> String {
    let mut out = String::with_capacity(query.len() + name.len() + value.len() + 2);
    let others = query.split('&').filter(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && plus(key).is_ok_and(|key| key != name)
    });
    for pair in others {
        out.push_str(pair);
        out.push('&');
    }
    out.push_str(name);
    out.push('=');
    out.extend(percent_encoding::utf8_percent_encode(
        value,
        percent_encoding::NON_ALPHANUMERIC,
    ));
    out
}

/// Decodes a query component, in which a plus sign is a space.
fn plus(raw: &str) -> Result<String, Refusal> {
    if raw.contains('+') {
        decode(&raw.replace('+', " "))
    } else {
        decode(raw)
    }
}

fn decode(raw: &str) -> Result<String, Refusal> {
    if !raw.contains('%') {
        return Ok(raw.to_owned());
    }
    let whole = raw.split('%').skip(1).all(|behind| {
        let mut digits = behind.bytes();
        let mut next = || digits.next().is_some_and(|b| b.is_ascii_hexdigit());
        next() && next()
    });
    let text = percent_decode_str(raw).decode_utf8();
    match text {
        Ok(text) if whole => Ok(text.into_owned()),
        _ => Err(Refusal::new(
            Code::InvalidInput,
            "The address has an escape that is not UTF-8, or only half of one.",
            "encode each byte of the UTF-8 text as %XX",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_taken_once_and_whole() {
        assert_eq!(segment("mid%2Fbackend").unwrap(), "mid/backend");
        assert_eq!(segment("%252e%252e").unwrap(), "%2e%2e");
        assert_eq!(segment("a+b").unwrap(), "a+b");
        assert_eq!(segment("%E4%B8%AD").unwrap(), "中");
        // An overlong encoding of "/", incomplete escapes, incomplete UTF-8.
        for bad in ["%c0%af", "%", "%2", "%2g", "a%", "%ff", "%e4%b8"] {
            assert!(segment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn queries_are_pairs() {
        let all: Result<Vec<_>, _> = pairs("a=1&b=x+y%26&&c&a=2").collect();
        let own = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            all.unwrap(),
            [own("a", "1"), own("b", "x y&"), own("c", ""), own("a", "2")]
        );
        assert_eq!(
            with("limit=5&cursor=3&x=%20", "cursor", "a/b"),
            "limit=5&x=%20&cursor=a%2Fb"
        );
        assert_eq!(with("", "cursor", "9"), "cursor=9");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_encoded_is_decoded_as_it_was(text in any::<String>()) {
            let raw = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
            let raw = raw.to_string();
            prop_assert_eq!(segment(&raw).unwrap(), text.clone());
            let query = with("", "k", &text);
            let read: Vec<_> = pairs(&query).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(&read[0].1, &text);
        }

        #[test]
        fn nothing_makes_it_panic(raw in "[%0-9a-f&=+\u{0}-\u{7f}]{0,60}") {
            let _ = segment(&raw);
            let _ = pairs(&raw).count();
            let _ = with(&raw, "x", &raw);
        }
    }
}
