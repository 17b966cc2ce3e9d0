//! In-place editing of JSON with comments and trailing commas (JSONC).
//!
//! In a copy, comments and trailing commas are overwritten with blanks of the same length. The result is JSON that
//! serde validates, and every byte keeps its offset. Edits are made in the original text, so that nothing else of it
//! changes.

mod scan;

use std::ops::Range;

use serde_json::Value;

use scan::{BYTE_ORDER_MARK, Member, members, without_comments};

use super::edit::{
    Fault, Field, indent_of, line_end, line_start, line_stop, nested, replaced, unusual,
};

/// Extensions to JSON that a client's reader accepts. A file that its client cannot read is not edited: the entry would
/// have no effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    pub(super) comments: bool,
    pub(super) trailing_commas: bool,
    pub(super) byte_order_mark: bool,
}

/// Parses the text; a text without a value is read as `{}`.
pub(super) fn tree(text: &str, dialect: Dialect) -> Result<Value, Fault> {
    Page::read(text, dialect).map(|page| page.tree)
}

/// Returns the text with the fields of an entry set.
pub(super) fn put(
    text: &str,
    dialect: Dialect,
    keys: &[&str],
    fields: &[Field],
) -> Result<String, Fault> {
    let mut text = text.to_owned();
    // One change at a time: each shifts the text after it. There are at most as many changes as fields.
    for _ in 0..=fields.len() {
        let page = Page::read(&text, dialect).map_err(|_| unusual())?;
        let Some(parts) = page.next_change(keys, fields)? else {
            break;
        };
        text = replaced(&text, &parts);
    }
    Ok(text)
}

/// Returns the text without an entry; removes all duplicates of it.
pub(super) fn remove(text: &str, dialect: Dialect, keys: &[&str]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    loop {
        let page = Page::read(&text, dialect).map_err(|_| unusual())?;
        let Some(parts) = page.removal(keys)? else {
            return Ok(text);
        };
        text = replaced(&text, &parts);
    }
}

type Parts = Vec<(Range<usize>, String)>;

/// A parsed text.
struct Page<'t> {
    text: &'t str,
    /// The text with comments blanked.
    plain: String,
    /// The text as plain JSON.
    json: String,
    tree: Value,
}

impl<'t> Page<'t> {
    fn read(text: &'t str, dialect: Dialect) -> Result<Self, Fault> {
        let (plain, trailing) = without_comments(text, dialect)?;
        let mut json = plain.clone();
        for at in &trailing {
            json.replace_range(*at..at + 1, " ");
        }
        if let Some(at) = trailing.first().filter(|_| !dialect.trailing_commas) {
            return Err(Fault::at(
                text,
                *at,
                "a comma before a closing bracket is not read",
            ));
        }
        let tree = if json.trim_ascii().is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_str(&json).map_err(|error| Fault {
                line: Some(error.line()),
                why: clause(&error.to_string()),
            })?
        };
        if !tree.is_object() {
            return Err(Fault::new("it is not an object"));
        }
        Ok(Self {
            text,
            plain,
            json,
            tree,
        })
    }

    /// Returns the range of the outermost object, if there is one.
    fn root(&self) -> Option<Range<usize>> {
        let start = self.json.find('{')?;
        Some(start..self.json.trim_ascii_end().len())
    }

    /// Returns the next change to make, if any.
    fn next_change(&self, keys: &[&str], fields: &[Field]) -> Result<Option<Parts>, Fault> {
        let Some(mut object) = self.root() else {
            return Ok(Some(self.whole(keys, fields)));
        };
        for (depth, key) in keys.iter().enumerate() {
            let members = self.members(&object)?;
            // Of duplicate keys, readers use the last.
            let Some(member) = members.iter().rfind(|member| member.key == *key) else {
                let below = keys.get(depth + 1..).unwrap_or_default();
                return Ok(Some(self.insertion(
                    &object,
                    &members,
                    key,
                    &nested(below, fields),
                )));
            };
            if !self
                .json
                .get(member.value.clone())
                .is_some_and(|v| v.starts_with('{'))
            {
                return Err(Fault::at(
                    self.text,
                    member.start,
                    format!("\"{key}\" is not an object"),
                ));
            }
            object = member.value.clone();
        }
        let members = self.members(&object)?;
        for (key, value) in fields {
            let Some(member) = members.iter().rfind(|member| member.key == *key) else {
                return Ok(Some(self.insertion(&object, &members, key, value)));
            };
            let found = self.json.get(member.value.clone()).unwrap_or_default();
            if serde_json::from_str::<Value>(found).ok().as_ref() != Some(value) {
                return Ok(Some(vec![(member.value.clone(), inline(value))]));
            }
        }
        Ok(None)
    }

    /// Creates the outermost object in a text without a value, after its comments if there are any.
    fn whole(&self, keys: &[&str], fields: &[Field]) -> Parts {
        let end = line_end(self.text);
        let style = Style { end, unit: "  " };
        let before = self.text.trim_start_matches(BYTE_ORDER_MARK);
        let gap = if before.is_empty() || before.ends_with('\n') {
            ""
        } else {
            end
        };
        let value = style.spread(&nested(keys, fields), "");
        let at = self.text.len();
        vec![(at..at, format!("{gap}{value}{end}"))]
    }

    /// Inserts a member at the end of an object, formatted like its neighbours.
    fn insertion(
        &self,
        object: &Range<usize>,
        members: &[Member],
        key: &str,
        value: &Value,
    ) -> Parts {
        let text = self.text;
        let close = object.end.saturating_sub(1);
        let inside = text.get(object.start..close).unwrap_or_default();
        // After the last item in the object, even if that is a comment.
        let at = object.start + inside.trim_end().len();
        let last = members.last();
        let trailing = last.is_some_and(|last| {
            let behind = self.plain.get(last.value.end..close);
            behind.is_some_and(|behind| behind.contains(','))
        });
        let mut parts = Parts::new();
        if let Some(last) = last.filter(|_| !trailing) {
            parts.push((last.value.end..last.value.end, ",".to_owned()));
        }
        let comma = if trailing { "," } else { "" };
        let name = Value::from(key);
        if self.is_on_one_line(object, members) {
            let gap = if last.is_some() { " " } else { "" };
            parts.push((at..at, format!("{gap}{name}: {}{comma}", inline(value))));
            return parts;
        }
        let style = self.style();
        let outer = indent_of(text, object.start);
        let indent = members
            .iter()
            .rev()
            .find(|member| self.begins_line(member.start));
        let indent = indent.map_or_else(
            || format!("{outer}{}", style.unit),
            |member| indent_of(text, member.start).to_owned(),
        );
        let end = style.end;
        let value = style.spread(value, &indent);
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
    fn is_on_one_line(&self, object: &Range<usize>, members: &[Member]) -> bool {
        let has_break =
            |range: Range<usize>| self.text.get(range).is_some_and(|t| t.contains('\n'));
        if !members.is_empty() {
            return !has_break(object.clone());
        }
        let root = self.root().unwrap_or_default();
        root != *object && !has_break(root)
    }

    /// Returns the indentation of the text, taken from its first member.
    fn style(&self) -> Style<'t> {
        let root = self.root();
        let members = root.as_ref().and_then(|root| self.members(root).ok());
        let first = members.iter().flatten().next();
        let unit = first
            .filter(|member| self.begins_line(member.start))
            .map(|member| indent_of(self.text, member.start))
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        Style {
            end: line_end(self.text),
            unit,
        }
    }

    /// Returns whether only blanks precede a byte on its line, and the line is not the first.
    fn begins_line(&self, byte: usize) -> bool {
        let start = line_start(self.text, byte);
        let before = self.text.get(start..byte).unwrap_or_default();
        start > 0 && before.trim_ascii().is_empty()
    }

    /// Returns the change that removes one entry, if there is one.
    fn removal(&self, keys: &[&str]) -> Result<Option<Parts>, Fault> {
        let Some(mut object) = self.root() else {
            return Ok(None);
        };
        let Some((name, above)) = keys.split_last() else {
            return Ok(None);
        };
        for key in above {
            let members = self.members(&object)?;
            let Some(member) = members.into_iter().rfind(|member| member.key == *key) else {
                return Ok(None);
            };
            if !self
                .json
                .get(member.value.clone())
                .is_some_and(|v| v.starts_with('{'))
            {
                return Ok(None);
            }
            object = member.value;
        }
        let members = self.members(&object)?;
        let Some(at) = members.iter().rposition(|member| member.key == *name) else {
            return Ok(None);
        };
        let Some(member) = members.get(at) else {
            return Ok(None);
        };
        let close = object.end.saturating_sub(1);
        let around = [object.start + 1..member.start, member.value.end..close];
        let bare = |gap: &Range<usize>| {
            let gap = self.text.get(gap.clone()).unwrap_or_default();
            gap.bytes().all(|b| b.is_ascii_whitespace() || b == b',')
        };
        if members.len() == 1 && around.iter().all(bare) {
            return Ok(Some(vec![(object.start + 1..close, String::new())]));
        }
        let mut parts = Parts::new();
        let behind = self.plain.get(member.value.end..close).unwrap_or_default();
        let comma = behind.find(|c: char| !c.is_ascii_whitespace());
        let comma = comma.filter(|gap| behind.get(*gap..).is_some_and(|b| b.starts_with(',')));
        let mut end = member.value.end + comma.map_or(0, |gap| gap + 1);
        if comma.is_none()
            && let Some(before) = at.checked_sub(1).and_then(|at| members.get(at))
        {
            let gap = self.plain.get(before.value.end..member.start);
            let comma = gap.and_then(|gap| gap.find(',')).ok_or_else(unusual)?;
            let comma = before.value.end + comma;
            parts.push((comma..comma + 1, String::new()));
        }
        let mut start = member.start;
        let stop = line_stop(self.text, end);
        let alone = self
            .text
            .get(end..stop)
            .is_some_and(|rest| rest.trim_ascii().is_empty());
        if self.begins_line(start) && alone {
            // Removes the whole line, with the line break before it.
            start = line_start(self.text, start);
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
        Ok(Some(parts))
    }

    fn members(&self, object: &Range<usize>) -> Result<Vec<Member>, Fault> {
        members(self.json.as_bytes(), object.start).ok_or_else(unusual)
    }
}

/// Formatting of a text: line ending and indentation unit.
struct Style<'t> {
    end: &'static str,
    unit: &'t str,
}

impl Style<'_> {
    /// Formats a value with each member on its own line; lists stay on one line.
    fn spread(&self, value: &Value, indent: &str) -> String {
        let Value::Object(map) = value else {
            return inline(value);
        };
        let inner = format!("{indent}{}", self.unit);
        let members: Vec<String> = map
            .iter()
            .map(|(key, value)| {
                let name = Value::from(key.as_str());
                format!("{}{inner}{name}: {}", self.end, self.spread(value, &inner))
            })
            .collect();
        if members.is_empty() {
            return "{}".to_owned();
        }
        format!("{{{}{}{indent}}}", members.join(","), self.end)
    }
}

/// Formats a value on one line, with a space after commas and colons.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), inline(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(list) => {
            format!(
                "[{}]",
                list.iter().map(inline).collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}

/// Returns serde's error message without the position, which is reported separately.
fn clause(message: &str) -> String {
    let clause = message.split(" at line ").next().unwrap_or(message);
    clause.to_owned()
}

#[cfg(test)]
mod tests;
