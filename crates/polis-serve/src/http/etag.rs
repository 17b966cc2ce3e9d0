//! Conditional requests: ETags, `If-Match` and `If-None-Match`.
//!
//! Our strong ETags contain a version or a hash. It can therefore be extracted from the header and passed to
//! the operation, which alone can compare and change in one commit.

use std::fmt::Write as _;

/// ETag suffix of compressed responses: different bytes require a different strong tag.
const GZIP: &str = "-gzip";
/// Separates the version from a digest of the other fields the response depends on.
const ASIDE: char = '+';

/// Value of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags<'a> {
    /// `*`: any existing version.
    Any,
    /// One of these tags.
    These(Vec<Tag<'a>>),
}

/// An entity tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// Whether it is a weak validator.
    pub(crate) weak: bool,
    /// Text between the quotes.
    pub(crate) value: &'a str,
}

/// Parses `If-Match` or `If-None-Match`. Returns `None` if it is not a list of entity tags.
pub(crate) fn parse(header: &str) -> Option<Tags<'_>> {
    let mut rest = header.trim_matches([' ', '\t']);
    if rest == "*" {
        return Some(Tags::Any);
    }
    let mut tags = Vec::new();
    loop {
        let (weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let (value, behind) = quoted.strip_prefix('"')?.split_once('"')?;
        if !value
            .bytes()
            .all(|b| b == b'!' || (b'#'..=b'~').contains(&b))
        {
            return None;
        }
        tags.push(Tag { weak, value });
        let behind = behind.trim_start_matches([' ', '\t']);
        if behind.is_empty() {
            return Some(Tags::These(tags));
        }
        rest = behind.strip_prefix(',')?.trim_start_matches([' ', '\t']);
    }
}

/// Returns the version or hash in one of our tags, without digest and suffix.
pub(crate) fn core(value: &str) -> &str {
    let value = value.strip_suffix(GZIP).unwrap_or(value);
    value.split(ASIDE).next().unwrap_or(value)
}

/// Returns whether the client has a response with this tag, by weak comparison.
pub(crate) fn has(tags: &Tags<'_>, ours: &str) -> bool {
    match tags {
        Tags::Any => true,
        Tags::These(tags) => tags
            .iter()
            .any(|tag| tag.value.strip_suffix(GZIP).unwrap_or(tag.value) == ours),
    }
}

/// Returns the text of a tag: the version, and a digest of response fields that can change independently of
/// it.
pub(crate) fn tag(version: &str, aside: &[&str]) -> String {
    let mut tag = version.to_owned();
    if !aside.is_empty() {
        let _ = write!(tag, "{ASIDE}{:08x}", digest(aside));
    }
    tag
}

/// Returns the tag as header value, for a compressed or uncompressed response.
pub(crate) fn header(tag: &str, gzip: bool) -> String {
    let behind = if gzip { GZIP } else { "" };
    format!("\"{tag}{behind}\"")
}

/// FNV-1a. A cryptographic hash is not needed: provoking a collision gains an attacker nothing.
fn digest(parts: &[&str]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strong(value: &str) -> Tag<'_> {
        Tag { weak: false, value }
    }

    #[test]
    fn headers_are_read_as_the_standard_says() {
        assert_eq!(parse("*"), Some(Tags::Any));
        assert_eq!(parse("\"3\""), Some(Tags::These(vec![strong("3")])));
        assert_eq!(
            parse(" \"a\" ,\tW/\"b,c\""),
            Some(Tags::These(vec![
                strong("a"),
                Tag {
                    weak: true,
                    value: "b,c"
                }
            ]))
        );
        assert_eq!(parse("\"\""), Some(Tags::These(vec![strong("")])));
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
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_tag_gives_its_version_back_whatever_is_behind_it() {
        for aside in [&[][..], &["lead", "2026"]] {
            let tag = tag("17", aside);
            for gzip in [false, true] {
                let header = header(&tag, gzip);
                let Some(Tags::These(tags)) = parse(&header) else {
                    panic!("{header}")
                };
                assert_eq!(core(tags[0].value), "17");
                assert!(has(&Tags::These(tags), &tag), "{header}");
            }
        }
        assert_ne!(tag("1", &["a"]), tag("1", &["b"]));
        assert_ne!(tag("1", &["a", "b"]), tag("1", &["ab"]));
        assert!(!has(&Tags::These(vec![strong("2")]), "1"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_header_makes_it_panic(text in "[ ,\"W/*a-z0-9\\\\\u{80}-\u{ff}]{0,40}") {
            let _ = parse(&text);
        }
    }
}
