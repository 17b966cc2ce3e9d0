//! Markdown renderer for terminals: wraps and aligns text, and neutralizes control characters.
//!
//! A board may contain anything up to its size limit, so every step takes linear time and none is recursive.

mod blocks;
mod inline;
mod page;
mod table;

#[cfg(test)]
mod tests;

use pulldown_cmark::{Options, Parser};

use self::blocks::Blocks;
use self::page::Page;
use crate::style::StyledLines;

/// Rendering options.
#[derive(Debug)]
pub struct Look {
    /// Terminal width in columns; clamped to 20 to 1000.
    pub width: usize,
    /// Whether styles are used; without them, marks replace them.
    pub colour: bool,
}

/// Renders Markdown to styled lines.
pub fn render(markdown: &str, look: &Look) -> StyledLines {
    let markdown = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let (front, body) = split_front_matter(markdown);
    let body = crate::capped(body);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut page = Page::new(look);
    page.verbatim(front, "");
    let mut blocks = Blocks::new(page);
    for event in Parser::new_ext(&body, options) {
        blocks.take(event);
    }
    blocks.finish()
}

/// Splits off front matter: metadata between two `---` lines at the very start.
pub fn split_front_matter(markdown: &str) -> (&str, &str) {
    let mut end = 0;
    for (n, line) in markdown.split_inclusive('\n').enumerate() {
        end += line.len();
        match (n, line.trim_end()) {
            (0, "---") => {}
            // A thematic break, not metadata: `---` alone, or followed by a blank line.
            (0, _) | (1, "") => break,
            (1.., "---" | "...") => return markdown.split_at_checked(end).unwrap_or_default(),
            _ => {}
        }
    }
    ("", markdown)
}
