//! Texts of refusals: renders a reason as a sentence and a next step, in a language and for a surface.
//!
//! A message of the catalogue has a text and attributes. `hint` is the next step; a surface with other names for
//! it has an attribute of its own (`cli` names commands, `tool` tools, `http` routes, `screen` what a screen
//! offers). `text-cli` and `text-screen` are texts without the lines that are only for models.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use polis_core::RefusalCode;
use polis_core::refusal::{ListArg, ListStyle, Reason, ReasonArg};

use crate::UiLanguage;
use crate::refusal_encoding as encoding;

include!(concat!(env!("OUT_DIR"), "/refusals.rs"));

/// All messages, ordered by id; [`OFFSETS`] has where each begins, and the end of the last.
static TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/refusals.txt"));

/// Id of the hint for a tool whose own refusal would name the tool itself.
const OWN_TOOL_HINT: &str = "tool-own-hint";

/// Message of the catalogue, in all languages.
struct RefusalMessage {
    texts: [MessageTexts; 2],
}

/// Message in one language: its encoded pattern and attributes.
#[derive(Debug, Clone, Copy)]
struct MessageTexts(&'static str);

/// Encoded pattern of a text.
type TextPattern = &'static str;

/// Part of a text.
enum PatternPiece {
    Text(&'static str),
    Argument(&'static str),
    /// Selects a text by the value of an argument. The body is the cases and the default.
    Selection {
        argument: &'static str,
        body: &'static str,
    },
}

/// Where a refusal is shown: each surface has its own names for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Command line: names commands and options.
    Cli,
    /// Tool call of a model, over MCP or in a run: names tools and parameters.
    Tool,
    /// HTTP API: names routes and fields.
    Http,
    /// Web page or terminal UI: names what the screen offers.
    Screen,
}

impl Surface {
    /// All surfaces.
    pub const ALL: [Self; 4] = [Self::Cli, Self::Tool, Self::Http, Self::Screen];

    /// Returns the attributes with the hint, in the order in which they are tried.
    fn hint_attributes(self) -> &'static [&'static str] {
        match self {
            Self::Cli => &["cli", "hint"],
            Self::Tool => &["tool", "hint"],
            Self::Http => &["http", "tool", "hint"],
            Self::Screen => &["screen", "hint"],
        }
    }

    /// Returns the attribute with a text of its own.
    fn text_attribute(self) -> Option<&'static str> {
        match self {
            Self::Cli => Some("text-cli"),
            Self::Screen => Some("text-screen"),
            Self::Tool | Self::Http => None,
        }
    }
}

/// A refusal as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalText {
    /// The sentence that describes the problem.
    pub message: String,
    /// What the caller can do next; empty if there is nothing to say.
    pub hint: String,
}

/// Renders a reason. A message that this version does not have (a stored response of a newer one) is rendered
/// as its id and arguments.
pub fn render_reason(reason: &Reason, surface: Surface, lang: UiLanguage) -> RefusalText {
    let Some(message) = find_message(reason.id()) else {
        return RefusalText {
            message: reason.to_string(),
            hint: String::new(),
        };
    };
    let renderer = ReasonRenderer {
        reason,
        surface,
        lang,
    };
    let texts = message.texts_in(lang);
    let own_text = (surface.text_attribute()).and_then(|name| texts.attribute(name));
    RefusalText {
        message: renderer.render(own_text.unwrap_or_else(|| texts.text())),
        hint: renderer.render_hint(texts),
    }
}

/// Returns what a code means, in a sentence.
pub fn describe_code(code: RefusalCode, lang: UiLanguage) -> &'static str {
    describe_code_name(code.as_str(), lang).unwrap_or_else(|| code.description())
}

/// Returns what the code with this name means, in a sentence; `None` if no crate has such a code.
pub fn describe_code_name(name: &str, lang: UiLanguage) -> Option<&'static str> {
    let id = format!("code-{}", name.replace('_', "-"));
    find_message(&id).map(|message| message.texts_in(lang).text())
}

/// Returns the names of the arguments that a message uses in any language; `None` if there is no such message.
pub fn message_arguments(id: &str) -> Option<BTreeSet<&'static str>> {
    let mut found = BTreeSet::new();
    for texts in &find_message(id)?.texts {
        collect_arguments(texts.text(), &mut found);
        for (_, pattern) in texts.attributes() {
            collect_arguments(pattern, &mut found);
        }
    }
    Some(found)
}

fn collect_arguments(pattern: TextPattern, found: &mut BTreeSet<&'static str>) {
    for piece in PatternPieces(pattern) {
        match piece {
            PatternPiece::Text(_) => {}
            PatternPiece::Argument(name) => {
                found.insert(name);
            }
            PatternPiece::Selection { argument, body } => {
                found.insert(argument);
                let (cases, other) = split_cases(body);
                for (_, case) in cases {
                    collect_arguments(case, found);
                }
                collect_arguments(other, found);
            }
        }
    }
}

/// Iterates over the ids of all messages of refusals.
pub fn message_ids() -> impl Iterator<Item = &'static str> {
    (0..message_count()).filter_map(|index| Some(message_at(index)?.0))
}

fn message_count() -> usize {
    OFFSETS.len().saturating_sub(1)
}

/// Returns the id and the rest of a message.
fn message_at(index: usize) -> Option<(&'static str, &'static str)> {
    let (start, end) = (*OFFSETS.get(index)?, *OFFSETS.get(index + 1)?);
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    TABLE.get(range)?.split_once(encoding::ID_END)
}

fn find_message(id: &str) -> Option<RefusalMessage> {
    let (mut low, mut high) = (0, message_count());
    while low < high {
        let middle = low.midpoint(high);
        let (own_id, texts) = message_at(middle)?;
        match own_id.cmp(id) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => {
                let (en, zh) = texts.split_once(encoding::LANGUAGE_END)?;
                return Some(RefusalMessage {
                    texts: [MessageTexts(en), MessageTexts(zh)],
                });
            }
        }
    }
    None
}

impl RefusalMessage {
    fn texts_in(&self, lang: UiLanguage) -> MessageTexts {
        let [en, zh] = self.texts;
        match lang {
            UiLanguage::En => en,
            UiLanguage::Zh => zh,
        }
    }
}

impl MessageTexts {
    fn text(self) -> TextPattern {
        self.0.split(encoding::ATTRIBUTE).next().unwrap_or_default()
    }

    fn attributes(self) -> impl Iterator<Item = (&'static str, TextPattern)> {
        let parts = self.0.split(encoding::ATTRIBUTE).skip(1);
        parts.filter_map(|part| part.split_once(encoding::NAME_END))
    }

    fn attribute(self, name: &str) -> Option<TextPattern> {
        let mut attributes = self.attributes();
        attributes
            .find(|(own_name, _)| *own_name == name)
            .map(|(_, pattern)| pattern)
    }

    fn hint(self, surface: Surface) -> Option<TextPattern> {
        let mut names = surface.hint_attributes().iter();
        names.find_map(|name| self.attribute(name))
    }
}

/// Decodes a pattern.
struct PatternPieces(TextPattern);

impl Iterator for PatternPieces {
    type Item = PatternPiece;

    fn next(&mut self) -> Option<PatternPiece> {
        let pattern = self.0;
        if let Some(rest) = pattern.strip_prefix(encoding::ARGUMENT) {
            let (name, rest) = rest.split_once(encoding::NAME_END)?;
            self.0 = rest;
            return Some(PatternPiece::Argument(name));
        }
        if let Some(rest) = pattern.strip_prefix(encoding::SELECTION) {
            let (argument, rest) = rest.split_once(encoding::NAME_END)?;
            let (body, rest) = split_at_depth_zero(rest, encoding::SELECTION_END)?;
            self.0 = rest;
            return Some(PatternPiece::Selection { argument, body });
        }
        let end = pattern
            .find([encoding::ARGUMENT, encoding::SELECTION])
            .unwrap_or(pattern.len());
        let (text, rest) = pattern.split_at(end);
        self.0 = rest;
        Some(PatternPiece::Text(text)).filter(|_| !text.is_empty())
    }
}

/// Splits a text at the first such mark that is not inside of a selection in it.
fn split_at_depth_zero(text: &'static str, mark: char) -> Option<(&'static str, &'static str)> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        if depth == 0 && c == mark {
            return Some((text.get(..at)?, text.get(at + c.len_utf8()..)?));
        }
        match c {
            encoding::SELECTION => depth += 1,
            encoding::SELECTION_END => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns the cases of a selection, with their keys, and the default.
fn split_cases(body: &'static str) -> (Vec<(&'static str, TextPattern)>, TextPattern) {
    let (mut cases, mut rest) = (Vec::new(), body);
    while let Some((case, after)) = split_at_depth_zero(rest, encoding::CASE_END) {
        cases.extend(case.split_once(encoding::NAME_END));
        rest = after;
    }
    (cases, rest)
}

/// Renders the patterns of a message with the arguments of a reason.
struct ReasonRenderer<'a> {
    reason: &'a Reason,
    surface: Surface,
    lang: UiLanguage,
}

impl ReasonRenderer<'_> {
    fn render_hint(&self, texts: MessageTexts) -> String {
        // A hint of a reading tool must not name the tool itself: another call does not show why it was refused.
        if let Some(tool) = self.reason.called_tool()
            && matches!(self.surface, Surface::Tool | Surface::Http)
            && let Some(pattern) = texts.hint(Surface::Tool)
            && self.render(pattern).contains(&format!("`{tool}`"))
            && let Some(own) = find_message(OWN_TOOL_HINT)
        {
            return self.render(own.texts_in(self.lang).text());
        }
        texts
            .hint(self.surface)
            .map_or_else(String::new, |pattern| self.render(pattern))
    }

    fn render(&self, pattern: TextPattern) -> String {
        let mut text = String::new();
        self.render_into(pattern, &mut text);
        text
    }

    fn render_into(&self, pattern: TextPattern, text: &mut String) {
        for piece in PatternPieces(pattern) {
            match piece {
                PatternPiece::Text(literal) => {
                    // A sentence inserted at the end of a sentence has its full stop already.
                    let is_repeated = text.ends_with('。') && literal.starts_with('。');
                    text.push_str(
                        literal
                            .get(if is_repeated { '。'.len_utf8() } else { 0 }..)
                            .unwrap_or_default(),
                    );
                }
                PatternPiece::Argument(name) => {
                    if let Some(value) = self.reason.arg(name) {
                        text.push_str(&self.render_arg(value));
                    }
                }
                PatternPiece::Selection { argument, body } => {
                    let value = self.reason.arg(argument);
                    let (cases, other) = split_cases(body);
                    let case = cases
                        .iter()
                        .find(|(key, _)| value.is_some_and(|v| matches_key(v, key)));
                    self.render_into(case.map_or(other, |(_, pattern)| *pattern), text);
                }
            }
        }
    }

    fn render_arg(&self, value: &ReasonArg) -> String {
        match value {
            ReasonArg::Text(text) => text.clone(),
            ReasonArg::Number(number) => number.to_string(),
            ReasonArg::List(list) => self.render_list(list),
            ReasonArg::Reason(reason) => render_reason(reason, self.surface, self.lang).message,
            ReasonArg::HintOf(reason) => render_reason(reason, self.surface, self.lang).hint,
        }
    }

    fn render_list(&self, list: &ListArg) -> String {
        let items: Vec<String> = list
            .items
            .iter()
            .map(|item| self.render_arg(item))
            .collect();
        match (list.style, self.lang, items.as_slice()) {
            (ListStyle::Arrows, ..) => items.join(" -> "),
            (ListStyle::Lines, ..) => items.join("\n"),
            (ListStyle::Semicolons, UiLanguage::En, _) => items.join("; "),
            (ListStyle::Semicolons, UiLanguage::Zh, _) => items.join("；"),
            (ListStyle::Commas, UiLanguage::En, _) => items.join(", "),
            (ListStyle::Conjunction, UiLanguage::En, [init @ .., last]) if !init.is_empty() => {
                format!("{} and {last}", init.join(", "))
            }
            (ListStyle::Conjunction, UiLanguage::En, _) => items.concat(),
            (_, UiLanguage::Zh, _) => items.join("、"),
        }
    }
}

/// Returns whether an argument selects a case: a text by its value, a number by its value or by `one`.
fn matches_key(value: &ReasonArg, key: &str) -> bool {
    match value {
        ReasonArg::Text(text) => text == key,
        ReasonArg::Number(number) => *number == 1 && key == "one" || number.to_string() == key,
        ReasonArg::List(_) | ReasonArg::Reason(_) | ReasonArg::HintOf(_) => false,
    }
}
