//! Ids for headings: readable, of any script, each once.

use std::collections::{HashMap, HashSet};

/// What all ids begin with, so that no text can take the place of an element of the page.
pub(super) const PREFIX: &str = "h-";
/// The longest name, in characters.
const LONGEST: usize = 80;

/// The ids that were given out.
#[derive(Debug, Default)]
pub(super) struct Slugs {
    used: HashSet<String>,
    /// The next number to try behind a name.
    next: HashMap<String, usize>,
}

impl Slugs {
    /// The id of a heading with this text.
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
