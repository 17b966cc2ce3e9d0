//! Media types of MCP resources, by file extension.

/// Media type of JSON.
pub(crate) const JSON_MEDIA_TYPE: &str = "application/json";
/// Media type of Markdown.
pub(crate) const MARKDOWN_MEDIA_TYPE: &str = "text/markdown";

/// Media types by file extension.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", JSON_MEDIA_TYPE),
    ("md", MARKDOWN_MEDIA_TYPE),
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
pub(crate) fn media_type_for_path(path: &str, is_text: bool) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let found = MEDIA_TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(end));
    match found {
        Some((_, media)) => media,
        None if is_text => "text/plain",
        None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_follows_file_extension() {
        assert_eq!(
            media_type_for_path("docs/README.MD", true),
            MARKDOWN_MEDIA_TYPE
        );
        assert_eq!(media_type_for_path("a.b/Makefile", true), "text/plain");
        assert_eq!(media_type_for_path("a.png", false), "image/png");
        assert_eq!(
            media_type_for_path("core", false),
            "application/octet-stream"
        );
    }
}
