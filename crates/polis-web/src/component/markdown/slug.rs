//! Slugs: unique, readable element ids for headings, in any script.

use std::collections::{HashMap, HashSet};

/// Prefix of all ids, so that a text cannot produce the id of an element of the page.
pub(super) const HEADING_ID_PREFIX: &str = "h-";
/// Maximum length of a slug without prefix and number, in characters.
const MAX_SLUG_CHARS: usize = 80;

/// The ids that are in use.
#[derive(Debug, Default)]
pub(super) struct HeadingIds {
    used: HashSet<String>,
    /// Next number to try as a suffix of a name.
    next: HashMap<String, usize>,
}

impl HeadingIds {
    /// Returns a unique id for a heading with this text.
    pub(super) fn assign_id(&mut self, title: &str) -> String {
        let name = slugify_title(title);
        if self.used.insert(name.clone()) {
            return format!("{HEADING_ID_PREFIX}{name}");
        }
        let next = self.next.entry(name.clone()).or_insert(1);
        loop {
            let numbered = format!("{name}-{next}");
            *next += 1;
            if self.used.insert(numbered.clone()) {
                return format!("{HEADING_ID_PREFIX}{numbered}");
            }
        }
    }
}

fn slugify_title(title: &str) -> String {
    let mut slug = String::new();
    for c in title.trim().chars().take(MAX_SLUG_CHARS) {
        match c {
            c if c.is_alphanumeric() || c == '_' => slug.extend(c.to_lowercase()),
            ' ' | '-' => slug.push('-'),
            _ => {}
        }
    }
    if slug.is_empty() {
        slug.push_str("section");
    }
    slug
}
