//! Tests of the size limit of boards: exactly ten megabytes, by every kind of write.

use crate::board::{Board, on_both_stores};

const LIMIT: usize = 10 * 1024 * 1024;

/// Returns a text of exactly this length, in lines.
fn lines(bytes: usize) -> String {
    let mut text =
        "a line of the largest board there can be, to fill it up\n".repeat(bytes / 56 + 1);
    text.truncate(bytes - 1);
    text.push('\n');
    text
}

fn write(board: &Board, text: &str) -> crate::board::Answer {
    let args = ["board", "write", "global", "--content", "-", "--force"];
    board.run_with("user", &args, text.as_bytes())
}

fn too_large(answer: &crate::board::Answer) {
    let refused = answer.refusal(2, "board_too_large");
    assert!(
        refused.message.contains("Nothing was changed"),
        "{refused:?}"
    );
}

fn unchanged(board: &Board, text: &str, version: u64) {
    let view = board.view("global");
    assert_eq!(view["version"], version);
    assert!(view["content"] == text, "the content changed");
    if board.is_embedded() {
        assert!(
            board.bytes("global-whiteboard.md") == text.as_bytes(),
            "the file changed"
        );
    }
    assert_eq!(board.told("global").len() as u64, version);
}

fn exactly_ten_megabytes_are_written_and_not_a_byte_more(board: &Board) {
    let full = lines(LIMIT);
    assert_eq!(write(board, &full).document()["version"], 1);
    unchanged(board, &full, 1);
    too_large(&write(board, &lines(LIMIT + 1)));
    too_large(&board.run("user", &["board", "append", "global", "--content", "x"]));
    too_large(&board.run(
        "user",
        &[
            "board",
            "section",
            "append",
            "global",
            "S",
            "--content",
            "x",
        ],
    ));
    std::fs::write(board.file("large"), lines(LIMIT + 1)).unwrap();
    too_large(&board.run(
        "user",
        &["board", "write", "global", "--content-file", "large"],
    ));
    unchanged(board, &full, 1);
}

fn an_append_may_fill_a_board_but_not_cross_the_limit(board: &Board) {
    // Length of an entry in addition to its content.
    board.put("global", "x\n");
    board.ok("user", &["board", "append", "global", "--content", "y"]);
    let frame = board.text("global").len() - 3;
    let begun = lines(LIMIT - frame - 100);
    write(board, &begun).document();
    too_large(&board.run(
        "user",
        &["board", "append", "global", "--content", &"z".repeat(101)],
    ));
    unchanged(board, &begun, 3);
    board.ok(
        "user",
        &["board", "append", "global", "--content", &"z".repeat(100)],
    );
    assert_eq!(board.text("global").len(), LIMIT);
    too_large(&board.run("user", &["board", "append", "global", "--content", "z"]));
}

fn a_section_may_fill_a_board_but_not_cross_the_limit(board: &Board) {
    let (head, tail) = ("## A\n\nx\n\n", format!("## B\n\n{}", lines(LIMIT - 1_000)));
    let begun = format!("{head}{tail}");
    write(board, &begun).document();
    let room = LIMIT - begun.len() + 1;
    let set = |length: usize| {
        let text = "y".repeat(length);
        board.run(
            "user",
            &["board", "section", "set", "global", "A", "--content", &text],
        )
    };
    too_large(&set(room + 1));
    unchanged(board, &begun, 1);
    set(room).document();
    let text = board.text("global");
    assert_eq!(text.len(), LIMIT);
    assert!(text.ends_with(&tail), "another section changed");
    set(1).document();
    assert_eq!(board.text("global").len(), begun.len());
}

fn what_is_not_text_is_refused(board: &Board) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    board.put("global", "begun\n");
    for verb in ["write", "append"] {
        let args = ["board", verb, "global", "--content", "-"];
        board
            .run_with("user", &args, b"a\xff\xfe")
            .refusal(2, "not_utf8");
        board
            .run_with("user", &args, b"a\0b")
            .refusal(2, "invalid_text");
        let args = args.map(OsStr::new);
        let raw = [&args[..4], &[OsStr::from_bytes(b"\xff")]].concat();
        board.refused("user", &raw, 2, "not_utf8");
    }
    std::fs::write(board.file("raw"), b"\xc3").unwrap();
    board.refused(
        "user",
        &["board", "write", "global", "--content-file", "raw"],
        2,
        "not_utf8",
    );
    board.refused(
        "user",
        &["board", "write", "global", "--content-file", "absent"],
        2,
        "invalid_input",
    );
    board.refused(
        "user",
        &["board", "append", "global", "--content", " \n"],
        2,
        "invalid_input",
    );
    unchanged(board, "begun\n", 1);
}

on_both_stores!(
    exactly_ten_megabytes_are_written_and_not_a_byte_more,
    an_append_may_fill_a_board_but_not_cross_the_limit,
    a_section_may_fill_a_board_but_not_cross_the_limit,
    what_is_not_text_is_refused,
);
