//! A Markdown board on a terminal: wrapped, aligned, and unable to drive the terminal.
//!
//! A board may hold anything up to its size limit, so every step takes time in proportion to the
//! text, and none calls itself.

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

/// How the board is to look.
#[derive(Debug)]
pub struct Look {
    /// Columns of the terminal; taken as at least 20 and at most 1000.
    pub width: usize,
    /// Whether there are styles; without, marks say what they would.
    pub colour: bool,
}

/// The board as lines for a terminal.
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

/// Metadata between two lines of `---` at the very start, and what follows.
pub fn split_front_matter(markdown: &str) -> (&str, &str) {
    let mut end = 0;
    for (n, line) in markdown.split_inclusive('\n').enumerate() {
        end += line.len();
        match (n, line.trim_end()) {
            (0, "---") => {}
            // A rule, not metadata: `---` alone, or with an empty line after it.
            (0, _) | (1, "") => break,
            (1.., "---" | "...") => return markdown.split_at_checked(end).unwrap_or_default(),
            _ => {}
        }
    }
    ("", markdown)
}
