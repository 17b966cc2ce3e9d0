//! In-place editing of JSON with comments and trailing commas (JSONC).
//!
//! `jsonc-parser` finds the position of every member, comment and comma. Edits are made in the original text, so
//! that nothing else of it changes; the parser's own syntax tree would spread an object that is written on one
//! line over several lines. serde_json validates a copy without comments and trailing commas, because the
//! parser also accepts texts that are not JSON, such as strings with line breaks.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::entry_edit::{
    EditError, EntryField, find_entry, line_end_offset, line_ending, line_indent,
    line_start_offset, nest_fields, replace_ranges, unsupported_layout,
};
use crate::output::sanitize_line;
use crate::refusal_tables::ClientFileProblem;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Extensions to JSON that a client's reader accepts. A file that its client cannot read is not edited: the
/// entry would have no effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonDialect {
    pub(super) comments: bool,
    pub(super) trailing_commas: bool,
    pub(super) byte_order_mark: bool,
}

impl JsonDialect {
    fn parse_options(self) -> ParseOptions {
        ParseOptions {
            // Comments are collected as tokens and checked there.
            allow_comments: true,
            allow_trailing_commas: self.trailing_commas,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        }
    }
}

/// Parses a JSONC text into a JSON tree; a text without a value is read as `{}`.
pub(super) fn parse_tree(text: &str, dialect: JsonDialect) -> Result<Value, EditError> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.len() < text.len() && !dialect.byte_order_mark {
        let problem = ClientFileProblem::ByteOrderMark;
        return Err(EditError::at_offset(text, 0, problem));
    }
    JsoncDocument::parse(body, dialect).map(|document| document.tree)
}

/// Returns the text with the fields of an entry set.
pub(super) fn set_fields(
    text: &str,
    dialect: JsonDialect,
    keys: &[&str],
    fields: &[EntryField],
) -> Result<String, EditError> {
    // One change at a time: each shifts the text after it. There are at most as many changes as fields.
    edit_repeatedly(text, dialect, fields.len() + 1, |document| {
        document.next_change(keys, fields)
    })
}

/// Returns the text without an entry; removes all duplicates of it.
pub(super) fn remove_entry(
    text: &str,
    dialect: JsonDialect,
    keys: &[&str],
) -> Result<String, EditError> {
    edit_repeatedly(text, dialect, usize::MAX, |document| {
        Ok(document.removal_edits(keys))
    })
}

/// Applies the edits that a function finds in the text until it finds none.
fn edit_repeatedly(
    text: &str,
    dialect: JsonDialect,
    max_rounds: usize,
    find_edits: impl Fn(&JsoncDocument<'_>) -> Result<Option<JsoncEdits>, EditError>,
) -> Result<String, EditError> {
    let mut body = text
        .strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .to_owned();
    let mark = text
        .get(..text.len() - body.len())
        .unwrap_or_default()
        .to_owned();
    for _ in 0..max_rounds {
        let document = JsoncDocument::parse(&body, dialect).map_err(|_| unsupported_layout())?;
        let Some(edits) = find_edits(&document)? else {
            break;
        };
        body = replace_ranges(&body, &edits);
    }
    Ok(mark + &body)
}

type JsoncEdits = Vec<(Range<usize>, String)>;

/// A parsed JSONC text without a byte order mark.
struct JsoncDocument<'t> {
    text: &'t str,
    /// The outermost object, if there is one.
    root: Option<Object<'t>>,
    /// Offsets of all commas.
    commas: Vec<usize>,
    tree: Value,
}

impl<'t> JsoncDocument<'t> {
    fn parse(text: &'t str, dialect: JsonDialect) -> Result<Self, EditError> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed =
            parse_to_ast(text, &collect, &dialect.parse_options()).map_err(describe_parse_error)?;
        let tokens = parsed.tokens.unwrap_or_default();
        if let Some(comment) = tokens.iter().find(|token| is_comment(token))
            && !dialect.comments
        {
            let start = comment.range.start;
            return Err(EditError::at_offset(
                text,
                start,
                ClientFileProblem::Comment,
            ));
        }
        let json = to_plain_json(text, &tokens);
        let tree = if json.trim_ascii().is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_slice(&json).map_err(|error| EditError {
                line: Some(error.line()),
                reason: json_syntax_problem(strip_error_position(&error.to_string())).into(),
            })?
        };
        if !tree.is_object() {
            return Err(EditError::new(ClientFileProblem::FileNotAnObject));
        }
        let root = parsed.value.and_then(|value| match value {
            jsonc_parser::ast::Value::Object(object) => Some(object),
            _ => None,
        });
        let commas = tokens.iter().filter(|token| token.token == Token::Comma);
        Ok(Self {
            text,
            root,
            commas: commas.map(|token| token.range.start).collect(),
            tree,
        })
    }

    /// Returns the offset of the first comma in a range that has no values.
    fn comma_in(&self, gap: Range<usize>) -> Option<usize> {
        self.commas.iter().copied().find(|at| gap.contains(at))
    }

    /// Returns the next change to make, if any.
    fn next_change(
        &self,
        keys: &[&str],
        fields: &[EntryField],
    ) -> Result<Option<JsoncEdits>, EditError> {
        let Some(mut object) = self.root.as_ref() else {
            return Ok(Some(self.create_root(keys, fields)));
        };
        for (depth, key) in keys.iter().enumerate() {
            let Some(member) = last_member(object, key) else {
                let below = keys.get(depth + 1..).unwrap_or_default();
                return Ok(Some(self.insert_member(
                    object,
                    key,
                    &nest_fields(below, fields),
                )));
            };
            object = member.value.as_object().ok_or_else(|| {
                let key = (*key).to_owned();
                let problem = ClientFileProblem::KeyNotAnObject { key };
                EditError::at_offset(self.text, member.range.start, problem)
            })?;
        }
        let entry = find_entry(&self.tree, keys);
        for (key, value) in fields {
            let Some(member) = last_member(object, key) else {
                return Ok(Some(self.insert_member(object, key, value)));
            };
            if entry.and_then(|entry| entry.get(key)) != Some(value) {
                return Ok(Some(vec![(value_range(member), format_inline(value))]));
            }
        }
        Ok(None)
    }

    /// Returns the change that creates the outermost object in a text without a value, after its comments.
    fn create_root(&self, keys: &[&str], fields: &[EntryField]) -> JsoncEdits {
        let end = line_ending(self.text);
        let style = JsonLayout { end, unit: "  " };
        let gap = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            end
        };
        let value = style.format_multiline(&nest_fields(keys, fields), "");
        let at = self.text.len();
        vec![(at..at, format!("{gap}{value}{end}"))]
    }

    /// Returns the change that inserts a member at the end of an object, formatted like its neighbours.
    fn insert_member(&self, object: &Object<'_>, key: &str, value: &Value) -> JsoncEdits {
        let text = self.text;
        let (start, close) = (object.range.start, object.range.end.saturating_sub(1));
        let inside = text.get(start..close).unwrap_or_default();
        // After the last item in the object, even if that is a comment.
        let at = start + inside.trim_end().len();
        let members = &object.properties;
        let last = members.last();
        let trailing = last.is_some_and(|last| self.comma_in(last.range.end..close).is_some());
        let mut parts = JsoncEdits::new();
        if let Some(last) = last.filter(|_| !trailing) {
            parts.push((last.range.end..last.range.end, ",".to_owned()));
        }
        let comma = if trailing { "," } else { "" };
        let name = Value::from(key);
        if self.is_on_one_line(object) {
            let gap = if last.is_some() { " " } else { "" };
            parts.push((
                at..at,
                format!("{gap}{name}: {}{comma}", format_inline(value)),
            ));
            return parts;
        }
        let style = self.detect_style();
        let outer = line_indent(text, start);
        let indent = members
            .iter()
            .rev()
            .find(|member| self.is_first_on_line(member.range.start));
        let indent = indent.map_or_else(
            || format!("{outer}{}", style.unit),
            |member| line_indent(text, member.range.start).to_owned(),
        );
        let end = style.end;
        let value = style.format_multiline(value, &indent);
        let (until, tail) = if text.get(at..close).is_some_and(|gap| gap.contains('\n')) {
            (at, String::new())
        } else {
            (close, format!("{end}{outer}"))
        };
        parts.push((
            at..until,
            format!("{end}{indent}{name}: {value}{comma}{tail}"),
        ));
        parts
    }

    /// Returns whether an object is written on one line, or would be if it were not empty.
    fn is_on_one_line(&self, object: &Object<'_>) -> bool {
        let has_break = |object: &Object<'_>| object.text(self.text).contains('\n');
        if !object.properties.is_empty() {
            return !has_break(object);
        }
        let root = self.root.as_ref();
        root.is_some_and(|root| root.range != object.range && !has_break(root))
    }

    /// Returns the indentation of the text, taken from its first member.
    fn detect_style(&self) -> JsonLayout<'t> {
        let first = self.root.as_ref().and_then(|root| root.properties.first());
        let unit = first
            .filter(|member| self.is_first_on_line(member.range.start))
            .map(|member| line_indent(self.text, member.range.start))
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        JsonLayout {
            end: line_ending(self.text),
            unit,
        }
    }

    /// Returns whether only blanks precede a byte on its line, and the line is not the first.
    fn is_first_on_line(&self, byte: usize) -> bool {
        let start = line_start_offset(self.text, byte);
        let before = self.text.get(start..byte).unwrap_or_default();
        start > 0 && before.trim_ascii().is_empty()
    }

    /// Returns the change that removes one entry, if there is one.
    fn removal_edits(&self, keys: &[&str]) -> Option<JsoncEdits> {
        let (name, above) = keys.split_last()?;
        let object = above.iter().try_fold(self.root.as_ref()?, |object, key| {
            last_member(object, key)?.value.as_object()
        })?;
        let at = object
            .properties
            .iter()
            .rposition(|member| member.name.as_str() == *name)?;
        let member = object.properties.get(at)?;
        let (start, close) = (object.range.start, object.range.end.saturating_sub(1));
        let around = [start + 1..member.range.start, member.range.end..close];
        let bare = |gap: &Range<usize>| {
            let gap = self.text.get(gap.clone()).unwrap_or_default();
            gap.bytes().all(|b| b.is_ascii_whitespace() || b == b',')
        };
        if object.properties.len() == 1 && around.iter().all(bare) {
            return Some(vec![(start + 1..close, String::new())]);
        }
        let mut parts = JsoncEdits::new();
        let next = object.properties.get(at + 1);
        let comma = self.comma_in(member.range.end..next.map_or(close, |next| next.range.start));
        let mut end = comma.map_or(member.range.end, |comma| comma + 1);
        if comma.is_none()
            && let Some(before) = at.checked_sub(1).and_then(|at| object.properties.get(at))
            && let Some(comma) = self.comma_in(before.range.end..member.range.start)
        {
            parts.push((comma..comma + 1, String::new()));
        }
        let mut start = member.range.start;
        let stop = line_end_offset(self.text, end);
        let alone = self
            .text
            .get(end..stop)
            .is_some_and(|rest| rest.trim_ascii().is_empty());
        if self.is_first_on_line(start) && alone {
            // Removes the whole line, with the line break before it.
            start = line_start_offset(self.text, start);
            let gap = self.text.get(..start).unwrap_or_default();
            start = gap
                .strip_suffix('\n')
                .map_or(start, |gap| gap.strip_suffix('\r').unwrap_or(gap).len());
            end = stop;
        } else if comma.is_some() {
            let rest = self.text.get(end..).unwrap_or_default();
            end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        } else if let Some((comma, _)) = parts.first() {
            let gap = self.text.get(comma.end..start).unwrap_or_default();
            start = comma.end + gap.trim_end_matches([' ', '\t']).len();
        }
        parts.push((start..end, String::new()));
        Some(parts)
    }
}

/// Returns the member with a key. Of duplicate keys, readers use the last.
fn last_member<'a, 't>(object: &'a Object<'t>, key: &str) -> Option<&'a ObjectProp<'t>> {
    let mut members = object.properties.iter();
    members.rfind(|member| member.name.as_str() == key)
}

fn value_range(member: &ObjectProp<'_>) -> Range<usize> {
    member.value.start()..member.value.end()
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns the text with comments and trailing commas overwritten with blanks, so that lines keep their numbers.
fn to_plain_json(text: &str, tokens: &[TokenAndRange<'_>]) -> Vec<u8> {
    let mut json = text.as_bytes().to_vec();
    let mut comma = None;
    for one @ TokenAndRange { range, token } in tokens {
        let blank = match token {
            _ if is_comment(one) => Some(range.start..range.end),
            Token::CloseBrace | Token::CloseBracket => comma.take(),
            Token::Comma => {
                comma = Some(range.start..range.end);
                None
            }
            _ => {
                comma = None;
                None
            }
        };
        for byte in blank
            .and_then(|range| json.get_mut(range))
            .into_iter()
            .flatten()
        {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    json
}

fn describe_parse_error(error: ParseError) -> EditError {
    let problem = match error.kind() {
        ParseErrorKind::TrailingCommasNotAllowed => ClientFileProblem::TrailingComma,
        ParseErrorKind::UnterminatedCommentBlock => ClientFileProblem::UnclosedComment,
        kind => {
            let message = kind.to_string();
            let (first, rest) = message.split_at_checked(1).unwrap_or_default();
            json_syntax_problem(&(first.to_ascii_lowercase() + rest))
        }
    };
    EditError {
        line: Some(error.line_display()),
        reason: problem.into(),
    }
}

/// Returns the problem with the message of a parser.
fn json_syntax_problem(message: &str) -> ClientFileProblem {
    ClientFileProblem::JsonSyntax {
        error: sanitize_line(message),
    }
}

/// Formatting of a text: line ending and indentation unit.
struct JsonLayout<'t> {
    end: &'static str,
    unit: &'t str,
}

impl JsonLayout<'_> {
    /// Formats a value with each member on its own line; lists stay on one line.
    fn format_multiline(&self, value: &Value, indent: &str) -> String {
        let Value::Object(map) = value else {
            return format_inline(value);
        };
        let inner = format!("{indent}{}", self.unit);
        let members: Vec<String> = map
            .iter()
            .map(|(key, value)| {
                let name = Value::from(key.as_str());
                format!(
                    "{}{inner}{name}: {}",
                    self.end,
                    self.format_multiline(value, &inner)
                )
            })
            .collect();
        if members.is_empty() {
            return "{}".to_owned();
        }
        format!("{{{}{}{indent}}}", members.join(","), self.end)
    }
}

/// Formats a value on one line, with a space after commas and colons.
fn format_inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<_> = map
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", Value::from(key.as_str()), format_inline(value))
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(list) => {
            format!(
                "[{}]",
                list.iter()
                    .map(format_inline)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        other => other.to_string(),
    }
}

/// Returns serde's error message without the position, which is reported separately.
fn strip_error_position(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

#[cfg(test)]
mod tests;
