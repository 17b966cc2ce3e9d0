//! Markdown as HTML, by construction: every tag and attribute is one of ours, and whatever comes from the
//! text is escaped, so there is nothing to clean afterwards.
//!
//! Raw HTML is shown as the text it is. Links go to `http`, `https`, `mailto`, to places of this server and
//! within the page; others are shown as text. Pictures become links: nothing is fetched by looking at a
//! board. A text may be anything up to a board's limit, so every step takes time in proportion to it, none
//! calls itself, and a long text is cut into parts that are HTML each by itself (`writer`).

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
    /// The parts, in order; each is HTML by itself. At least one.
    pub(crate) parts: Vec<Part>,
    /// The headings, in order.
    pub(crate) headings: Vec<Heading>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// What tells it from the others: made of its content, so that a part that stays the same keeps it.
    pub(crate) id: String,
    /// Its HTML.
    pub(crate) html: String,
}

/// A heading of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// 1 to 6.
    pub(crate) level: u8,
    /// Its text, without marks.
    pub(crate) title: String,
    /// Its element's id.
    pub(crate) id: String,
    /// The part it is in.
    pub(crate) part: usize,
    /// Whether it is at the text's own level, in no quote and no list: it then begins a section.
    pub(crate) section: bool,
}

/// A short text, such as a comment, as HTML within a page that has headings of its own.
pub(crate) fn html(markdown: &str) -> Markup {
    let whole = read(markdown, Blocks::new(Writer::whole(), None)).parts;
    PreEscaped(whole.into_iter().map(|part| part.html).collect())
}

/// A text of any length as HTML in parts, with its headings.
///
/// Takes time in proportion to the text: tenths of a second for the largest boards, so it is no work for
/// the threads that serve.
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
