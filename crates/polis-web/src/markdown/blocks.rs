//! Converts the Markdown parser's events to HTML elements, and collects the headings.

use polis_view::highlight::{Language, language};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::slug::Slugs;
use super::writer::{Writer, escape};
use super::{Document, Heading, code, link};

/// Maximum nesting depth of inline markup; deeper markup is omitted.
const DEEPEST: usize = 120;
/// Maximum length of a table head that is repeated after a split.
const LONGEST_HEAD: usize = 4 << 10;
/// Maximum length of a heading in a table of contents, in characters.
const LONGEST_TITLE: usize = 160;
/// Maximum displayed length of the URL of a link that is not followed, in characters.
const LONGEST_ADDRESS: usize = 200;

/// State of the conversion.
#[derive(Debug)]
pub(super) struct Blocks {
    writer: Writer,
    /// Assigns ids to headings; if `None`, they have none.
    slugs: Option<Slugs>,
    headings: Vec<Heading>,
    /// The current heading: its level, whether it begins a section, and its text.
    heading: Option<(u8, bool, String)>,
    /// The current code block.
    code: Option<(String, Option<&'static Language>)>,
    table: Table,
    /// Numbers of the next items of the open lists; `None` for unordered lists.
    lists: Vec<Option<u64>>,
    /// The open links and images: `None` for a link that can be followed, otherwise the text to append to it.
    links: Vec<Option<String>>,
}

/// The current table; tables do not nest.
#[derive(Debug, Default)]
struct Table {
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
    head_began: usize,
    head_part: usize,
}

impl Blocks {
    pub(super) fn new(writer: Writer, slugs: Option<Slugs>) -> Self {
        Self {
            writer,
            slugs,
            headings: Vec::new(),
            heading: None,
            code: None,
            table: Table::default(),
            lists: Vec::new(),
            links: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Document {
        Document {
            parts: self.writer.finish(),
            headings: self.headings,
        }
    }

    /// Writes the front matter as preformatted text.
    pub(super) fn front_matter(&mut self, front: &str) {
        if !front.is_empty() {
            self.writer
                .open("<pre class=\"front\" tabindex=\"0\">", "</pre>");
            for line in front.split_inclusive('\n') {
                self.writer.text(line);
                self.writer.ended();
            }
            self.writer.close();
        }
    }

    pub(super) fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.note_title(&text);
                self.writer.open("<code>", "</code>");
                self.writer.text(&text);
                self.writer.close();
            }
            Event::InlineHtml(html) => {
                self.writer.open("<code class=\"raw\">", "</code>");
                self.writer.text(&html);
                self.writer.close();
            }
            Event::Html(html) => {
                self.writer.text(&html);
                self.writer.ended();
            }
            Event::SoftBreak => {
                self.note_title(" ");
                self.writer.text("\n");
            }
            Event::HardBreak => self.writer.tag("<br>"),
            Event::Rule => {
                self.writer.tag("<hr>");
                self.writer.ended();
            }
            Event::TaskListMarker(done) => self.writer.tag(if done {
                "<span class=\"tick done\">☑</span> "
            } else {
                "<span class=\"tick\">☐</span> "
            }),
            // Not enabled in the parser.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.writer.text(&text);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((source, _)) = &mut self.code {
            source.push_str(text);
            return;
        }
        self.note_title(text);
        self.writer.text(text);
    }

    fn note_title(&mut self, text: &str) {
        if let Some((_, _, title)) = &mut self.heading {
            let room = LONGEST_TITLE.saturating_sub(title.chars().count());
            title.extend(text.chars().filter(|c| !c.is_control()).take(room));
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let writer = &mut self.writer;
        match tag {
            Tag::Paragraph => writer.open("<p>", "</p>"),
            Tag::Heading { level, .. } => self.start_heading(level),
            Tag::BlockQuote(_) => writer.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let named = match &kind {
                    CodeBlockKind::Fenced(info) => {
                        let name = info.split([' ', ',', '{', '\t']).next();
                        name.and_then(language)
                    }
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((String::new(), named));
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
                writer.open_as("<li>", "<li class=\"on\">", "</li>");
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
                self.table.head_began = writer.length();
                self.table.head_part = writer.part();
                writer.open("<thead><tr>", "</tr></thead>");
            }
            Tag::TableRow => {
                self.table.column = 0;
                writer.open("<tr>", "</tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.mark("<em>", "</em>"),
            Tag::Strong => self.mark("<strong>", "</strong>"),
            Tag::Strikethrough => self.mark("<del>", "</del>"),
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

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_heading();
                return;
            }
            TagEnd::CodeBlock => {
                let (source, named) = self.code.take().unwrap_or_default();
                code::write(&mut self.writer, &source, named);
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.end_link();
                return;
            }
            TagEnd::TableHead => {
                self.end_head();
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
                    let again = format!("<ol start=\"{next}\">");
                    if let Some(list) = self.writer.last() {
                        list.again = again.into();
                    }
                }
                self.writer.ended();
            }
            TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
            _ => self.writer.ended(),
        }
    }

    /// Opens inline markup, unless the nesting is too deep.
    fn mark(&mut self, tag: &'static str, close: &'static str) {
        if self.writer.depth() < DEEPEST {
            self.writer.open(tag, close);
        } else {
            self.writer.open("", "");
        }
    }

    fn start_heading(&mut self, level: HeadingLevel) {
        self.writer.heading_comes();
        let section = self.writer.depth() == 0;
        self.heading = Some((level as u8, section, String::new()));
        // The id is known only at the end of the heading, when its text is complete, so an anchor at the end carries
        // it. The page has a heading of its own, so the levels of a text start below it.
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
            let id = slugs.give(&title);
            self.writer.tag("<a class=\"here\" id=\"");
            let mut escaped = String::new();
            escape(&id, &mut escaped);
            self.writer.tag(&escaped);
            self.writer.tag("\"></a>");
            self.headings.push(Heading {
                level,
                title,
                id,
                part: self.writer.part(),
                section,
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

    fn end_head(&mut self) {
        self.writer.close();
        self.table.in_head = false;
        // A table that is split repeats its head.
        let whole = self.table.head_part == self.writer.part();
        let head = self.writer.since(self.table.head_began).to_owned();
        if whole
            && head.len() <= LONGEST_HEAD
            && let Some(table) = self.writer.last()
        {
            table.again.to_mut().push_str(&head);
        }
        self.writer.open("<tbody>", "</tbody>");
    }

    fn start_link(&mut self, address: &str, class: &str) {
        let outer = self.links.iter().any(Option::is_none);
        let shallow = self.writer.depth() < DEEPEST;
        // An image within a link becomes the link's text, because links do not nest.
        if outer || !shallow {
            self.links.push(Some(String::new()));
            self.writer.open("", "");
            return;
        }
        if let Some(followed) = link::followable(address) {
            let mut tag = format!("<a{class} href=\"");
            escape(&followed, &mut tag);
            tag.push_str("\" rel=\"noopener noreferrer nofollow\">");
            self.links.push(None);
            self.writer.open(tag, "</a>");
        } else {
            let shown: String = address.chars().take(LONGEST_ADDRESS).collect();
            self.links.push(Some(shown));
            self.writer.open("<span class=\"no-link\">", "</span>");
        }
    }

    fn end_link(&mut self) {
        let left = self.links.pop().flatten().unwrap_or_default();
        if !left.is_empty() {
            self.writer.text(&format!(" ({left})"));
        }
        self.writer.close();
    }
}
