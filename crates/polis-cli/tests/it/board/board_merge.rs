//! Tests of version conflicts and three-way merge: a conflict shows the diff since the expected version, and
//! `--merge` merges disjoint changes.

use serde_json::Value;

use crate::board::board_helpers::register_agent;
use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};

const BASE_TEXT: &str = "# Plan\n\n## One\n\nfirst\n\n## Two\n\nsecond\n\n## Three\n\nthird\n";

fn write_global(project: &TestProject, agent: &str, text: &str, more: &[&str]) -> CommandOutput {
    // Without `--expect` the text is replaced.
    let more = if more.contains(&"--expect") {
        more.to_vec()
    } else {
        [more, &["--force"]].concat()
    };
    let args = [&["board", "write", "global", "--content", text][..], &more].concat();
    project.run_json(agent, &args)
}

fn version_conflict_reports_author_time_and_diff(project: &TestProject) {
    register_agent(project, "ana", "team-lead", "top", "");
    project.write_board("global", BASE_TEXT);
    write_global(project, "ana", &BASE_TEXT.replace("second", "changed"), &[]).expect_document();
    let error = write_global(project, "user", "mine\n", &["--expect", "1"])
        .expect_error(5, "version_conflict");
    let now = project.read_board("global");
    assert_eq!(error["currentVersion"], 2);
    assert_eq!(error["lastModifiedBy"], "ana");
    assert_eq!(error["lastModifiedAt"], now["lastModifiedAt"]);
    let diff = error["diff"].as_str().unwrap();
    assert!(diff.contains("\n-second\n+changed\n"), "{diff}");
    assert!(diff.starts_with("--- ") && diff.contains("\n@@ "), "{diff}");
    assert_eq!(now["content"], BASE_TEXT.replace("second", "changed"));
}

fn conflict_with_unknown_version_has_no_diff(project: &TestProject) {
    for n in 0..13 {
        project.write_board("global", &format!("text {n}\n"));
    }
    for expect in ["1", "99"] {
        for more in [&["--expect", expect][..], &["--expect", expect, "--merge"]] {
            let error =
                write_global(project, "user", "mine\n", more).expect_error(5, "version_conflict");
            assert_eq!(error["currentVersion"], 13);
            assert_eq!(error.get("diff"), None, "{error}");
        }
    }
    assert_eq!(project.board_text("global"), "text 12\n");
}

fn conflict_with_the_template_has_a_diff(project: &TestProject) {
    write_global(project, "user", "first\n", &["--expect", "0"]).expect_document();
    let error = write_global(project, "user", "second\n", &["--expect", "0"])
        .expect_error(5, "version_conflict");
    assert_eq!(error["currentVersion"], 1);
    let diff = error["diff"].as_str().unwrap();
    assert!(
        diff.contains("-# Global board") && diff.contains("+first"),
        "{diff}"
    );
}

fn merge_of_disjoint_changes_succeeds(project: &TestProject) {
    project.write_board("global", BASE_TEXT);
    project.write_board("global", &BASE_TEXT.replace("first", "theirs"));
    let mine = BASE_TEXT.replace("third", "mine");
    let answer =
        write_global(project, "user", &mine, &["--expect", "1", "--merge"]).expect_document();
    assert_eq!(
        (&answer["version"], &answer["merged"]),
        (&3.into(), &true.into())
    );
    let both = BASE_TEXT
        .replace("first", "theirs")
        .replace("third", "mine");
    assert_eq!(project.board_text("global"), both);
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
    assert_eq!(project.run_ok("user", &set)["merged"], true);
    assert_eq!(
        project.board_text("global"),
        both.replace("second", "mine too")
    );
    // Without a concurrent change, `--merge` is an ordinary write.
    let answer =
        write_global(project, "user", BASE_TEXT, &["--expect", "4", "--merge"]).expect_document();
    assert_eq!(answer.get("merged"), None);
}

fn merge_of_overlapping_changes_is_refused_with_conflict_markers(project: &TestProject) {
    project.write_board("global", BASE_TEXT);
    project.write_board("global", &BASE_TEXT.replace("second", "theirs"));
    let before = project.read_log();
    let mine = BASE_TEXT
        .replace("second", "mine")
        .replace("third", "also mine");
    let marked = |error: &Value| {
        assert_eq!(error["currentVersion"], 2);
        assert!(error["diff"].as_str().unwrap().contains("+theirs"));
        error["merge"].as_str().unwrap().to_owned()
    };
    let refused = write_global(project, "user", &mine, &["--expect", "1", "--merge"]);
    let merge = marked(&refused.expect_error(5, "version_conflict"));
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
    marked(
        &project
            .run_json("user", &set)
            .expect_error(5, "version_conflict"),
    );
    assert_eq!(
        project.board_text("global"),
        BASE_TEXT.replace("second", "theirs")
    );
    assert_eq!(
        project.read_log(),
        before,
        "a refused merge wrote something"
    );
    project.run_refused(
        "user",
        &["board", "write", "global", "--content", "x", "--merge"],
        2,
        "invalid_input",
    );
}

on_both_stores!(
    version_conflict_reports_author_time_and_diff,
    conflict_with_unknown_version_has_no_diff,
    conflict_with_the_template_has_a_diff,
    merge_of_disjoint_changes_succeeds,
    merge_of_overlapping_changes_is_refused_with_conflict_markers,
);
