//! Where a board's pages are.
//!
//! A board's name has slashes and may be of any script, so its page is everything below `/boards/`, and
//! what is wanted of it is a last word: `/boards/mid/architect/history`. No board is mistaken for a wish: a
//! role's and an agent's have two parts, and a file of the blackboard ends in `.md`.

use polis_core::board::{BlackboardPath, BoardName};
use polis_core::{Refusal, Subject};

use crate::url;

/// What is wanted of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Its page.
    Show,
    /// Its text again.
    Text,
    /// A part of its text.
    Part,
    /// What is known about it, again.
    About,
    /// To edit it, or a section of it.
    Edit,
    /// To see what an edit would look like.
    Preview,
    /// To add to its end.
    Append,
    /// Its versions.
    History,
    /// To bring a version back.
    Restore,
    /// To lock it.
    Lock,
    /// To end its lock.
    Unlock,
    /// To propose, sign, veto or appeal.
    Decide,
    /// To add a milestone or tick one off.
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

/// Reads what stands below `/boards/`.
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

/// Where a board's page is.
pub(crate) fn of(board: &BoardName) -> String {
    format!("/boards/{}", url::path(&board.to_string()))
}

/// Where a wish about a board is answered.
pub(super) fn to(board: &BoardName, wish: Wish) -> String {
    let page = of(board);
    match WORDS.iter().find(|(_, one)| *one == wish) {
        Some((word, _)) => format!("{page}/{word}"),
        None => page,
    }
}

/// Where a decision stands alone.
pub(crate) fn decision(board: &BoardName, id: &str) -> String {
    url::asking(&to(board, Wish::Decide), &[("id", id)])
}

/// What the page of a board wants to hear of.
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
