//! ETags for conditional requests: parses `If-Match` and `If-None-Match`, and formats the `ETag` header.
//!
//! Our ETags contain the resource's version or hash. For `If-Match` it is extracted and passed to the
//! operation, because only the operation can compare and change in one commit. For `If-None-Match` of a GET
//! request, the tag is compared with that of the response.

use std::fmt::Write as _;

/// ETag suffix of compressed responses: different bytes require a different strong tag.
const GZIP_SUFFIX: &str = "-gzip";
/// Separates the version from a digest of the other fields the response depends on.
const DIGEST_SEPARATOR: char = '+';

/// Value of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EtagCondition<'a> {
    /// `*`: any existing version.
    Any,
    /// One of these tags.
    OneOf(Vec<EntityTag<'a>>),
}

/// An entity tag in a request header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntityTag<'a> {
    /// Whether it is a weak validator.
    pub(crate) weak: bool,
    /// Text between the quotes.
    pub(crate) value: &'a str,
}

/// Parses `If-Match` or `If-None-Match`. Returns `None` if it is not a list of entity tags.
pub(crate) fn parse_etag_condition(header: &str) -> Option<EtagCondition<'_>> {
    let mut rest = header.trim_matches([' ', '\t']);
    if rest == "*" {
        return Some(EtagCondition::Any);
    }
    let mut tags = Vec::new();
    loop {
        let (weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let (value, tail) = quoted.strip_prefix('"')?.split_once('"')?;
        if !value
            .bytes()
            .all(|b| b == b'!' || (b'#'..=b'~').contains(&b))
        {
            return None;
        }
        tags.push(EntityTag { weak, value });
        let tail = tail.trim_start_matches([' ', '\t']);
        if tail.is_empty() {
            return Some(EtagCondition::OneOf(tags));
        }
        rest = tail.strip_prefix(',')?.trim_start_matches([' ', '\t']);
    }
}

/// Returns the version or hash in the text of one of our tags, without digest and suffix.
pub(crate) fn etag_version(value: &str) -> &str {
    let value = value.strip_suffix(GZIP_SUFFIX).unwrap_or(value);
    value.split(DIGEST_SEPARATOR).next().unwrap_or(value)
}

/// Returns whether the client has a response with this tag, by weak comparison.
pub(crate) fn matches_weakly(tags: &EtagCondition<'_>, ours: &str) -> bool {
    match tags {
        EtagCondition::Any => true,
        EtagCondition::OneOf(tags) => tags
            .iter()
            .any(|tag| tag.value.strip_suffix(GZIP_SUFFIX).unwrap_or(tag.value) == ours),
    }
}

/// Returns the text of a tag: the version, and a digest of response fields that can change independently of
/// it.
pub(crate) fn format_etag(version: &str, extra: &[&str]) -> String {
    let mut tag = version.to_owned();
    if !extra.is_empty() {
        let _ = write!(tag, "{DIGEST_SEPARATOR}{:08x}", fnv1a_digest(extra));
    }
    tag
}

/// Returns the tag as header value, for a compressed or uncompressed response.
pub(crate) fn etag_header_value(tag: &str, gzip: bool) -> String {
    let suffix = if gzip { GZIP_SUFFIX } else { "" };
    format!("\"{tag}{suffix}\"")
}

/// FNV-1a. A cryptographic hash is not needed: provoking a collision gains an attacker nothing.
fn fnv1a_digest(parts: &[&str]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strong_tag(value: &str) -> EntityTag<'_> {
        EntityTag { weak: false, value }
    }

    #[test]
    fn etag_condition_is_parsed_per_rfc_9110() {
        assert_eq!(parse_etag_condition("*"), Some(EtagCondition::Any));
        assert_eq!(
            parse_etag_condition("\"3\""),
            Some(EtagCondition::OneOf(vec![strong_tag("3")]))
        );
        assert_eq!(
            parse_etag_condition(" \"a\" ,\tW/\"b,c\""),
            Some(EtagCondition::OneOf(vec![
                strong_tag("a"),
                EntityTag {
                    weak: true,
                    value: "b,c"
                }
            ]))
        );
        assert_eq!(
            parse_etag_condition("\"\""),
            Some(EtagCondition::OneOf(vec![strong_tag("")]))
        );
        for bad in [
            "",
            "3",
            "\"3",
            "W/3",
            "\"a\" \"b\"",
            "\"a\",",
            ",\"a\"",
            "\"a b\"",
            "\"é\"",
            "*, \"a\"",
            "w/\"a\"",
        ] {
            assert_eq!(parse_etag_condition(bad), None, "{bad}");
        }
    }

    #[test]
    fn etag_version_is_recovered_from_header() {
        for extra in [&[][..], &["lead", "2026"]] {
            let tag = format_etag("17", extra);
            for gzip in [false, true] {
                let header = etag_header_value(&tag, gzip);
                let Some(EtagCondition::OneOf(tags)) = parse_etag_condition(&header) else {
                    panic!("{header}")
                };
                assert_eq!(etag_version(tags[0].value), "17");
                assert!(
                    matches_weakly(&EtagCondition::OneOf(tags), &tag),
                    "{header}"
                );
            }
        }
        assert_ne!(format_etag("1", &["a"]), format_etag("1", &["b"]));
        assert_ne!(format_etag("1", &["a", "b"]), format_etag("1", &["ab"]));
        assert!(!matches_weakly(
            &EtagCondition::OneOf(vec![strong_tag("2")]),
            "1"
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn etag_condition_parser_never_panics(text in "[ ,\"W/*a-z0-9\\\\\u{80}-\u{ff}]{0,40}") {
            let _ = parse_etag_condition(&text);
        }
    }
}
