//! Link filter: decides which URLs of a Markdown text become links, so that `javascript:` and similar URLs
//! never do.

use super::slug;

/// Maximum length of a link's URL; longer ones are shown as text.
const MAX_LINK_URL_BYTES: usize = 2_000;
const ALLOWED_SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Returns the URL of a link if it is allowed: with the scheme `http`, `https` or `mailto`, or without a
/// scheme (such as a path of this server). A fragment of the page gets the prefix of heading ids.
pub(super) fn allowed_link_url(address: &str) -> Option<String> {
    // Browsers strip line breaks within a URL and whitespace around it, so URLs that contain either are
    // rejected.
    let is_invalid = |c: char| c.is_control() || c.is_whitespace();
    if address.len() > MAX_LINK_URL_BYTES || address.contains(is_invalid) {
        return None;
    }
    if let Some(fragment) = address.strip_prefix('#') {
        return Some(format!("#{}{fragment}", slug::HEADING_ID_PREFIX));
    }
    let colon = address.find(':');
    let path = address.find(['/', '?', '#', '\\']);
    if let Some(colon) = colon
        && path.is_none_or(|path| colon < path)
    {
        let scheme = address.get(..colon)?;
        ALLOWED_SCHEMES
            .iter()
            .find(|one| scheme.eq_ignore_ascii_case(one))?;
    }
    Some(address.to_owned())
}
