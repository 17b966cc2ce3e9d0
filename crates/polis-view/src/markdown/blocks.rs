//! Converts the Markdown parser's events to blocks on a [`Page`]: paragraphs, headings, lists, quotes, code,
//! tables.

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use super::inline::{Inline, task_mark};
use super::page::{Marker, Page};
use super::table::Table;
use crate::style::{Style, StyledLines, Styles};
use crate::wrap;

const CODE_INDENT: &str = "    ";
const BULLET: &str = "-";

/// State of the conversion: the open blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    page: Page,
    inline: Inline,
    open: Vec<Open>,
    code: Option<String>,
    table: Option<Table>,
}

/// A block that contains others.
#[derive(Debug)]
enum Open {
    Quote,
    List(List),
    Item,
}

#[derive(Debug)]
struct List {
    /// Number of the next item in an ordered list.
    number: Option<u64>,
    /// Whether the list has an item yet.
    begun: bool,
    /// Whether items are separated by blank lines.
    loose: bool,
}

impl Blocks {
    pub(super) fn new(page: Page) -> Self {
        Self {
            inline: Inline::new(page.colour()),
            page,
            open: Vec::new(),
            code: None,
            table: None,
        }
    }

    /// Handles the next event.
    pub(super) fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Rule => {
                self.end_text();
                self.page.rule();
                self.end_block();
            }
            Event::Text(text) if self.code.is_some() => {
                self.code.get_or_insert_default().push_str(&text);
            }
            Event::TaskListMarker(done) => self.task(done),
            within => self.inline.take(&within),
        }
    }

    /// Returns the page after all events were handled.
    pub(super) fn finish(self) -> StyledLines {
        self.page.finish()
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                if let Some(list) = self.list_of_item() {
                    list.loose = true;
                }
            }
            Tag::Heading { level, .. } => self.start_text(heading_styles(level)),
            Tag::HtmlBlock => self.start_text(Styles::NONE),
            Tag::CodeBlock(_) => {
                self.end_text();
                self.code = Some(String::new());
            }
            Tag::Table(alignments) => {
                self.end_text();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => self.inline.clear(Style::Bold.into()),
            Tag::TableRow => self.inline.clear(Styles::NONE),
            Tag::BlockQuote(_) => {
                self.end_text();
                self.page.fill_gap();
                self.page.open_quote();
                self.open.push(Open::Quote);
            }
            Tag::List(number) => {
                self.end_text();
                self.open.push(Open::List(List {
                    number,
                    begun: false,
                    loose: false,
                }));
            }
            Tag::Item => self.start_item(),
            within => self.inline.take(&Event::Start(within)),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_text();
                self.end_block();
            }
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.page.verbatim(&code, CODE_INDENT);
                self.end_block();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.page.fill_gap();
                    table.write(&mut self.page);
                }
                self.inline.clear(Styles::NONE);
                self.end_block();
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                if let Some(Open::Quote) = self.open.pop() {
                    self.page.close();
                }
                self.end_block();
            }
            TagEnd::Item => {
                self.end_text();
                self.page.close();
                self.open.pop();
            }
            within => self.inline.take(&Event::End(within)),
        }
    }

    /// Returns the list whose item directly contains the next block.
    fn list_of_item(&mut self) -> Option<&mut List> {
        match self.open.as_mut_slice() {
            [.., Open::List(list), Open::Item] => Some(list),
            _ => None,
        }
    }

    fn start_text(&mut self, styles: Styles) {
        self.end_text();
        self.inline.clear(styles);
    }

    /// Writes the collected text. In a tight list only the next block ends it.
    fn end_text(&mut self) {
        if !self.inline.text().is_empty() {
            self.page.text(self.inline.text());
            self.inline.clear(Styles::NONE);
            self.page.set_gap(false);
        }
    }

    /// Separates the next block by a blank line, except in a tight list.
    fn end_block(&mut self) {
        let tight = self.list_of_item().is_some_and(|list| !list.loose);
        self.page.set_gap(!tight);
    }

    fn start_item(&mut self) {
        if let Some(Open::List(list)) = self.open.last_mut() {
            if list.begun {
                self.page.set_gap(list.loose);
            }
            list.begun = true;
            let text = match &mut list.number {
                Some(number) => {
                    let text = format!("{number}.");
                    *number = number.saturating_add(1);
                    text
                }
                None => BULLET.to_owned(),
            };
            self.page.fill_gap();
            self.page.open_item(Marker {
                text,
                styles: Styles::NONE,
            });
        }
        self.open.push(Open::Item);
    }

    /// A task marker replaces the bullet, but not a number.
    fn task(&mut self, done: bool) {
        match self.page.marker_mut() {
            Some(marker) if marker.text == BULLET => {
                let (mark, style) = task_mark(done);
                *marker = Marker {
                    text: mark.to_owned(),
                    styles: style.into(),
                };
            }
            _ => self.inline.take(&Event::TaskListMarker(done)),
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        self.page.fill_gap();
        if level == HeadingLevel::H1 {
            self.write_title();
            self.end_block();
        } else {
            self.page.open_item(Marker {
                text: "#".repeat(level as usize),
                styles: heading_styles(level),
            });
            self.page.text(self.inline.text());
            self.page.close();
            self.page.set_gap(false);
        }
        self.inline.clear(Styles::NONE);
    }

    /// Writes a level-1 heading, underlined to its width.
    fn write_title(&mut self) {
        let text = self.inline.text();
        let lines = wrap::lines(text.text(), self.page.room());
        let widths = lines.filter_map(|line| text.text().get(line).map(str::width));
        let width = widths.max().unwrap_or(0);
        self.page.text(text);
        if width > 0 {
            let line = "═".repeat(width.min(self.page.room().rest));
            let styles = heading_styles(HeadingLevel::H1);
            self.page.line([(styles, line.as_str())]);
        }
    }

    fn end_cell(&mut self) {
        if let Some(table) = &mut self.table {
            table.push_cell(self.inline.text());
        }
        self.inline.clear_text();
    }
}

fn heading_styles(level: HeadingLevel) -> Styles {
    let bold = Styles::from(Style::Bold);
    match level {
        HeadingLevel::H2 => bold.with(Style::Cyan),
        _ => bold,
    }
}
