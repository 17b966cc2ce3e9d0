//! Markdown-to-HTML renderer: converts the parser's events to HTML elements, and collects the headings for
//! the table of contents.

use polis_view::highlight::{SourceLanguage, find_language};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::html_writer::{HtmlWriter, escape_html};
use super::slug::HeadingIds;
use super::{MarkdownDocument, MarkdownHeading, highlight_html, link_filter};

/// Maximum nesting depth of inline markup; deeper markup is omitted.
const MAX_INLINE_DEPTH: usize = 120;
/// Maximum length of a table head that is repeated after a split.
const MAX_TABLE_HEAD_BYTES: usize = 4 << 10;
/// Maximum length of a heading in a table of contents, in characters.
const MAX_TITLE_CHARS: usize = 160;
/// Maximum displayed length of the URL of a link that is not followed, in characters.
const MAX_SHOWN_URL_CHARS: usize = 200;

/// State of the conversion.
#[derive(Debug)]
pub(super) struct HtmlRenderer {
    writer: HtmlWriter,
    /// Assigns ids to headings; if `None`, they have none.
    slugs: Option<HeadingIds>,
    headings: Vec<MarkdownHeading>,
    /// The current heading: its level, whether it begins a section, and its text.
    heading: Option<(u8, bool, String)>,
    /// The current code block.
    code: Option<(String, Option<&'static SourceLanguage>)>,
    table: TableState,
    /// Numbers of the next items of the open lists; `None` for unordered lists.
    lists: Vec<Option<u64>>,
    /// The open links and images: `None` for a link that can be followed, otherwise the text to append to it.
    links: Vec<Option<String>>,
}

/// The current table; tables do not nest.
#[derive(Debug, Default)]
struct TableState {
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
    head_start: usize,
    head_part: usize,
}

impl HtmlRenderer {
    pub(super) fn new(writer: HtmlWriter, slugs: Option<HeadingIds>) -> Self {
        Self {
            writer,
            slugs,
            headings: Vec::new(),
            heading: None,
            code: None,
            table: TableState::default(),
            lists: Vec::new(),
            links: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> MarkdownDocument {
        MarkdownDocument {
            parts: self.writer.finish(),
            headings: self.headings,
        }
    }

    /// Writes the front matter as preformatted text.
    pub(super) fn write_front_matter(&mut self, front_matter: &str) {
        if !front_matter.is_empty() {
            self.writer
                .open("<pre class=\"front\" tabindex=\"0\">", "</pre>");
            for line in front_matter.split_inclusive('\n') {
                self.writer.write_text(line);
                self.writer.end_block();
            }
            self.writer.close();
        }
    }

    pub(super) fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => self.handle_text(&text),
            Event::Code(text) => {
                self.append_title(&text);
                self.writer.open("<code>", "</code>");
                self.writer.write_text(&text);
                self.writer.close();
            }
            Event::InlineHtml(html) => {
                self.writer.open("<code class=\"raw\">", "</code>");
                self.writer.write_text(&html);
                self.writer.close();
            }
            Event::Html(html) => {
                self.writer.write_text(&html);
                self.writer.end_block();
            }
            Event::SoftBreak => {
                self.append_title(" ");
                self.writer.write_text("\n");
            }
            Event::HardBreak => self.writer.write_tag("<br>"),
            Event::Rule => {
                self.writer.write_tag("<hr>");
                self.writer.end_block();
            }
            Event::TaskListMarker(done) => self.writer.write_tag(if done {
                "<span class=\"tick done\">☑</span> "
            } else {
                "<span class=\"tick\">☐</span> "
            }),
            // Not enabled in the parser.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.writer.write_text(&text);
            }
        }
    }

    fn handle_text(&mut self, text: &str) {
        if let Some((source, _)) = &mut self.code {
            source.push_str(text);
            return;
        }
        self.append_title(text);
        self.writer.write_text(text);
    }

    fn append_title(&mut self, text: &str) {
        if let Some((_, _, title)) = &mut self.heading {
            let remaining = MAX_TITLE_CHARS.saturating_sub(title.chars().count());
            title.extend(text.chars().filter(|c| !c.is_control()).take(remaining));
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        let writer = &mut self.writer;
        match tag {
            Tag::Paragraph => writer.open("<p>", "</p>"),
            Tag::Heading { level, .. } => self.start_heading(level),
            Tag::BlockQuote(_) => writer.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => {
                        let name = info.split([' ', ',', '{', '\t']).next();
                        name.and_then(find_language)
                    }
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((String::new(), language));
                writer.open("<pre tabindex=\"0\"><code>", "</code></pre>");
            }
            Tag::HtmlBlock => writer.open("<pre class=\"raw\" tabindex=\"0\">", "</pre>"),
            Tag::List(first) => {
                match first {
                    None => writer.open("<ul>", "</ul>"),
                    Some(first) => writer.open(format!("<ol start=\"{first}\">"), "</ol>"),
                }
                self.lists.push(first);
            }
            Tag::Item => {
                if let Some(Some(next)) = self.lists.last_mut() {
                    *next = next.saturating_add(1);
                }
                writer.open_with_reopen_tag("<li>", "<li class=\"on\">", "</li>");
            }
            Tag::Table(alignments) => {
                self.table.alignments = alignments;
                writer.open(
                    "<div class=\"scroll\" tabindex=\"0\"><table>",
                    "</table></div>",
                );
            }
            Tag::TableHead => {
                self.table.in_head = true;
                self.table.column = 0;
                self.table.head_start = writer.part_len();
                self.table.head_part = writer.part_index();
                writer.open("<thead><tr>", "</tr></thead>");
            }
            Tag::TableRow => {
                self.table.column = 0;
                writer.open("<tr>", "</tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.open_inline("<em>", "</em>"),
            Tag::Strong => self.open_inline("<strong>", "</strong>"),
            Tag::Strikethrough => self.open_inline("<del>", "</del>"),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.start_link(&dest_url, " class=\"image\""),
            // Not enabled in the parser; written without markup.
            Tag::MetadataBlock(_)
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => writer.open("", ""),
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_heading();
                return;
            }
            TagEnd::CodeBlock => {
                let (source, language) = self.code.take().unwrap_or_default();
                highlight_html::write_code_block(&mut self.writer, &source, language);
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.end_link();
                return;
            }
            TagEnd::TableHead => {
                self.end_table_head();
                return;
            }
            // Closes `tbody`; the table itself is closed below.
            TagEnd::Table => self.writer.close(),
            _ => {}
        }
        self.writer.close();
        match tag {
            TagEnd::Item => {
                // A list that is split continues with the current number.
                if let Some(Some(next)) = self.lists.last() {
                    let reopen_tag = format!("<ol start=\"{next}\">");
                    if let Some(list) = self.writer.innermost_mut() {
                        list.reopen_tag = reopen_tag.into();
                    }
                }
                self.writer.end_block();
            }
            TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
            _ => self.writer.end_block(),
        }
    }

    /// Opens inline markup, unless the nesting is too deep.
    fn open_inline(&mut self, tag: &'static str, close: &'static str) {
        if self.writer.depth() < MAX_INLINE_DEPTH {
            self.writer.open(tag, close);
        } else {
            self.writer.open("", "");
        }
    }

    fn start_heading(&mut self, level: HeadingLevel) {
        self.writer.before_heading();
        let section = self.writer.depth() == 0;
        self.heading = Some((level as u8, section, String::new()));
        // The id is known only at the end of the heading, when its text is complete, so an anchor at the end
        // carries it. The page has a heading of its own, so the levels of a text start below it.
        let (tag, close) = match (level, self.slugs.is_some()) {
            (HeadingLevel::H1, true) => ("<h2>", "</h2>"),
            (HeadingLevel::H2, true) | (HeadingLevel::H1, false) => ("<h3>", "</h3>"),
            (HeadingLevel::H3, true) | (HeadingLevel::H2, false) => ("<h4>", "</h4>"),
            (HeadingLevel::H4, true) | (HeadingLevel::H3, false) => ("<h5>", "</h5>"),
            _ => ("<h6>", "</h6>"),
        };
        self.writer.open(tag, close);
    }

    fn end_heading(&mut self) {
        if let Some((level, section, title)) = self.heading.take()
            && let Some(slugs) = &mut self.slugs
        {
            let id = slugs.assign_id(&title);
            self.writer.write_tag("<a class=\"here\" id=\"");
            let mut escaped = String::new();
            escape_html(&id, &mut escaped);
            self.writer.write_tag(&escaped);
            self.writer.write_tag("\"></a>");
            self.headings.push(MarkdownHeading {
                level,
                title,
                id,
                part: self.writer.part_index(),
                begins_section: section,
            });
        }
        self.writer.close();
        // Do not split after a heading: the content that it belongs to follows.
    }

    fn start_cell(&mut self) {
        let alignment = self.table.alignments.get(self.table.column);
        self.table.column += 1;
        let (tag, close) = match (self.table.in_head, alignment) {
            (true, Some(Alignment::Right)) => ("<th class=\"right\">", "</th>"),
            (true, Some(Alignment::Center)) => ("<th class=\"center\">", "</th>"),
            (true, _) => ("<th>", "</th>"),
            (false, Some(Alignment::Right)) => ("<td class=\"right\">", "</td>"),
            (false, Some(Alignment::Center)) => ("<td class=\"center\">", "</td>"),
            (false, _) => ("<td>", "</td>"),
        };
        self.writer.open(tag, close);
    }

    fn end_table_head(&mut self) {
        self.writer.close();
        self.table.in_head = false;
        // A table that is split repeats its head.
        let whole = self.table.head_part == self.writer.part_index();
        let head = self.writer.written_since(self.table.head_start).to_owned();
        if whole
            && head.len() <= MAX_TABLE_HEAD_BYTES
            && let Some(table) = self.writer.innermost_mut()
        {
            table.reopen_tag.to_mut().push_str(&head);
        }
        self.writer.open("<tbody>", "</tbody>");
    }

    fn start_link(&mut self, address: &str, class: &str) {
        let outer = self.links.iter().any(Option::is_none);
        let shallow = self.writer.depth() < MAX_INLINE_DEPTH;
        // An image within a link becomes the link's text, because links do not nest.
        if outer || !shallow {
            self.links.push(Some(String::new()));
            self.writer.open("", "");
            return;
        }
        if let Some(followed) = link_filter::allowed_link_url(address) {
            let mut tag = format!("<a{class} href=\"");
            escape_html(&followed, &mut tag);
            tag.push_str("\" rel=\"noopener noreferrer nofollow\">");
            self.links.push(None);
            self.writer.open(tag, "</a>");
        } else {
            let visible: String = address.chars().take(MAX_SHOWN_URL_CHARS).collect();
            self.links.push(Some(visible));
            self.writer.open("<span class=\"no-link\">", "</span>");
        }
    }

    fn end_link(&mut self) {
        let left = self.links.pop().flatten().unwrap_or_default();
        if !left.is_empty() {
            self.writer.write_text(&format!(" ({left})"));
        }
        self.writer.close();
    }
}
