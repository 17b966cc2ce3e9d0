//! Resource URIs: `polis://board/NAME`, `polis://blackboard/PATH`, `polis://task/ID`, `polis://tasks`,
//! `polis://file/PATH`.
//!
//! Parsing validates the syntax; the operations decide whether the caller may read the resource.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use polis_core::board::BoardName;
use polis_core::event::kind;
use polis_core::id::quoted;
use polis_core::token::Area;
use polis_core::{Code, Refusal, TaskId};

/// Scheme of all resource URIs.
const SCHEME: &str = "polis://";
/// Maximum length of a URI in bytes: a path of 4,096 bytes, each of them percent-encoded.
const MAX_BYTES: usize = 3 * 4_096 + 64;
/// Characters that are not percent-encoded: the unreserved ones of RFC 3986, and the slash between segments.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Target of a resource URI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// The tasks that can be claimed now.
    Tasks,
    /// A task.
    Task(TaskId),
    /// A whiteboard or a blackboard file.
    Board(BoardName),
    /// A file of the caller's workspace.
    File(String),
}

impl Place {
    /// Returns the area that a token's scopes must cover to read it.
    pub(crate) fn area(&self) -> Area {
        match self {
            Self::Tasks | Self::Task(_) => Area::Tasks,
            Self::Board(BoardName::Blackboard(_)) => Area::Blackboard,
            Self::Board(_) => Area::Boards,
            Self::File(_) => Area::Files,
        }
    }

    /// Parses an event subject; `None` if it is not a resource.
    pub(crate) fn of_subject(subject: &str) -> Option<Self> {
        match subject.split_once('/')? {
            ("task", id) => id.parse().ok().map(Self::Task),
            ("board", name) => name.parse().ok().map(Self::Board),
            ("blackboard", _) => BoardName::from_stored(subject).map(Self::Board),
            _ => None,
        }
    }

    /// Returns whether an event of this kind changes the content of the resource.
    pub(crate) fn is_changed_by(&self, event: &str) -> bool {
        match self {
            // A renewed lease and a refused attempt do not change the task.
            Self::Tasks | Self::Task(_) => {
                event.starts_with("task.")
                    && event != kind::TASK_HEARTBEAT
                    && event != kind::TASK_REFUSED
            }
            Self::Board(_) => matches!(
                event,
                kind::BOARD_WRITTEN
                    | kind::BOARD_APPENDED
                    | kind::BOARD_EDITED
                    | kind::BOARD_RESTORED
                    | kind::BOARD_EXTERNAL
            ),
            Self::File(_) => false,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encode = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
        match self {
            Self::Tasks => write!(f, "{SCHEME}tasks"),
            Self::Task(id) => write!(f, "{SCHEME}task/{id}"),
            Self::Board(BoardName::Blackboard(path)) => {
                write!(f, "{SCHEME}blackboard/{}", encode(path.as_str()))
            }
            Self::Board(name) => write!(f, "{SCHEME}board/{}", encode(&name.to_string())),
            Self::File(path) => write!(f, "{SCHEME}file/{}", encode(path)),
        }
    }
}

impl FromStr for Place {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| unknown(text))?;
        if text.len() > MAX_BYTES || rest.contains(['?', '#']) {
            return Err(unknown(text));
        }
        if rest == "tasks" {
            return Ok(Self::Tasks);
        }
        let (what, encoded) = rest.split_once('/').ok_or_else(|| unknown(text))?;
        let decoded = percent_decode_str(encoded)
            .decode_utf8()
            .map_err(|_| unknown(text))?;
        match what {
            "task" => decoded.parse().map(Self::Task),
            "board" => decoded.parse().map(Self::Board),
            "blackboard" => decoded
                .parse()
                .map(|path| Self::Board(BoardName::Blackboard(path))),
            // Whether the path stays within the workspace is checked when the file is opened.
            "file" => Ok(Self::File(decoded.into_owned())),
            _ => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> Refusal {
    Refusal::new(
        Code::RouteNotFound,
        format!("There is no resource at {}.", quoted(text)),
        "use polis://tasks, polis://task/ID, polis://board/NAME, polis://blackboard/PATH or polis://file/PATH",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_lead_where_they_say() {
        let cases = [
            ("polis://tasks", Place::Tasks),
            ("polis://task/5", Place::Task(TaskId::new(5).unwrap())),
            ("polis://board/global", Place::Board(BoardName::Global)),
            (
                "polis://board/mid/architect",
                Place::Board("mid/architect".parse().unwrap()),
            ),
            (
                "polis://board/bottom/%E7%A8%8B%E5%BA%8F%E5%91%98",
                Place::Board("bottom/程序员".parse().unwrap()),
            ),
            (
                "polis://blackboard/tasks/123/status.md",
                Place::Board(BoardName::Blackboard(
                    "tasks/123/status.md".parse().unwrap(),
                )),
            ),
            (
                "polis://file/src/a%20b.rs",
                Place::File("src/a b.rs".to_owned()),
            ),
        ];
        for (text, place) in cases {
            assert_eq!(text.parse::<Place>().unwrap(), place);
            assert_eq!(place.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in [
            "",
            "polis://",
            "polis://task/",
            "polis://task/0",
            "polis://task/1/2",
            "polis://board/",
            "polis://board/../etc",
            "polis://board/mid%2F..",
            "polis://blackboard/../../etc/passwd.md",
            "polis://tasks/1",
            "polis://tasks?x=1",
            "polis://file",
            "polis://file/a#b",
            "polis://file/%ff",
            "file:///etc/passwd",
            "POLIS://tasks",
            "test://watched-resource",
        ] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
        let long = format!("polis://file/{}", "a".repeat(MAX_BYTES));
        assert!(long.parse::<Place>().is_err());
    }

    #[test]
    fn the_log_names_the_same_places() {
        assert_eq!(
            Place::of_subject("task/7"),
            Some(Place::Task(TaskId::new(7).unwrap()))
        );
        assert_eq!(
            Place::of_subject("board/mid/qa"),
            Some(Place::Board("mid/qa".parse().unwrap()))
        );
        assert_eq!(
            Place::of_subject("blackboard/shared/context.md").map(|p| p.to_string()),
            Some("polis://blackboard/shared/context.md".to_owned())
        );
        assert_eq!(Place::of_subject("agent/a"), None);
        assert_eq!(Place::of_subject("task"), None);
    }

    proptest! {
        #[test]
        fn any_path_comes_back(path in "\\PC{1,40}") {
            let place = Place::File(path);
            prop_assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
        }

        #[test]
        fn no_text_makes_it_fall_over(text in "(polis://)?(task|board|blackboard|file|tasks)?/?\\PC{0,40}") {
            let _ = text.parse::<Place>();
        }
    }
}
