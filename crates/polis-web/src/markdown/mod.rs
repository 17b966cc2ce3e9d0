//! Markdown to HTML, safe by construction: every tag and attribute is one of our own, and all content of the text is
//! escaped, so no sanitizer is needed afterwards.
//!
//! Raw HTML is shown as text. Links may use `http`, `https` and `mailto`, paths of this server, and fragments of the
//! page; others are shown as text. Images become links, so viewing a board fetches nothing. A text may be anything up
//! to a board's size limit, so every step takes linear time, nothing is recursive, and a long text is split into parts
//! that are valid HTML each by itself (`writer`).

mod blocks;
mod code;
mod link;
mod slug;
#[cfg(test)]
mod tests;
mod writer;

use maud::{Markup, PreEscaped};
use polis_core::board::section::front_matter_end;
use pulldown_cmark::{Options, Parser};

use self::blocks::Blocks;
pub(crate) use self::code::spans;
use self::slug::Slugs;
use self::writer::Writer;

/// A Markdown text as HTML in parts.
#[derive(Debug)]
pub(crate) struct Document {
    /// The parts, in order; each is valid HTML by itself. At least one.
    pub(crate) parts: Vec<Part>,
    /// The headings, in order.
    pub(crate) headings: Vec<Heading>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Unique id derived from the content, so that an unchanged part keeps its id.
    pub(crate) id: String,
    /// Its HTML.
    pub(crate) html: String,
}

/// A heading of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// 1 to 6.
    pub(crate) level: u8,
    /// Its text, without markup.
    pub(crate) title: String,
    /// Its element's id.
    pub(crate) id: String,
    /// The part it is in.
    pub(crate) part: usize,
    /// Whether it is at the top level, outside of quotes and lists, so that it begins a section.
    pub(crate) section: bool,
}

/// Renders a short text, such as a comment, within a page that has headings of its own.
pub(crate) fn html(markdown: &str) -> Markup {
    let whole = read(markdown, Blocks::new(Writer::whole(), None)).parts;
    PreEscaped(whole.into_iter().map(|part| part.html).collect())
}

/// Renders a text of any length in parts, with its headings.
///
/// Takes linear time: tenths of a second for the largest boards, so it must not run on the server's async threads.
pub(crate) fn document(markdown: &str) -> Document {
    let slugs = Some(Slugs::default());
    read(markdown, Blocks::new(Writer::in_parts(), slugs))
}

fn read(markdown: &str, mut blocks: Blocks) -> Document {
    let (front, body) = markdown
        .split_at_checked(front_matter_end(markdown))
        .unwrap_or(("", markdown));
    blocks.front_matter(front.trim_start_matches('\u{feff}'));
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(&polis_view::capped(body), options) {
        blocks.take(event);
    }
    blocks.finish()
}
