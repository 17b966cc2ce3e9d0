//! Identifiers: [`TaskId`] and [`AgentId`] with the reserved agents `user`, `root` and `external`, and
//! [`quote_untrusted`], which quotes untrusted text in messages.
//!
//! Ids are validated when they are created. Only changesets contain the placeholder [`TaskId::UNASSIGNED`].

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::refusal::{AgentRefusal, Refusal, TaskRefusal};
use crate::refusal_serde::deserialize_from_text;

/// A task's number: a positive decimal, encoded as a string in all JSON, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

impl TaskId {
    /// The largest number that both stores can hold.
    pub const MAX: u64 = i64::MAX as u64;

    /// Placeholder in a task that a store has not yet numbered. It exists only inside changesets.
    pub const UNASSIGNED: Self = Self(0);

    /// Creates an id. Returns `None` if the number is 0 or too large.
    pub fn new(number: u64) -> Option<Self> {
        (1..=Self::MAX).contains(&number).then_some(Self(number))
    }

    /// Returns the id as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = Refusal;

    /// Parses `5` or `#5`. Fails with `invalid_task_id` for anything else, including leading zeros.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let canonical = !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0');
        canonical
            .then(|| digits.parse().ok().and_then(Self::new))
            .flatten()
            .ok_or_else(|| {
                Refusal::from(TaskRefusal::InvalidId {
                    text: quote_untrusted(text),
                })
            })
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, str::parse)
    }
}

impl JsonSchema for TaskId {
    fn schema_name() -> Cow<'static, str> {
        "TaskId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[1-9][0-9]{0,17}$" })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// An agent's unique name, as used for `--as`, in `owner` and in file names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentId(String);

impl AgentId {
    /// Id of the person who owns the directory.
    pub const USER: &'static str = "user";
    /// Id of the entry point of a run; never a registered agent.
    pub const ROOT: &'static str = "root";
    /// Actor of changes to a board's file that were made without polis; never a registered agent.
    pub const EXTERNAL: &'static str = "external";
    /// Reserved names, which cannot be registered.
    pub const RESERVED_NAMES: [&'static str; 3] = [Self::USER, Self::ROOT, Self::EXTERNAL];
    /// Maximum length of a name, in bytes. A file name must have room for it and a suffix.
    pub const MAX_BYTES: usize = 200;

    /// Returns the id of the person.
    pub fn user() -> Self {
        Self(Self::USER.to_owned())
    }

    /// Returns the id of a run's entry point.
    pub fn root() -> Self {
        Self(Self::ROOT.to_owned())
    }

    /// Returns whether it is the person.
    pub fn is_user(&self) -> bool {
        self.0 == Self::USER
    }

    /// Returns whether it is the entry point of a run, which is above all agents and not in the registry.
    pub fn is_root(&self) -> bool {
        self.0 == Self::ROOT
    }

    /// Returns the actor of changes made to a file without polis.
    pub fn external() -> Self {
        Self(Self::EXTERNAL.to_owned())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for AgentId {
    type Err = Refusal;

    /// Accepts letters and digits of any language, `-`, `_` and `.`; the first character must be a letter or
    /// a digit. Every valid name is safe as a file name.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let valid = text.chars().next().is_some_and(char::is_alphanumeric)
            && text.len() <= Self::MAX_BYTES
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if valid {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::from(AgentRefusal::InvalidId {
            text: quote_untrusted(text),
        }))
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, str::parse)
    }
}

/// Formats untrusted text for a message: quoted, control characters escaped, truncated to 60 characters.
pub fn quote_untrusted(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 60;
    let mut quoted: String = text
        .chars()
        .take(MAX_QUOTED_CHARS)
        .flat_map(escape_control)
        .collect();
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        quoted.push('…');
    }
    format!("\"{quoted}\"")
}

fn escape_control(c: char) -> impl Iterator<Item = char> {
    let escaped = if c.is_control() || crate::task::text_limits::is_separator_or_bidi_control(c) {
        c.escape_default().collect::<Vec<_>>()
    } else {
        vec![c]
    };
    escaped.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn task_ids_are_canonical_decimals() {
        for good in ["1", "#7", "9223372036854775807"] {
            assert!(good.parse::<TaskId>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "0",
            "007",
            "-1",
            "+1",
            "1.0",
            "abc",
            "9223372036854775808",
            "１",
            "1\0",
            "#",
        ] {
            assert_eq!(
                bad.parse::<TaskId>().unwrap_err().code,
                RefusalCode::INVALID_TASK_ID,
                "{bad}"
            );
        }
    }

    #[test]
    fn agent_ids_are_safe_file_names() {
        for good in ["a", "backend-leader-2", "程序员", "x.y_z", "7"] {
            assert!(good.parse::<AgentId>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-x",
            ".",
            "..",
            "a/b",
            "a b",
            "a\n",
            "a\0",
            &"x".repeat(201),
        ] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn quoted_text_contains_no_control_characters() {
        assert_eq!(quote_untrusted("a\u{1b}[2J"), r#""a\u{1b}[2J""#);
        assert!(quote_untrusted(&"长".repeat(100)).ends_with("…\""));
    }
}
