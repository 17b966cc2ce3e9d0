//! Tests of board history: versions are listed, shown, compared and restored, and kept as readable files.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::board::{Board, on_both_stores};
use crate::boards_team::{add, configure, content, version};

fn write_versions(board: &Board, name: &str, numbers: std::ops::RangeInclusive<u64>) {
    for n in numbers {
        assert_eq!(board.put(name, &format!("version {n}\n")), n);
    }
}

fn show(board: &Board, name: &str, version: u64) -> Value {
    board.ok("user", &["board", "show", name, &version.to_string()])
}

fn history_is_listed_newest_first(board: &Board) {
    add(board, "ana", "team-lead", "top", "");
    assert_eq!(board.versions("global"), [0_u64; 0]);
    board.put("global", "one\n");
    board.ok("ana", &["board", "append", "global", "--content", "two"]);
    board.ok(
        "user",
        &[
            "board",
            "section",
            "set",
            "global",
            "S",
            "--content",
            "three",
        ],
    );
    board.ok("ana", &["board", "restore", "global", "1"]);
    let history = board.ok("user", &["board", "history", "global"]);
    let versions = history["versions"].as_array().unwrap();
    let entry = |n: usize| {
        let v = &versions[n];
        (
            version(v),
            v["by"].as_str().unwrap(),
            v["action"].as_str().unwrap(),
        )
    };
    assert_eq!(entry(0), (4, "ana", "restored"));
    assert_eq!(entry(1), (3, "user", "edited"));
    assert_eq!(entry(2), (2, "ana", "appended"));
    assert_eq!(entry(3), (1, "user", "written"));
    for found in versions {
        let text = show(board, "global", version(found));
        assert_eq!(found["bytes"], content(&text).len());
        let at = found["at"].as_str().unwrap();
        assert!(
            at.len() == 24 && at.ends_with('Z') && at.contains('T'),
            "{at} is not ISO 8601"
        );
    }
    assert!(versions.is_sorted_by(|a, b| a["at"].as_str() >= b["at"].as_str()));
    let shown = board.shown("user", &["board", "history", "global"]);
    assert_eq!(shown.lines().count(), 5, "{shown}");
}

fn ten_versions_are_kept(board: &Board) {
    write_versions(board, "global", 1..=14);
    assert_eq!(board.versions("global"), (5..=14).rev().collect::<Vec<_>>());
    for n in 5..=14 {
        assert_eq!(content(&show(board, "global", n)), format!("version {n}\n"));
    }
    for n in ["1", "4", "15"] {
        board.refused(
            "user",
            &["board", "show", "global", n],
            4,
            "version_not_found",
        );
        board.refused(
            "user",
            &["board", "restore", "global", n],
            4,
            "version_not_found",
        );
        board.refused(
            "user",
            &["board", "diff", "global", n],
            4,
            "version_not_found",
        );
    }
    assert_eq!(board.version("global"), 14);
}

fn as_many_are_kept_as_is_set(board: &Board) {
    configure(board, "[whiteboards]\nmax_versions = 3\n");
    write_versions(board, "global", 1..=6);
    assert_eq!(board.versions("global"), [6, 5, 4]);
    // Appends make older versions cheap to store, but do not keep them in the list longer.
    for n in 7..=12 {
        let text = format!("entry {n}");
        board.ok("user", &["board", "append", "global", "--content", &text]);
    }
    assert_eq!(board.versions("global"), [12, 11, 10]);
    let text = show(board, "global", 10);
    assert!(content(&text).starts_with("version 6\n") && content(&text).ends_with("entry 10"));
    configure(board, "[whiteboards]\nmax_versions = 20\n");
    for n in 13..=32 {
        board.put("global", &n.to_string());
    }
    assert_eq!(
        board.versions("global"),
        (13..=32).rev().collect::<Vec<_>>()
    );
}

fn a_version_brought_back_is_a_new_one(board: &Board) {
    write_versions(board, "global", 1..=3);
    assert_eq!(
        version(&board.ok("user", &["board", "restore", "global", "1"])),
        4
    );
    assert_eq!(board.text("global"), "version 1\n");
    assert_eq!(board.versions("global"), [4, 3, 2, 1]);
    assert_eq!(content(&show(board, "global", 3)), "version 3\n");
    board.ok("user", &["board", "restore", "global", "3"]);
    assert_eq!(board.text("global"), "version 3\n");
    assert_eq!(board.told("global").last().unwrap(), "board.restored");
}

fn the_template_can_be_shown_compared_and_brought_back(board: &Board) {
    let template = board.text("global");
    board.put("global", "mine\n");
    assert_eq!(content(&show(board, "global", 0)), template);
    let diff = board.ok("user", &["board", "diff", "global", "0"]);
    assert!(
        diff["diff"].as_str().unwrap().ends_with("+mine\n"),
        "{diff}"
    );
    board.ok("user", &["board", "restore", "global", "0"]);
    assert_eq!(board.text("global"), template);
}

fn two_versions_are_compared(board: &Board) {
    board.put("global", "one\ntwo\nthree\n");
    board.put("global", "one\n2\nthree\n");
    board.put("global", "one\n2\nthree\nfour\n");
    let diff = |versions: &[&str]| {
        let args = [&["board", "diff", "global"], versions].concat();
        let answer = board.ok("user", &args);
        let diff = answer["diff"].as_str().unwrap().to_owned();
        (
            answer["from"].as_u64().unwrap(),
            answer["to"].as_u64().unwrap(),
            diff,
        )
    };
    let body = |diff: &str| diff.split_once("@@\n").unwrap().1.to_owned();
    let (from, to, text) = diff(&["1", "2"]);
    assert_eq!(
        (from, to, body(&text).as_str()),
        (1, 2, " one\n-two\n+2\n three\n")
    );
    let (from, to, text) = diff(&["1"]);
    assert_eq!(
        (from, to, body(&text).as_str()),
        (1, 3, " one\n-two\n+2\n three\n+four\n")
    );
    let (_, _, text) = diff(&["3", "1"]);
    assert_eq!(body(&text), " one\n-2\n+two\n three\n-four\n");
    assert_eq!(diff(&["2", "2"]).2, "");
    let shown = board.shown("user", &["board", "diff", "global", "1", "2"]);
    assert!(shown.contains("-two\n+2\n"), "{shown}");
}

fn unchanged_is_answered_without_the_text(board: &Board) {
    board.put("global", "one\n");
    let read = |v: &str| board.ok("user", &["board", "read", "global", "--if-newer-than", v]);
    for seen in ["1", "7"] {
        let view = read(seen);
        assert_eq!(
            (&view["unchanged"], &view["version"]),
            (&true.into(), &1.into())
        );
        assert_eq!(view.get("content"), None);
    }
    assert_eq!(read("0")["content"], "one\n");
    board.ok("user", &["board", "append", "global", "--content", "x"]);
    assert!(content(&read("1")).ends_with('x'));
    let template = board.ok("user", &["board", "read", "top", "--if-newer-than", "0"]);
    assert_eq!(template["unchanged"], true);
    let shown = board.shown("user", &["board", "read", "global", "--if-newer-than", "2"]);
    assert_eq!(shown, "unchanged (version 2)\n");
}

/// Returns the file names in `whiteboard-history/`.
pub(crate) fn copies(board: &Board) -> BTreeSet<String> {
    let entries = std::fs::read_dir(board.workspace("whiteboard-history"));
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn overwritten_versions_are_kept_as_files() {
    let board = &Board::embedded();
    write_versions(board, "global", 1..=3);
    assert_eq!(
        copies(board),
        ["global-whiteboard-v1.md", "global-whiteboard-v2.md"]
            .map(String::from)
            .into()
    );
    for n in 1..=2 {
        let copy = board.bytes(&format!("whiteboard-history/global-whiteboard-v{n}.md"));
        assert_eq!(copy, format!("version {n}\n").into_bytes());
    }
    // An append overwrites nothing.
    board.ok("user", &["board", "append", "global", "--content", "x"]);
    assert_eq!(copies(board).len(), 2);
    let before = board.text("global");
    board.put("global", "version 5\n");
    assert_eq!(
        board.bytes("whiteboard-history/global-whiteboard-v4.md"),
        before.as_bytes()
    );
    write_versions(board, "global", 6..=20);
    let kept = copies(board);
    assert_eq!(kept.len(), 10);
    assert!(
        kept.contains("global-whiteboard-v19.md") && !kept.contains("global-whiteboard-v9.md"),
        "{kept:?}"
    );
    for (name, stem) in [
        ("top", "top-layer"),
        ("mid/architect", "mid-layer-architect"),
        ("bottom/dev-1", "bottom-layer-dev-1"),
    ] {
        write_versions(board, name, 1..=2);
        assert!(copies(board).contains(&format!("{stem}-v1.md")));
    }
}

#[test]
fn as_many_files_are_kept_as_is_set() {
    let board = &Board::embedded();
    configure(board, "[whiteboards]\nmax_versions = 2\n");
    write_versions(board, "global", 1..=6);
    assert_eq!(
        copies(board),
        ["global-whiteboard-v4.md", "global-whiteboard-v5.md"]
            .map(String::from)
            .into()
    );
    // Boards with a common name prefix keep separate copies.
    write_versions(board, "bottom/a", 1..=2);
    write_versions(board, "bottom/a-v1", 1..=4);
    assert!(copies(board).contains("bottom-layer-a-v1.md"));
    assert_eq!(copies(board).len(), 2 + 1 + 2);
}

on_both_stores!(
    history_is_listed_newest_first,
    ten_versions_are_kept,
    as_many_are_kept_as_is_set,
    a_version_brought_back_is_a_new_one,
    the_template_can_be_shown_compared_and_brought_back,
    two_versions_are_compared,
    unchanged_is_answered_without_the_text,
);
