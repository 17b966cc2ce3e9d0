//! Board names: a whiteboard is `global`, `top`, `mid/ROLE` or `bottom/AGENT`; a file of the blackboard, the
//! tree of shared Markdown files, is `blackboard/PATH`.
//!
//! A name is validated on construction, so that everything derived from it, especially its file path, is
//! safe.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::blackboard_path::BlackboardPath;
use crate::id::{AgentId, quote_untrusted};
use crate::refusal::{BoardRefusal, Refusal};
use crate::refusal_serde::deserialize_from_text;

/// Prefix of a blackboard file's name, which distinguishes it from a whiteboard.
const BLACKBOARD_PREFIX: &str = "blackboard/";

/// A board's name: `global`, `top`, `mid/ROLE`, `bottom/AGENT`, or `blackboard/PATH`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoardName {
    /// Readable by all agents: goals, decisions, milestones.
    Global,
    /// The board of the top layer: strategy.
    Top,
    /// The board of one role of the middle layer: plans.
    Mid(AgentId),
    /// The board of one agent of the bottom layer.
    Bottom(AgentId),
    /// A file of the blackboard.
    Blackboard(BlackboardPath),
}

impl BoardName {
    /// Returns the path of its file below the data directory, with `/` between components.
    pub fn file_path(&self) -> String {
        match self {
            Self::Global => "global-whiteboard.md".to_owned(),
            Self::Blackboard(path) => format!("{BLACKBOARD_PREFIX}{path}"),
            Self::Top | Self::Mid(_) | Self::Bottom(_) => {
                format!("whiteboards/{}.md", self.file_stem())
            }
        }
    }

    /// Returns its file name without directory and extension, such as `mid-layer-architect`.
    pub fn file_stem(&self) -> String {
        match self {
            Self::Global => "global-whiteboard".to_owned(),
            Self::Top => "top-layer".to_owned(),
            Self::Mid(role) => format!("mid-layer-{role}"),
            Self::Bottom(agent) => format!("bottom-layer-{agent}"),
            Self::Blackboard(path) => path.file_stem().to_owned(),
        }
    }

    /// Parses a name read from a store or the log, also that of a blackboard file. Returns `None` if it is
    /// invalid.
    pub fn from_stored(text: &str) -> Option<Self> {
        match text.strip_prefix(BLACKBOARD_PREFIX) {
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
            Self::Blackboard(path) => write!(f, "{BLACKBOARD_PREFIX}{path}"),
        }
    }
}

impl FromStr for BoardName {
    type Err = Refusal;

    /// Parses the name of a whiteboard. Names of blackboard files are refused: they have their own
    /// operations.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let parse_owner = |owner: &str| {
            owner
                .parse::<AgentId>()
                .map_err(|_| invalid_board_name(text))
        };
        match text.split_once('/') {
            None if text == "global" => Ok(Self::Global),
            None if text == "top" => Ok(Self::Top),
            Some(("mid", role)) => parse_owner(role).map(Self::Mid),
            Some(("bottom", agent)) => parse_owner(agent).map(Self::Bottom),
            _ => Err(invalid_board_name(text)),
        }
    }
}

fn invalid_board_name(text: &str) -> Refusal {
    Refusal::from(BoardRefusal::InvalidName {
        text: quote_untrusted(text),
    })
}

impl Serialize for BoardName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BoardName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, str::parse)
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
    use crate::RefusalCode;

    #[test]
    fn boards_have_the_documented_file_paths() {
        let cases = [
            ("global", "global-whiteboard.md"),
            ("top", "whiteboards/top-layer.md"),
            ("mid/architect", "whiteboards/mid-layer-architect.md"),
            ("bottom/agent-1", "whiteboards/bottom-layer-agent-1.md"),
            ("bottom/程序员.2", "whiteboards/bottom-layer-程序员.2.md"),
        ];
        for (name, file) in cases {
            let board: BoardName = name.parse().unwrap();
            assert_eq!(board.file_path(), file);
            assert_eq!(board.to_string(), name);
            assert_eq!(BoardName::from_stored(name), Some(board));
        }
    }

    #[test]
    fn name_that_leaves_the_directory_is_refused() {
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
            assert_eq!(refusal.code, RefusalCode::INVALID_BOARD, "{bad:?}");
        }
    }

    #[test]
    fn blackboard_name_round_trips_through_the_store() {
        let file = BoardName::Blackboard("tasks/123/status.md".parse().unwrap());
        assert_eq!(file.to_string(), "blackboard/tasks/123/status.md");
        assert_eq!(file.file_path(), "blackboard/tasks/123/status.md");
        assert_eq!(BoardName::from_stored(&file.to_string()), Some(file));
    }
}
