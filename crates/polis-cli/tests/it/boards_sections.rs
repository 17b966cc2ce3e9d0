//! Tests of board sections: found by CommonMark rules, changed without touching a byte elsewhere.

use crate::board::{Board, on_both_stores};
use crate::boards_team::content;

const TRICKY: &str = "---\ntitle: x\n---\n# Board\nintro\n\n## One\n\nfirst\n\n### Below one\n\ndeeper\n\n\
    ```\n## not a heading\n```\n\nTwo\n---\n\nsecond\n\n<div>\n## neither\n</div>\n\n## One\n\nagain\n\n## End\n\nlast, without a line end";

fn read(board: &Board, title: &str) -> String {
    let view = board.ok("user", &["board", "read", "global", "--section", title]);
    content(&view).to_owned()
}

fn change(board: &Board, verb: &str, title: &str, more: &[&str]) {
    let args = [&["board", "section", verb, "global", title], more].concat();
    board.ok("user", &args);
}

fn sections_are_commonmark(board: &Board) {
    board.put("global", TRICKY);
    assert_eq!(
        read(board, "Below one"),
        "deeper\n\n```\n## not a heading\n```"
    );
    assert_eq!(read(board, "Two"), "second\n\n<div>\n## neither\n</div>");
    assert_eq!(read(board, "End"), "last, without a line end");
    let nth = |n: &str| {
        board.run(
            "user",
            &["board", "read", "global", "--section", "One", "--nth", n],
        )
    };
    assert!(content(&nth("1").document()).starts_with("first\n\n### Below one"));
    assert_eq!(nth("2").document()["content"], "again");
    nth("3").refusal(4, "section_not_found");
    for absent in ["not a heading", "neither", "title: x"] {
        board.refused(
            "user",
            &["board", "read", "global", "--section", absent],
            4,
            "section_not_found",
        );
    }
    board.refused(
        "user",
        &["board", "read", "global", "--section", "One"],
        2,
        "ambiguous_section",
    );
}

fn an_edit_changes_its_section_alone(board: &Board) {
    board.put("global", TRICKY);
    change(board, "set", "Two", &["--content", "changed"]);
    let expected = TRICKY.replace("second\n\n<div>\n## neither\n</div>\n", "changed\n");
    assert_eq!(board.text("global"), expected);
    change(board, "append", "One", &["--content", "more", "--nth", "2"]);
    let expected = expected.replace("again\n", "again\n\nmore\n");
    assert_eq!(board.text("global"), expected);
    change(board, "delete", "Below one", &[]);
    let expected = expected.replace(
        "### Below one\n\ndeeper\n\n```\n## not a heading\n```\n\n",
        "",
    );
    assert_eq!(board.text("global"), expected);
    if board.is_embedded() {
        assert_eq!(board.bytes("global-whiteboard.md"), expected.as_bytes());
    }
    let before = board.log();
    for args in [
        &["set", "global", "One", "--content", "x"][..],
        &["delete", "global", "One"],
    ] {
        let args = [&["board", "section"], args].concat();
        board.refused("user", &args, 2, "ambiguous_section");
    }
    board.refused(
        "user",
        &["board", "section", "delete", "global", "Absent"],
        4,
        "section_not_found",
    );
    assert_eq!(board.log(), before);
}

fn line_ends_stay_as_they_are(board: &Board) {
    let text = "# B\r\n\r\n## One\r\n\r\nfirst\r\n\r\n## Two\r\n\r\nsecond\r\n";
    board.put("global", text);
    change(board, "set", "One", &["--content", "changed"]);
    assert_eq!(board.text("global"), text.replace("first", "changed"));
    change(board, "append", "Two", &["--content", "third"]);
    assert!(
        board
            .text("global")
            .ends_with("## Two\r\n\r\nsecond\r\n\r\nthird\r\n")
    );
}

fn a_missing_section_is_added(board: &Board) {
    board.put("global", "# B\n\ntext");
    change(board, "set", "New", &["--content", "one"]);
    change(board, "append", "Newer", &["--content", "two"]);
    assert_eq!(
        board.text("global"),
        "# B\n\ntext\n\n## New\n\none\n\n## Newer\n\ntwo\n"
    );
}

/// Setting a section to its current text is no change, so it creates no version.
fn what_is_as_it_should_be_makes_no_version(board: &Board) {
    board.put("global", "# B\n\n## One\n\ntext\n");
    let answer = board.ok(
        "user",
        &[
            "board",
            "section",
            "set",
            "global",
            "One",
            "--content",
            "text",
        ],
    );
    assert_eq!(answer["version"], 1);
    assert_eq!(board.told("global"), ["board.written"]);
}

fn content_that_would_break_out_of_its_section_is_refused(board: &Board) {
    let text = "# B\n\n## One\n\ntext\n\n## Two\n\nmore\n";
    board.put("global", text);
    for content in [
        "```\nnever closed",
        "## Another\nsection",
        "<!-- never closed",
    ] {
        let args = [
            "board",
            "section",
            "set",
            "global",
            "One",
            "--content",
            content,
        ];
        board.refused("user", &args, 2, "invalid_section");
    }
    assert_eq!(board.text("global"), text);
}

/// A large board is edited section by section; every version can still be read.
fn a_large_board_is_edited_in_parts(board: &Board) {
    let filler = "a line to make the board a large one\n".repeat(4_000);
    let text = |n: usize| format!("# B\n\n## One\n\n{n}\n\n## Filler\n\n{filler}");
    board.put("global", &text(0));
    for n in 1..=20 {
        change(board, "set", "One", &["--content", &n.to_string()]);
    }
    assert!(board.text("global") == text(20));
    for version in board.versions("global") {
        let shown = board.ok("user", &["board", "show", "global", &version.to_string()]);
        assert!(
            content(&shown) == text(usize::try_from(version).unwrap() - 1),
            "version {version}"
        );
    }
    board.ok("user", &["board", "append", "global", "--content", "entry"]);
    change(board, "delete", "Filler", &[]);
    assert_eq!(board.text("global"), "# B\n\n## One\n\n20\n\n");
}

fn a_board_is_rendered_for_a_terminal(board: &Board) {
    board.put(
        "global",
        "# Title\n\n- [x] done\n- [ ] open\n\n> quoted\n\n`code`\n",
    );
    let shown = board.shown("user", &["board", "read", "global", "--render"]);
    assert!(
        shown.contains("✓ done") && shown.contains("☐ open") && shown.contains("Title"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "no colours but on a terminal");
    let exact = board.shown("user", &["board", "read", "global"]);
    assert_eq!(
        exact,
        "# Title\n\n- [x] done\n- [ ] open\n\n> quoted\n\n`code`\n"
    );
}

on_both_stores!(
    sections_are_commonmark,
    an_edit_changes_its_section_alone,
    line_ends_stay_as_they_are,
    a_missing_section_is_added,
    what_is_as_it_should_be_makes_no_version,
    content_that_would_break_out_of_its_section_is_refused,
    a_large_board_is_edited_in_parts,
    a_board_is_rendered_for_a_terminal,
);
