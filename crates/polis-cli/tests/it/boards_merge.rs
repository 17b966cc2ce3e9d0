//! Tests of version conflicts and three-way merge: a conflict shows the changes since, and `--merge` merges them where
//! that is safe.

use serde_json::Value;

use crate::board::{Answer, Board, on_both_stores};
use crate::boards_team::add;

const BASE: &str = "# Plan\n\n## One\n\nfirst\n\n## Two\n\nsecond\n\n## Three\n\nthird\n";

fn write(board: &Board, agent: &str, text: &str, more: &[&str]) -> Answer {
    // Without `--expect` the text is replaced.
    let more = match more.contains(&"--expect") {
        true => more.to_vec(),
        false => [more, &["--force"]].concat(),
    };
    let args = [&["board", "write", "global", "--content", text][..], &more].concat();
    board.run(agent, &args)
}

fn a_conflict_tells_what_happened_since(board: &Board) {
    add(board, "ana", "team-lead", "top", "");
    board.put("global", BASE);
    write(board, "ana", &BASE.replace("second", "changed"), &[]).document();
    let error = write(board, "user", "mine\n", &["--expect", "1"]).error(5, "version_conflict");
    let now = board.view("global");
    assert_eq!(error["currentVersion"], 2);
    assert_eq!(error["lastModifiedBy"], "ana");
    assert_eq!(error["lastModifiedAt"], now["lastModifiedAt"]);
    let diff = error["diff"].as_str().unwrap();
    assert!(diff.contains("\n-second\n+changed\n"), "{diff}");
    assert!(diff.starts_with("--- ") && diff.contains("\n@@ "), "{diff}");
    assert_eq!(now["content"], BASE.replace("second", "changed"));
}

fn a_version_that_is_not_there_yet_or_no_more_conflicts_without_a_diff(board: &Board) {
    for n in 0..13 {
        board.put("global", &format!("text {n}\n"));
    }
    for expect in ["1", "99"] {
        for more in [&["--expect", expect][..], &["--expect", expect, "--merge"]] {
            let error = write(board, "user", "mine\n", more).error(5, "version_conflict");
            assert_eq!(error["currentVersion"], 13);
            assert_eq!(error.get("diff"), None, "{error}");
        }
    }
    assert_eq!(board.text("global"), "text 12\n");
}

fn a_conflict_with_the_template_is_told_too(board: &Board) {
    write(board, "user", "first\n", &["--expect", "0"]).document();
    let error = write(board, "user", "second\n", &["--expect", "0"]).error(5, "version_conflict");
    assert_eq!(error["currentVersion"], 1);
    let diff = error["diff"].as_str().unwrap();
    assert!(
        diff.contains("-# Global board") && diff.contains("+first"),
        "{diff}"
    );
}

fn disjoint_changes_are_merged(board: &Board) {
    board.put("global", BASE);
    board.put("global", &BASE.replace("first", "theirs"));
    let mine = BASE.replace("third", "mine");
    let answer = write(board, "user", &mine, &["--expect", "1", "--merge"]).document();
    assert_eq!(
        (&answer["version"], &answer["merged"]),
        (&3.into(), &true.into())
    );
    let both = BASE.replace("first", "theirs").replace("third", "mine");
    assert_eq!(board.text("global"), both);
    // A section change is merged in the same way.
    let set = [
        "board",
        "section",
        "set",
        "global",
        "Two",
        "--content",
        "mine too",
        "--expect",
        "1",
        "--merge",
    ];
    assert_eq!(board.ok("user", &set)["merged"], true);
    assert_eq!(board.text("global"), both.replace("second", "mine too"));
    // Without a concurrent change, `--merge` is an ordinary write.
    let answer = write(board, "user", BASE, &["--expect", "4", "--merge"]).document();
    assert_eq!(answer.get("merged"), None);
}

fn overlapping_changes_are_refused_with_marks(board: &Board) {
    board.put("global", BASE);
    board.put("global", &BASE.replace("second", "theirs"));
    let before = board.log();
    let mine = BASE.replace("second", "mine").replace("third", "also mine");
    let marked = |error: &Value| {
        assert_eq!(error["currentVersion"], 2);
        assert!(error["diff"].as_str().unwrap().contains("+theirs"));
        error["merge"].as_str().unwrap().to_owned()
    };
    let refused = write(board, "user", &mine, &["--expect", "1", "--merge"]);
    let merge = marked(&refused.error(5, "version_conflict"));
    let order = [
        "<<<<<<<",
        "mine",
        "|||||||",
        "second",
        "=======",
        "theirs",
        ">>>>>>>",
        "also mine",
    ];
    let places: Vec<_> = order.iter().map(|part| merge.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{merge}");
    let set = [
        "board",
        "section",
        "set",
        "global",
        "Two",
        "--content",
        "mine",
        "--expect",
        "1",
        "--merge",
    ];
    marked(&board.run("user", &set).error(5, "version_conflict"));
    assert_eq!(board.text("global"), BASE.replace("second", "theirs"));
    assert_eq!(board.log(), before, "a refused merge wrote something");
    board.refused(
        "user",
        &["board", "write", "global", "--content", "x", "--merge"],
        2,
        "invalid_input",
    );
}

on_both_stores!(
    a_conflict_tells_what_happened_since,
    a_version_that_is_not_there_yet_or_no_more_conflicts_without_a_diff,
    a_conflict_with_the_template_is_told_too,
    disjoint_changes_are_merged,
    overlapping_changes_are_refused_with_marks,
);
