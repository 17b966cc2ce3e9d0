//! Unique, readable ids for headings, in any script.

use std::collections::{HashMap, HashSet};

/// Prefix of all ids, so that a text cannot produce the id of an element of the page.
pub(super) const PREFIX: &str = "h-";
/// Maximum length of a name, in characters.
const LONGEST: usize = 80;

/// The ids that are in use.
#[derive(Debug, Default)]
pub(super) struct Slugs {
    used: HashSet<String>,
    /// Next number to try as a suffix of a name.
    next: HashMap<String, usize>,
}

impl Slugs {
    /// Returns a unique id for a heading with this text.
    pub(super) fn give(&mut self, title: &str) -> String {
        let name = slug(title);
        if self.used.insert(name.clone()) {
            return format!("{PREFIX}{name}");
        }
        let next = self.next.entry(name.clone()).or_insert(1);
        loop {
            let numbered = format!("{name}-{next}");
            *next += 1;
            if self.used.insert(numbered.clone()) {
                return format!("{PREFIX}{numbered}");
            }
        }
    }
}

fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.trim().chars().take(LONGEST) {
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
