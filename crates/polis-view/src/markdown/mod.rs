//! Markdown renderer for terminals: converts Markdown to [`StyledLines`], wrapped to the terminal width, with
//! aligned tables and control characters neutralized. (The renderer to HTML is in `polis-web`.)
//!
//! `block_renderer` reads the parser's events, `inline_renderer` and `table_layout` collect texts and tables,
//! and `render_page` writes the lines. A board may contain anything up to its size limit, so every step takes
//! linear time and none is recursive.

mod block_renderer;
mod inline_renderer;
mod render_page;
mod table_layout;

#[cfg(test)]
mod tests;

use pulldown_cmark::{Options, Parser};

use self::block_renderer::BlockRenderer;
use self::render_page::RenderPage;
use crate::style::StyledLines;

/// Options of the Markdown renderer.
#[derive(Debug)]
pub struct RenderOptions {
    /// Terminal width in columns; clamped to 20 to 1000.
    pub width: usize,
    /// Whether styles are used; without them, marks replace them.
    pub colour: bool,
}

/// Renders Markdown to styled lines.
pub fn render_markdown(markdown: &str, render_options: &RenderOptions) -> StyledLines {
    let markdown = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let (front_matter, body) = split_front_matter(markdown);
    let body = crate::limit_nesting_depth(body);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut page = RenderPage::new(render_options);
    page.write_verbatim(front_matter, "");
    let mut blocks = BlockRenderer::new(page);
    for event in Parser::new_ext(&body, options) {
        blocks.handle_event(event);
    }
    blocks.into_lines()
}

/// Splits off front matter, the metadata between two `---` lines at the very start (the second may be `...`).
/// Returns the front matter with its delimiters, empty if there is none, and the rest.
pub fn split_front_matter(markdown: &str) -> (&str, &str) {
    let mut end = 0;
    for (n, line) in markdown.split_inclusive('\n').enumerate() {
        end += line.len();
        match (n, line.trim_end()) {
            (0, "---") => {}
            // No metadata: another first line, or a thematic break (`---` before a blank line).
            (0, _) | (1, "") => break,
            (1.., "---" | "...") => return markdown.split_at_checked(end).unwrap_or_default(),
            _ => {}
        }
    }
    ("", markdown)
}
