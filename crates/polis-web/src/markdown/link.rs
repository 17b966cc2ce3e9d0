//! Link filter: decides which URLs of a Markdown text become links.

use super::slug;

/// Maximum length of a link's URL; longer ones are shown as text.
const LONGEST: usize = 2_000;
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Returns the URL of a link if it is allowed: `http`, `https`, `mailto`, a path of this server, or a fragment of the
/// page.
pub(super) fn followable(address: &str) -> Option<String> {
    // Browsers strip line breaks within a URL and whitespace around it, so URLs that contain either are rejected.
    let odd = |c: char| c.is_control() || c.is_whitespace();
    if address.len() > LONGEST || address.contains(odd) {
        return None;
    }
    if let Some(fragment) = address.strip_prefix('#') {
        return Some(format!("#{}{fragment}", slug::PREFIX));
    }
    let colon = address.find(':');
    let path = address.find(['/', '?', '#', '\\']);
    if let Some(colon) = colon
        && path.is_none_or(|path| colon < path)
    {
        let scheme = address.get(..colon)?;
        SCHEMES
            .iter()
            .find(|one| scheme.eq_ignore_ascii_case(one))?;
    }
    Some(address.to_owned())
}
