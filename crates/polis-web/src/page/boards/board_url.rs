//! URL building and parsing for a board's pages.
//!
//! A board's name contains slashes and may contain any Unicode letters, so its page is everything below
//! `/boards/`, and the requested view is the last path segment: `/boards/mid/architect/history`. A board's
//! name cannot be mistaken for a view: the boards of roles and agents have exactly two segments (`mid/ROLE`,
//! `bottom/AGENT`), so `mid/history` is a board, and a blackboard file ends with `.md`.

use polis_core::board::{BlackboardPath, BoardName};
use polis_core::token::AccessLevel;
use polis_core::{EventSubject, Refusal};

use crate::url;

/// View or action of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoardViewKind {
    /// Page of the board.
    Show,
    /// Fragment with the board's text.
    Text,
    /// Fragment with one part of a long text.
    Part,
    /// Fragment with the side panel.
    About,
    /// The editor of the board or of a section.
    Edit,
    /// The preview of an edit.
    Preview,
    /// Append an entry.
    Append,
    /// Version history, with the diff of two versions.
    History,
    /// Restore a version.
    Restore,
    /// Acquire the lock.
    Lock,
    /// Release the lock.
    Unlock,
    /// Propose, sign, veto or appeal a decision.
    Decide,
    /// Add or complete a milestone.
    Milestone,
}

impl BoardViewKind {
    /// Returns the access to boards that a GET of this view needs: `None` if the view is an action and has no page.
    /// A view that exists only to change the board needs write access. `is_veto` distinguishes the form of a veto
    /// from the page of a decision.
    pub(super) fn page_access(self, is_veto: bool) -> Option<AccessLevel> {
        match self {
            Self::Show | Self::Text | Self::Part | Self::About | Self::History => {
                Some(AccessLevel::Read)
            }
            Self::Decide if is_veto => Some(AccessLevel::Write),
            Self::Decide => Some(AccessLevel::Read),
            Self::Edit | Self::Restore => Some(AccessLevel::Write),
            Self::Preview | Self::Append | Self::Lock | Self::Unlock | Self::Milestone => None,
        }
    }
}

const VIEW_SEGMENTS: [(&str, BoardViewKind); 12] = [
    ("text", BoardViewKind::Text),
    ("part", BoardViewKind::Part),
    ("about", BoardViewKind::About),
    ("edit", BoardViewKind::Edit),
    ("preview", BoardViewKind::Preview),
    ("append", BoardViewKind::Append),
    ("history", BoardViewKind::History),
    ("restore", BoardViewKind::Restore),
    ("lock", BoardViewKind::Lock),
    ("unlock", BoardViewKind::Unlock),
    ("decide", BoardViewKind::Decide),
    ("milestone", BoardViewKind::Milestone),
];

/// Parses the path below `/boards/` into a board and the requested view. Fails if it is not a board's name.
pub(super) fn parse_board_path(path: &str) -> Result<(BoardName, BoardViewKind), Refusal> {
    if let Some((name, last)) = path.rsplit_once('/')
        && let Some((_, view)) = VIEW_SEGMENTS.iter().find(|(segment, _)| *segment == last)
        && let Some(board) = BoardName::from_stored(name)
    {
        return Ok((board, *view));
    }
    let board = match path.strip_prefix("blackboard/") {
        Some(file) => BoardName::Blackboard(file.parse::<BlackboardPath>()?),
        None => path.parse()?,
    };
    Ok((board, BoardViewKind::Show))
}

/// Returns the URL of a board's page.
pub(crate) fn board_url(board: &BoardName) -> String {
    format!("/boards/{}", url::encode_path(&board.to_string()))
}

/// Returns the URL of a view or action of a board.
pub(super) fn board_view_url(board: &BoardName, view: BoardViewKind) -> String {
    let page = board_url(board);
    match VIEW_SEGMENTS.iter().find(|(_, one)| *one == view) {
        Some((segment, _)) => format!("{page}/{segment}"),
        None => page,
    }
}

/// Returns the URL of a decision's own page.
pub(crate) fn decision_url(board: &BoardName, id: &str) -> String {
    url::url_with_query(&board_view_url(board, BoardViewKind::Decide), &[("id", id)])
}

/// Returns the name by which a board's page subscribes to live updates, such as `board/global`.
pub(super) fn board_live_topic(board: &BoardName) -> String {
    EventSubject::Board(board.clone()).to_log_text(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored_board(name: &str) -> BoardName {
        BoardName::from_stored(name).expect("a board's name")
    }

    #[test]
    fn board_url_parses_back_to_board_and_view() {
        let names = [
            "global",
            "top",
            "mid/architect",
            "mid/history",
            "mid/架构师",
            "bottom/edit",
            "bottom/a.b-c",
            "blackboard/notes.md",
            "blackboard/a/history.md",
        ];
        for name in names {
            let board = stored_board(name);
            let parse = |address: String| {
                let path = address
                    .strip_prefix("/boards/")
                    .expect("below /boards")
                    .to_owned();
                assert!(!path.contains(['?', '#', ' ']), "{path}");
                let path = percent_encoding::percent_decode_str(&path);
                parse_board_path(&path.decode_utf8().expect("text")).expect("an address of ours")
            };
            assert_eq!(
                parse(board_url(&board)),
                (board.clone(), BoardViewKind::Show),
                "{name}"
            );
            for (_, view) in VIEW_SEGMENTS {
                assert_eq!(
                    parse(board_view_url(&board, view)),
                    (board.clone(), view),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn live_name_equals_event_subject() {
        for (name, subject) in [
            ("global", "board/global"),
            ("mid/架构师", "board/mid/架构师"),
            ("blackboard/a/notes.md", "blackboard/a/notes.md"),
        ] {
            assert_eq!(board_live_topic(&stored_board(name)), subject);
        }
    }

    #[test]
    fn invalid_board_path_is_refused() {
        for path in [
            "",
            "nothing",
            "mid",
            "global/nothing",
            "blackboard/../x",
            "mid/a/b",
        ] {
            assert!(parse_board_path(path).is_err(), "{path}");
        }
    }
}
