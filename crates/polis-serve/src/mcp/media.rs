//! Media types of MCP resources, by file extension.

/// Media type of JSON.
pub(crate) const JSON: &str = "application/json";
/// Media type of Markdown.
pub(crate) const MARKDOWN: &str = "text/markdown";

/// Media types by file extension.
const KNOWN: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", JSON),
    ("md", MARKDOWN),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// Returns the media type of a file by its extension; plain text or binary data if the extension is unknown.
pub(crate) fn media_type(path: &str, is_text: bool) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let known = KNOWN
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(end));
    match known {
        Some((_, media)) => media,
        None if is_text => "text/plain",
        None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_type() {
        assert_eq!(media_type("docs/README.MD", true), MARKDOWN);
        assert_eq!(media_type("a.b/Makefile", true), "text/plain");
        assert_eq!(media_type("a.png", false), "image/png");
        assert_eq!(media_type("core", false), "application/octet-stream");
    }
}
