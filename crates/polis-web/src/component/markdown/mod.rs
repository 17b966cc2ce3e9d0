//! Markdown to HTML, safe by construction: every tag and attribute is one of our own, and all content of the
//! text is escaped, so no sanitizer is needed afterwards.
//!
//! Raw HTML is shown as text. Links may use `http`, `https` and `mailto`, paths of this server, and fragments
//! of the page; others are shown as text. Images become links, so viewing a board fetches nothing. A text may
//! be anything up to a board's size limit, so every step takes linear time, nothing is recursive, and a long
//! text is split into parts that are valid HTML each by itself (`html_writer`).

mod highlight_html;
mod html_renderer;
mod html_writer;
mod link_filter;
mod slug;
#[cfg(test)]
mod tests;

use maud::{Markup, PreEscaped};
use polis_core::board::section::front_matter_end;
use pulldown_cmark::{Options, Parser};

pub(crate) use self::highlight_html::highlight_lines;
use self::html_renderer::HtmlRenderer;
use self::html_writer::HtmlWriter;
use self::slug::HeadingIds;

/// A Markdown text as HTML in parts.
#[derive(Debug)]
pub(crate) struct MarkdownDocument {
    /// The parts, in order; each is valid HTML by itself. At least one.
    pub(crate) parts: Vec<HtmlPart>,
    /// The headings, in order.
    pub(crate) headings: Vec<MarkdownHeading>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HtmlPart {
    /// Unique id derived from the content, so that an unchanged part keeps its id.
    pub(crate) id: String,
    /// HTML of the part, with all elements closed.
    pub(crate) html: String,
}

/// A heading of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkdownHeading {
    /// Level in the Markdown text, 1 to 6.
    pub(crate) level: u8,
    /// Text of the heading, without markup; truncated if it is very long.
    pub(crate) title: String,
    /// Id of the HTML element that links lead to.
    pub(crate) id: String,
    /// Index of the part that contains the heading.
    pub(crate) part: usize,
    /// Whether it is at the top level, outside of quotes and lists, so that it begins a section.
    pub(crate) begins_section: bool,
}

/// Renders a short text, such as a comment, within a page that has headings of its own.
pub(crate) fn render_markdown(markdown: &str) -> Markup {
    let parts = render_events(markdown, HtmlRenderer::new(HtmlWriter::single_part(), None)).parts;
    PreEscaped(parts.into_iter().map(|part| part.html).collect())
}

/// Renders a text of any length in parts, with its headings.
///
/// Takes linear time: tenths of a second for the largest boards, so it must not run on the server's async
/// threads.
pub(crate) fn render_document(markdown: &str) -> MarkdownDocument {
    let slugs = Some(HeadingIds::default());
    render_events(markdown, HtmlRenderer::new(HtmlWriter::splitting(), slugs))
}

fn render_events(markdown: &str, mut blocks: HtmlRenderer) -> MarkdownDocument {
    let (front_matter, body) = markdown
        .split_at_checked(front_matter_end(markdown))
        .unwrap_or(("", markdown));
    blocks.write_front_matter(front_matter.trim_start_matches('\u{feff}'));
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(&polis_view::limit_nesting_depth(body), options) {
        blocks.handle_event(event);
    }
    blocks.finish()
}
