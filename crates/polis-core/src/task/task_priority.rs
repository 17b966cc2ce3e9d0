//! Task priority: four levels, and how the field and `metadata.priority` are kept in step.
//!
//! Before tasks had the field, their priority was in the metadata, where other programs still write it. So
//! `metadata.priority` is the stored form, and [`Task::priority`](super::Task) always is what
//! [`TaskPriority::from_metadata`] reads from it. Words that are not known stay in the metadata and count as
//! normal.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::quote_untrusted;
use crate::json::{RawJson, RawObject};
use crate::refusal::{Refusal, TaskRefusal};
use crate::refusal_serde::deserialize_from_text;

/// Key of the priority in the metadata.
pub const PRIORITY_KEY: &str = "priority";

/// Priority of a task, highest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskPriority {
    /// Before everything else.
    Critical,
    /// Before normal tasks.
    High,
    /// The priority of a task that has none.
    #[default]
    Normal,
    /// After all other tasks.
    Low,
}

/// Words in the metadata that mean a priority, including the numbers that some trackers use. The store
/// migrations 0008 contain the same words.
const PRIORITY_WORDS: [(TaskPriority, &[&str]); 4] = [
    (
        TaskPriority::Critical,
        &["critical", "urgent", "highest", "p0", "0"],
    ),
    (TaskPriority::High, &["high", "p1", "1"]),
    (TaskPriority::Normal, &["normal", "medium", "p2", "2"]),
    (
        TaskPriority::Low,
        &["low", "p3", "3", "lowest", "someday", "p4", "4"],
    ),
];

impl TaskPriority {
    /// All priorities, highest first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// Returns the priority as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    /// Returns its position among the priorities: 0 is the highest. Stores sort by it.
    pub fn rank(self) -> u8 {
        match self {
            Self::Critical => 0,
            Self::High => 1,
            Self::Normal => 2,
            Self::Low => 3,
        }
    }

    /// Returns the priority with this rank, if there is one.
    pub fn from_rank(rank: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|p| i64::from(p.rank()) == rank)
    }

    /// Returns the priority with this name, if it exists.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == name)
    }

    /// Parses a priority. Fails with `invalid_input`, listing the valid ones.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        Self::from_name(name).ok_or_else(|| {
            Refusal::from(TaskRefusal::UnknownPriority {
                name: quote_untrusted(name),
                priorities: Self::ALL.map(|p| p.as_str().to_owned()).into(),
            })
        })
    }

    /// Returns the priority that a JSON value means, in any case of letters; `None` if it is not known.
    pub fn from_json(value: &RawJson) -> Option<Self> {
        let word = value
            .parse_as::<String>()
            .unwrap_or_else(|| value.as_str().to_owned())
            .to_lowercase();
        PRIORITY_WORDS
            .iter()
            .find(|(_, words)| words.contains(&word.as_str()))
            .map(|(priority, _)| *priority)
    }

    /// Returns the priority that a task's metadata contains; `None` if there is none, or an unknown word.
    pub fn from_metadata(metadata: Option<&RawObject>) -> Option<Self> {
        Self::from_json(metadata?.get(PRIORITY_KEY)?)
    }

    /// Returns the priority of a stored task. One that was imported before tasks had the field may have a value
    /// for it among its unknown fields: a known one is moved to the metadata, unless that has a priority.
    pub fn from_stored(
        metadata: &mut Option<RawObject>,
        unknown_fields: &mut RawObject,
    ) -> Option<Self> {
        let stated = Self::from_metadata(metadata.as_ref());
        let imported = unknown_fields.get(PRIORITY_KEY).and_then(Self::from_json);
        let priority = stated.or(imported)?;
        let value = unknown_fields.remove(PRIORITY_KEY);
        if stated.is_none()
            && let Some(value) = value
        {
            metadata.get_or_insert_default().set(PRIORITY_KEY, value);
        }
        Some(priority)
    }

    /// Sets it in a task's metadata, in place of any other word.
    pub(super) fn write_to_metadata(self, metadata: &mut Option<RawObject>) {
        if let Ok(word) = RawJson::from_value(&self) {
            metadata.get_or_insert_default().set(PRIORITY_KEY, word);
        }
    }
}

impl<'de> Deserialize<'de> for TaskPriority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, Self::parse)
    }
}

/// Checks that a request which gives the field and the metadata means one priority by both. Fails with
/// `invalid_input` otherwise: setting either would lose the other without a word.
pub(super) fn check_priority_agreement(
    priority: Option<TaskPriority>,
    metadata: Option<&RawObject>,
) -> Result<(), Refusal> {
    let (Some(priority), Some(value)) = (priority, metadata.and_then(|m| m.get(PRIORITY_KEY)))
    else {
        return Ok(());
    };
    if TaskPriority::from_json(value) == Some(priority) {
        return Ok(());
    }
    Err(Refusal::from(TaskRefusal::PrioritiesDisagree {
        priority: priority.as_str().to_owned(),
        value: quote_untrusted(value.as_str()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    fn metadata(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn json_text_and_rank_agree() {
        for (n, priority) in TaskPriority::ALL.into_iter().enumerate() {
            let json = serde_json::to_string(&priority).unwrap();
            assert_eq!(json, format!("\"{}\"", priority.as_str()));
            assert_eq!(TaskPriority::parse(priority.as_str()), Ok(priority));
            assert_eq!(usize::from(priority.rank()), n);
            assert_eq!(TaskPriority::from_rank(n as i64), Some(priority));
        }
        assert!(TaskPriority::ALL.is_sorted());
        assert_eq!(TaskPriority::from_rank(4), None);
        assert_eq!(
            TaskPriority::parse("urgent").unwrap_err().code,
            RefusalCode::INVALID_INPUT
        );
    }

    #[test]
    fn metadata_words_of_other_trackers_are_priorities() {
        for (text, expected) in [
            (r#"{"priority":"URGENT"}"#, Some(TaskPriority::Critical)),
            (r#"{"priority":0}"#, Some(TaskPriority::Critical)),
            (r#"{"priority":"p1"}"#, Some(TaskPriority::High)),
            (r#"{"priority":"2"}"#, Some(TaskPriority::Normal)),
            (r#"{"priority":"someday"}"#, Some(TaskPriority::Low)),
            (r#"{"priority":"blue"}"#, None),
            (r#"{"priority":true}"#, None),
            (r#"{"priority":null}"#, None),
            (r#"{"other":"high"}"#, None),
        ] {
            let found = TaskPriority::from_metadata(Some(&metadata(text)));
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(TaskPriority::from_metadata(None), None);
    }

    #[test]
    fn stored_field_of_earlier_import_is_moved_to_metadata() {
        for (stated, imported, priority, left) in [
            (
                None,
                r#"{"priority":"Urgent","x":1}"#,
                Some(TaskPriority::Critical),
                r#"{"x":1}"#,
            ),
            (
                Some("low"),
                r#"{"priority":"urgent"}"#,
                Some(TaskPriority::Low),
                "{}",
            ),
            (
                Some("low"),
                r#"{"priority":[1]}"#,
                Some(TaskPriority::Low),
                "{}",
            ),
            (None, r#"{"priority":[1]}"#, None, r#"{"priority":[1]}"#),
            (None, r#"{"x":1}"#, None, r#"{"x":1}"#),
        ] {
            let mut known = stated.map(|word| metadata(&format!(r#"{{"priority":"{word}"}}"#)));
            let mut unknown = metadata(imported);
            let found = TaskPriority::from_stored(&mut known, &mut unknown);
            assert_eq!(found, priority, "{imported}");
            assert_eq!(TaskPriority::from_metadata(known.as_ref()), priority);
            assert_eq!(serde_json::to_string(&unknown).unwrap(), left);
        }
    }

    #[test]
    fn field_and_metadata_may_not_disagree() {
        let high = Some(TaskPriority::High);
        for (text, agrees) in [
            (r#"{"priority":"P1"}"#, true),
            (r#"{"other":1}"#, true),
            (r#"{"priority":"low"}"#, false),
            (r#"{"priority":"blue"}"#, false),
            (r#"{"priority":null}"#, false),
        ] {
            let given = metadata(text);
            assert_eq!(
                check_priority_agreement(high, Some(&given)).is_ok(),
                agrees,
                "{text}"
            );
            assert!(check_priority_agreement(None, Some(&given)).is_ok());
        }
        assert!(check_priority_agreement(high, None).is_ok());
    }
}
