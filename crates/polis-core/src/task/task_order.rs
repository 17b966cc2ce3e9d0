//! Order of task lists, and the cursor that continues one after its last task (keyset pagination).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{TaskPriority, TaskSummary};
use crate::id::{TaskId, quote_untrusted};
use crate::refusal::{Refusal, TaskRefusal};
use crate::refusal_serde::deserialize_from_text;

/// What a task list is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskSort {
    /// By number.
    #[default]
    Number,
    /// By priority, highest first, and by number among equals.
    Priority,
}

impl TaskSort {
    /// All orders.
    pub const ALL: [Self; 2] = [Self::Number, Self::Priority];

    /// Returns the order as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Priority => "priority",
        }
    }

    /// Parses an order. Fails with `invalid_input`, listing the valid ones.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        let found = Self::ALL.into_iter().find(|sort| sort.as_str() == name);
        found.ok_or_else(|| {
            Refusal::from(TaskRefusal::UnknownSort {
                name: quote_untrusted(name),
                orders: Self::ALL.map(|sort| sort.as_str().to_owned()).into(),
            })
        })
    }

    /// Returns the cursor of the page after a task.
    pub fn cursor_after(self, task: &TaskSummary) -> TaskCursor {
        let priority = task.priority.unwrap_or_default();
        TaskCursor {
            priority: (self == Self::Priority).then_some(priority),
            id: task.id,
        }
    }

    /// Checks that a cursor belongs to a list in this order. Fails with `invalid_input` otherwise.
    pub fn check_cursor(self, cursor: TaskCursor) -> Result<(), Refusal> {
        if cursor.priority.is_some() == (self == Self::Priority) {
            return Ok(());
        }
        Err(Refusal::from(TaskRefusal::CursorOfOtherSort {
            cursor: cursor.to_string(),
            sort: self.as_str().to_owned(),
        }))
    }
}

impl<'de> Deserialize<'de> for TaskSort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, Self::parse)
    }
}

/// Position of a task in a list: `12`, or `high-12` in a list sorted by priority. The position stays valid if
/// the task is changed or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskCursor {
    /// Priority of the task, if the list is sorted by it.
    pub priority: Option<TaskPriority>,
    /// Number of the task.
    pub id: TaskId,
}

impl From<TaskId> for TaskCursor {
    fn from(id: TaskId) -> Self {
        Self { priority: None, id }
    }
}

impl fmt::Display for TaskCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(priority) = self.priority {
            write!(f, "{}-", priority.as_str())?;
        }
        self.id.fmt(f)
    }
}

impl FromStr for TaskCursor {
    type Err = Refusal;

    /// Parses a cursor. Fails like the parser of its part that is invalid.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let Some((priority, id)) = text.split_once('-') else {
            return text.parse::<TaskId>().map(Self::from);
        };
        Ok(Self {
            priority: Some(TaskPriority::parse(priority)?),
            id: id.parse()?,
        })
    }
}

impl Serialize for TaskCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, str::parse)
    }
}

impl JsonSchema for TaskCursor {
    fn schema_name() -> Cow<'static, str> {
        "TaskCursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Clients pass it on and need not know its parts.
        schemars::json_schema!({ "type": "string" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_text_is_parsed_back() {
        for text in ["12", "critical-1", "normal-7"] {
            let cursor: TaskCursor = text.parse().unwrap();
            assert_eq!(cursor.to_string(), text);
        }
        for bad in ["", "-1", "urgent-1", "high-0", "high-", "1-high"] {
            assert!(bad.parse::<TaskCursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cursor_of_other_order_is_refused() {
        let [number, priority]: [TaskCursor; 2] =
            ["12", "low-12"].map(|text| text.parse().unwrap());
        assert!(TaskSort::Number.check_cursor(number).is_ok());
        assert!(TaskSort::Priority.check_cursor(priority).is_ok());
        assert!(TaskSort::Number.check_cursor(priority).is_err());
        assert!(TaskSort::Priority.check_cursor(number).is_err());
    }
}
