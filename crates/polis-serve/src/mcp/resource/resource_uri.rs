//! Resource URIs: `polis://board/NAME`, `polis://blackboard/PATH`, `polis://task/ID`, `polis://tasks`,
//! `polis://file/PATH`.
//!
//! Parsing validates the syntax; the operations decide whether the caller may read the resource.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use polis_core::board::BoardName;
use polis_core::id::quote_untrusted;
use polis_core::token::OperationArea;
use polis_core::{EventArea, EventKind, Refusal, TaskId};

use crate::refusal_tables::McpRefusal;

/// Scheme of all resource URIs.
const URI_SCHEME: &str = "polis://";
/// Maximum length of a URI in bytes: a path of 4,096 bytes, each of them percent-encoded.
const MAX_URI_BYTES: usize = 3 * 4_096 + 64;
/// Characters that are not percent-encoded: the unreserved ones of RFC 3986, and the slash between segments.
const UNESCAPED_CHARS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Target of a resource URI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ResourceUri {
    /// The tasks that can be claimed now.
    Tasks,
    /// A task.
    Task(TaskId),
    /// A whiteboard or a blackboard file.
    Board(BoardName),
    /// A file of the caller's workspace.
    File(String),
}

impl ResourceUri {
    /// Returns the area that a token's scopes must cover to read it.
    pub(crate) fn area(&self) -> OperationArea {
        match self {
            Self::Tasks | Self::Task(_) => OperationArea::Tasks,
            Self::Board(BoardName::Blackboard(_)) => OperationArea::Blackboard,
            Self::Board(_) => OperationArea::Boards,
            Self::File(_) => OperationArea::Files,
        }
    }

    /// Parses an event subject; `None` if it is not a resource.
    pub(crate) fn from_event_subject(subject: &str) -> Option<Self> {
        match subject.split_once('/')? {
            ("task", id) => id.parse().ok().map(Self::Task),
            ("board", name) => name.parse().ok().map(Self::Board),
            ("blackboard", _) => BoardName::from_stored(subject).map(Self::Board),
            _ => None,
        }
    }

    /// Returns whether an event of this kind about the resource changes its content. An unknown kind, of a newer
    /// version, may do so.
    pub(crate) fn is_changed_by(&self, kind: Option<EventKind>) -> bool {
        let Some(kind) = kind else {
            return true;
        };
        match self {
            // A renewed lease and a refused attempt do not change the task.
            Self::Tasks | Self::Task(_) => {
                kind.area() == EventArea::Task
                    && !matches!(kind, EventKind::TaskHeartbeat | EventKind::TaskRefused)
            }
            Self::Board(_) => matches!(
                kind,
                EventKind::BoardWritten
                    | EventKind::BoardAppended
                    | EventKind::BoardEdited
                    | EventKind::BoardRestored
                    | EventKind::BoardEditedExternally
            ),
            Self::File(_) => false,
        }
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encode = |text: &str| utf8_percent_encode(text, UNESCAPED_CHARS).to_string();
        match self {
            Self::Tasks => write!(f, "{URI_SCHEME}tasks"),
            Self::Task(id) => write!(f, "{URI_SCHEME}task/{id}"),
            Self::Board(BoardName::Blackboard(path)) => {
                write!(f, "{URI_SCHEME}blackboard/{}", encode(path.as_str()))
            }
            Self::Board(name) => write!(f, "{URI_SCHEME}board/{}", encode(&name.to_string())),
            Self::File(path) => write!(f, "{URI_SCHEME}file/{}", encode(path)),
        }
    }
}

impl FromStr for ResourceUri {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let rest = text
            .strip_prefix(URI_SCHEME)
            .ok_or_else(|| unknown_resource(text))?;
        if text.len() > MAX_URI_BYTES || rest.contains(['?', '#']) {
            return Err(unknown_resource(text));
        }
        if rest == "tasks" {
            return Ok(Self::Tasks);
        }
        let (kind, encoded) = rest.split_once('/').ok_or_else(|| unknown_resource(text))?;
        let decoded = percent_decode_str(encoded)
            .decode_utf8()
            .map_err(|_| unknown_resource(text))?;
        match kind {
            "task" => decoded.parse().map(Self::Task),
            "board" => decoded.parse().map(Self::Board),
            "blackboard" => decoded
                .parse()
                .map(|path| Self::Board(BoardName::Blackboard(path))),
            // Whether the path stays within the workspace is checked when the file is opened.
            "file" => Ok(Self::File(decoded.into_owned())),
            _ => Err(unknown_resource(text)),
        }
    }
}

fn unknown_resource(text: &str) -> Refusal {
    Refusal::from(McpRefusal::NoResource {
        uri: quote_untrusted(text),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resource_uri_round_trips() {
        let cases = [
            ("polis://tasks", ResourceUri::Tasks),
            ("polis://task/5", ResourceUri::Task(TaskId::new(5).unwrap())),
            (
                "polis://board/global",
                ResourceUri::Board(BoardName::Global),
            ),
            (
                "polis://board/mid/architect",
                ResourceUri::Board("mid/architect".parse().unwrap()),
            ),
            (
                "polis://board/bottom/%E7%A8%8B%E5%BA%8F%E5%91%98",
                ResourceUri::Board("bottom/程序员".parse().unwrap()),
            ),
            (
                "polis://blackboard/tasks/123/status.md",
                ResourceUri::Board(BoardName::Blackboard(
                    "tasks/123/status.md".parse().unwrap(),
                )),
            ),
            (
                "polis://file/src/a%20b.rs",
                ResourceUri::File("src/a b.rs".to_owned()),
            ),
        ];
        for (text, uri) in cases {
            assert_eq!(text.parse::<ResourceUri>().unwrap(), uri);
            assert_eq!(uri.to_string(), text);
        }
    }

    #[test]
    fn malformed_resource_uri_is_refused() {
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
            assert!(bad.parse::<ResourceUri>().is_err(), "{bad}");
        }
        let long = format!("polis://file/{}", "a".repeat(MAX_URI_BYTES));
        assert!(long.parse::<ResourceUri>().is_err());
    }

    #[test]
    fn event_subject_maps_to_resource_uri() {
        assert_eq!(
            ResourceUri::from_event_subject("task/7"),
            Some(ResourceUri::Task(TaskId::new(7).unwrap()))
        );
        assert_eq!(
            ResourceUri::from_event_subject("board/mid/qa"),
            Some(ResourceUri::Board("mid/qa".parse().unwrap()))
        );
        assert_eq!(
            ResourceUri::from_event_subject("blackboard/shared/context.md").map(|p| p.to_string()),
            Some("polis://blackboard/shared/context.md".to_owned())
        );
        assert_eq!(ResourceUri::from_event_subject("agent/a"), None);
        assert_eq!(ResourceUri::from_event_subject("task"), None);
    }

    proptest! {
        #[test]
        fn file_uri_round_trips_any_path(path in "\\PC{1,40}") {
            let uri = ResourceUri::File(path);
            prop_assert_eq!(uri.to_string().parse::<ResourceUri>().unwrap(), uri);
        }

        #[test]
        fn resource_uri_parser_never_panics(text in "(polis://)?(task|board|blackboard|file|tasks)?/?\\PC{0,40}") {
            let _ = text.parse::<ResourceUri>();
        }
    }
}
