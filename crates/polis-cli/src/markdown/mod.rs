//! A Markdown board on a terminal: wrapped, aligned, and unable to drive the terminal.
//!
//! A board may hold anything up to its size limit, so every step takes time in proportion to the
//! text, and none calls itself.

mod blocks;
mod inline;
mod nesting;
mod page;
mod styled;
mod table;
mod wrap;

#[cfg(test)]
mod tests;

use pulldown_cmark::{Options, Parser};

use self::blocks::Blocks;
use self::page::Page;

/// How the board is to look.
#[derive(Debug)]
pub(crate) struct Look {
    /// Columns of the terminal; taken as at least 20 and at most 1000.
    pub(crate) width: usize,
    /// Whether styles are used; without, no escape sequence is written.
    pub(crate) colour: bool,
}

/// The board as lines for a terminal.
pub(crate) fn render(markdown: &str, look: &Look) -> String {
    let markdown = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let (front, body) = split_front_matter(markdown);
    let body = nesting::capped(body);
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
fn split_front_matter(markdown: &str) -> (&str, &str) {
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
