//! Board names: the four kinds of whiteboard, and the files of the blackboard.
//!
//! A name is validated on construction, so that everything derived from it, especially its file path, is safe.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::path::BlackboardPath;
use crate::id::{AgentId, quoted};
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::from_text;

/// Prefix of a blackboard file's name, which distinguishes it from a whiteboard.
const BLACKBOARD: &str = "blackboard/";

/// A board's name: `global`, `top`, `mid/ROLE`, `bottom/AGENT`, or `blackboard/PATH`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoardName {
    /// Readable by all agents: goals, decisions, milestones.
    Global,
    /// The top layer's strategy.
    Top,
    /// The plans of one role of the middle layer.
    Mid(AgentId),
    /// One agent's own log.
    Bottom(AgentId),
    /// A file of the blackboard.
    Blackboard(BlackboardPath),
}

impl BoardName {
    /// Returns its file, relative to the workspace directory; components are separated by `/`.
    pub fn file(&self) -> String {
        match self {
            Self::Global => "global-whiteboard.md".to_owned(),
            Self::Blackboard(path) => format!("{BLACKBOARD}{path}"),
            Self::Top | Self::Mid(_) | Self::Bottom(_) => format!("whiteboards/{}.md", self.stem()),
        }
    }

    /// Returns its file name without directory and extension, such as `mid-layer-architect`.
    pub fn stem(&self) -> String {
        match self {
            Self::Global => "global-whiteboard".to_owned(),
            Self::Top => "top-layer".to_owned(),
            Self::Mid(role) => format!("mid-layer-{role}"),
            Self::Bottom(agent) => format!("bottom-layer-{agent}"),
            Self::Blackboard(path) => path.stem().to_owned(),
        }
    }

    /// Parses a name read from a store or the log.
    pub fn from_stored(text: &str) -> Option<Self> {
        match text.strip_prefix(BLACKBOARD) {
            Some(path) => path.parse().ok().map(Self::Blackboard),
            None => text.parse().ok(),
        }
    }

    /// Returns whether it is a whiteboard, not a blackboard file.
    pub fn is_whiteboard(&self) -> bool {
        !matches!(self, Self::Blackboard(_))
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Top => f.write_str("top"),
            Self::Mid(role) => write!(f, "mid/{role}"),
            Self::Bottom(agent) => write!(f, "bottom/{agent}"),
            Self::Blackboard(path) => write!(f, "{BLACKBOARD}{path}"),
        }
    }
}

impl FromStr for BoardName {
    type Err = Refusal;

    /// Parses the name of a whiteboard.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let of = |owner: &str| owner.parse::<AgentId>().map_err(|_| invalid(text));
        match text.split_once('/') {
            None if text == "global" => Ok(Self::Global),
            None if text == "top" => Ok(Self::Top),
            Some(("mid", role)) => of(role).map(Self::Mid),
            Some(("bottom", agent)) => of(agent).map(Self::Bottom),
            _ => Err(invalid(text)),
        }
    }
}

fn invalid(text: &str) -> Refusal {
    Refusal::new(
        Code::InvalidBoard,
        format!("Invalid board: {}.", quoted(text)),
        "boards are `global`, `top`, `mid/ROLE` and `bottom/AGENT`, where a role or an agent has letters, digits, \
         '-', '_' and '.'",
    )
}

impl Serialize for BoardName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BoardName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, str::parse)
    }
}

impl JsonSchema for BoardName {
    fn schema_name() -> Cow<'static, str> {
        "BoardName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "description": "global, top, mid/ROLE or bottom/AGENT" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_where_the_documents_put_them() {
        let cases = [
            ("global", "global-whiteboard.md"),
            ("top", "whiteboards/top-layer.md"),
            ("mid/architect", "whiteboards/mid-layer-architect.md"),
            ("bottom/agent-1", "whiteboards/bottom-layer-agent-1.md"),
            ("bottom/程序员.2", "whiteboards/bottom-layer-程序员.2.md"),
        ];
        for (name, file) in cases {
            let board: BoardName = name.parse().unwrap();
            assert_eq!(board.file(), file);
            assert_eq!(board.to_string(), name);
            assert_eq!(BoardName::from_stored(name), Some(board));
        }
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for bad in [
            "",
            "Global",
            "mid",
            "mid/",
            "bottom/..",
            "bottom/../x",
            "mid/a/b",
            "mid//etc",
            "mid/a\0",
            "bottom/a\nb",
            "/etc/passwd",
            "global/",
            "whiteboards/top-layer.md",
            "blackboard/shared/context.md",
            "bottom/.hidden",
            "bottom/a\\b",
        ] {
            let refusal = bad.parse::<BoardName>().unwrap_err();
            assert_eq!(refusal.code, Code::InvalidBoard, "{bad:?}");
        }
    }

    #[test]
    fn a_blackboard_file_comes_back_from_the_store() {
        let file = BoardName::Blackboard("tasks/123/status.md".parse().unwrap());
        assert_eq!(file.to_string(), "blackboard/tasks/123/status.md");
        assert_eq!(file.file(), "blackboard/tasks/123/status.md");
        assert_eq!(BoardName::from_stored(&file.to_string()), Some(file));
    }
}
