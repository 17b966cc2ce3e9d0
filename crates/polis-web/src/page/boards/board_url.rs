//! URLs of a board's pages.
//!
//! A board's name contains slashes and may be in any script, so its page is everything below `/boards/`, and the
//! requested view is the last path segment: `/boards/mid/architect/history`. A board's name cannot be mistaken for a
//! view: the names of a role's and an agent's board have two parts, and a blackboard file ends with `.md`.

use polis_core::board::{BlackboardPath, BoardName};
use polis_core::{Refusal, Subject};

use crate::url;

/// View or action of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// The page.
    Show,
    /// The text fragment.
    Text,
    /// One part of the text.
    Part,
    /// The side panel.
    About,
    /// The editor of the board or of a section.
    Edit,
    /// The preview of an edit.
    Preview,
    /// Append an entry.
    Append,
    /// The version history.
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

const WORDS: [(&str, Wish); 12] = [
    ("text", Wish::Text),
    ("part", Wish::Part),
    ("about", Wish::About),
    ("edit", Wish::Edit),
    ("preview", Wish::Preview),
    ("append", Wish::Append),
    ("history", Wish::History),
    ("restore", Wish::Restore),
    ("lock", Wish::Lock),
    ("unlock", Wish::Unlock),
    ("decide", Wish::Decide),
    ("milestone", Wish::Milestone),
];

/// Parses the path below `/boards/`.
pub(super) fn parse(path: &str) -> Result<(BoardName, Wish), Refusal> {
    if let Some((name, last)) = path.rsplit_once('/')
        && let Some((_, wish)) = WORDS.iter().find(|(word, _)| *word == last)
        && let Some(board) = BoardName::from_stored(name)
    {
        return Ok((board, *wish));
    }
    let board = match path.strip_prefix("blackboard/") {
        Some(file) => BoardName::Blackboard(file.parse::<BlackboardPath>()?),
        None => path.parse()?,
    };
    Ok((board, Wish::Show))
}

/// Returns the URL of a board's page.
pub(crate) fn of(board: &BoardName) -> String {
    format!("/boards/{}", url::path(&board.to_string()))
}

/// Returns the URL of a view or action of a board.
pub(super) fn to(board: &BoardName, wish: Wish) -> String {
    let page = of(board);
    match WORDS.iter().find(|(_, one)| *one == wish) {
        Some((word, _)) => format!("{page}/{word}"),
        None => page,
    }
}

/// Returns the URL of a decision's own page.
pub(crate) fn decision(board: &BoardName, id: &str) -> String {
    url::asking(&to(board, Wish::Decide), &[("id", id)])
}

/// Returns the live-update subscription of a board's page.
pub(super) fn live(board: &BoardName) -> String {
    Subject::Board(board.clone()).text(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(name: &str) -> BoardName {
        BoardName::from_stored(name).expect("a board's name")
    }

    #[test]
    fn every_address_leads_back_to_its_board_and_wish() {
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
            let board = board(name);
            let back = |address: String| {
                let path = address
                    .strip_prefix("/boards/")
                    .expect("below /boards")
                    .to_owned();
                assert!(!path.contains(['?', '#', ' ']), "{path}");
                let path = percent_encoding::percent_decode_str(&path);
                parse(&path.decode_utf8().expect("text")).expect("an address of ours")
            };
            assert_eq!(back(of(&board)), (board.clone(), Wish::Show), "{name}");
            for (_, wish) in WORDS {
                assert_eq!(back(to(&board, wish)), (board.clone(), wish), "{name}");
            }
        }
    }

    #[test]
    fn a_page_hears_of_its_board_by_the_name_the_log_has_for_it() {
        for (name, subject) in [
            ("global", "board/global"),
            ("mid/架构师", "board/mid/架构师"),
            ("blackboard/a/notes.md", "blackboard/a/notes.md"),
        ] {
            assert_eq!(live(&board(name)), subject);
        }
    }

    #[test]
    fn what_is_no_board_is_refused() {
        for path in [
            "",
            "nothing",
            "mid",
            "global/nothing",
            "blackboard/../x",
            "mid/a/b",
        ] {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
