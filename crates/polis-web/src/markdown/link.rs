//! Which links may be followed.

use super::slug;

/// The longest address a link has; what is longer is shown as text.
const LONGEST: usize = 2_000;
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The address of a link, if it may be one: of the web or of mail, of this server, or within the page.
pub(super) fn followable(address: &str) -> Option<String> {
    // Browsers leave out line ends within an address and blanks around it; so nothing with any is followed.
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
