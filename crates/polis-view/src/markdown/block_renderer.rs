//! Renders Markdown blocks from the parser's events to a [`RenderPage`]: paragraphs, headings, lists, quotes,
//! code, tables. The text within a block is collected by [`InlineRenderer`].

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use super::inline_renderer::{InlineRenderer, task_list_mark};
use super::render_page::{ItemMarker, RenderPage};
use super::table_layout::MarkdownTable;
use crate::line_wrap;
use crate::style::{StyleSet, StyledLines, TextStyle};

const CODE_INDENT: &str = "    ";
const LIST_BULLET: &str = "-";

/// State of the conversion: the open blocks, and the text, code or table that is being collected.
#[derive(Debug)]
pub(super) struct BlockRenderer {
    page: RenderPage,
    inline: InlineRenderer,
    open: Vec<OpenBlock>,
    code: Option<String>,
    table: Option<MarkdownTable>,
}

/// A block that contains others.
#[derive(Debug)]
enum OpenBlock {
    Quote,
    List(OpenList),
    Item,
}

#[derive(Debug)]
struct OpenList {
    /// Number of the next item in an ordered list.
    number: Option<u64>,
    /// Whether the list has an item yet.
    has_items: bool,
    /// Whether items are separated by blank lines.
    is_loose: bool,
}

impl BlockRenderer {
    pub(super) fn new(page: RenderPage) -> Self {
        Self {
            inline: InlineRenderer::new(page.uses_colour()),
            page,
            open: Vec::new(),
            code: None,
            table: None,
        }
    }

    /// Handles the next event of the Markdown parser.
    pub(super) fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Rule => {
                self.end_text();
                self.page.write_rule();
                self.end_block();
            }
            Event::Text(text) if self.code.is_some() => {
                self.code.get_or_insert_default().push_str(&text);
            }
            Event::TaskListMarker(done) => self.mark_task_item(done),
            within => self.inline.handle_event(&within),
        }
    }

    /// Returns the page after all events were handled.
    pub(super) fn into_lines(self) -> StyledLines {
        self.page.into_lines()
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                if let Some(list) = self.current_item_list() {
                    list.is_loose = true;
                }
            }
            Tag::Heading { level, .. } => self.start_text(heading_styles(level)),
            Tag::HtmlBlock => self.start_text(StyleSet::NONE),
            Tag::CodeBlock(_) => {
                self.end_text();
                self.code = Some(String::new());
            }
            Tag::Table(alignments) => {
                self.end_text();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead => self.inline.reset_with_styles(TextStyle::Bold.into()),
            Tag::TableRow => self.inline.reset_with_styles(StyleSet::NONE),
            Tag::BlockQuote(_) => {
                self.end_text();
                self.page.write_gap();
                self.page.open_quote();
                self.open.push(OpenBlock::Quote);
            }
            Tag::List(number) => {
                self.end_text();
                self.open.push(OpenBlock::List(OpenList {
                    number,
                    has_items: false,
                    is_loose: false,
                }));
            }
            Tag::Item => self.start_item(),
            within => self.inline.handle_event(&Event::Start(within)),
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_text();
                self.end_block();
            }
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.page.write_verbatim(&code, CODE_INDENT);
                self.end_block();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.page.write_gap();
                    table.write(&mut self.page);
                }
                self.inline.reset_with_styles(StyleSet::NONE);
                self.end_block();
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                if let Some(OpenBlock::Quote) = self.open.pop() {
                    self.page.close_container();
                }
                self.end_block();
            }
            TagEnd::Item => {
                self.end_text();
                self.page.close_container();
                self.open.pop();
            }
            within => self.inline.handle_event(&Event::End(within)),
        }
    }

    /// Returns the list whose item directly contains the next block.
    fn current_item_list(&mut self) -> Option<&mut OpenList> {
        match self.open.as_mut_slice() {
            [.., OpenBlock::List(list), OpenBlock::Item] => Some(list),
            _ => None,
        }
    }

    fn start_text(&mut self, styles: StyleSet) {
        self.end_text();
        self.inline.reset_with_styles(styles);
    }

    /// Writes the collected text. In a tight list only the next block ends it.
    fn end_text(&mut self) {
        if !self.inline.text().is_empty() {
            self.page.write_text(self.inline.text());
            self.inline.reset_with_styles(StyleSet::NONE);
            self.page.set_gap(false);
        }
    }

    /// Separates the next block by a blank line, except in a tight list.
    fn end_block(&mut self) {
        let tight = self.current_item_list().is_some_and(|list| !list.is_loose);
        self.page.set_gap(!tight);
    }

    fn start_item(&mut self) {
        if let Some(OpenBlock::List(list)) = self.open.last_mut() {
            if list.has_items {
                self.page.set_gap(list.is_loose);
            }
            list.has_items = true;
            let text = match &mut list.number {
                Some(number) => {
                    let text = format!("{number}.");
                    *number = number.saturating_add(1);
                    text
                }
                None => LIST_BULLET.to_owned(),
            };
            self.page.write_gap();
            self.page.open_item(ItemMarker {
                text,
                styles: StyleSet::NONE,
            });
        }
        self.open.push(OpenBlock::Item);
    }

    /// A task marker replaces the bullet, but not a number.
    fn mark_task_item(&mut self, done: bool) {
        match self.page.pending_marker_mut() {
            Some(marker) if marker.text == LIST_BULLET => {
                let (mark, style) = task_list_mark(done);
                *marker = ItemMarker {
                    text: mark.to_owned(),
                    styles: style.into(),
                };
            }
            _ => self.inline.handle_event(&Event::TaskListMarker(done)),
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        self.page.write_gap();
        if level == HeadingLevel::H1 {
            self.write_title();
            self.end_block();
        } else {
            self.page.open_item(ItemMarker {
                text: "#".repeat(level as usize),
                styles: heading_styles(level),
            });
            self.page.write_text(self.inline.text());
            self.page.close_container();
            self.page.set_gap(false);
        }
        self.inline.reset_with_styles(StyleSet::NONE);
    }

    /// Writes a level-1 heading, underlined to its width.
    fn write_title(&mut self) {
        let text = self.inline.text();
        let lines = line_wrap::wrap_lines(text.text(), self.page.available_width());
        let widths = lines.filter_map(|line| text.text().get(line).map(str::width));
        let width = widths.max().unwrap_or(0);
        self.page.write_text(text);
        if width > 0 {
            let line = "═".repeat(width.min(self.page.available_width().other_lines));
            let styles = heading_styles(HeadingLevel::H1);
            self.page.write_line([(styles, line.as_str())]);
        }
    }

    fn end_cell(&mut self) {
        if let Some(table) = &mut self.table {
            table.push_cell(self.inline.text());
        }
        self.inline.reset_text();
    }
}

fn heading_styles(level: HeadingLevel) -> StyleSet {
    let bold = StyleSet::from(TextStyle::Bold);
    match level {
        HeadingLevel::H2 => bold.with_style(TextStyle::Cyan),
        _ => bold,
    }
}
