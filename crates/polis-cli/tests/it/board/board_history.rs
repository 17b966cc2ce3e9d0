//! Tests of board history: versions are listed, shown, diffed and restored, and old versions are kept as
//! files.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::board::board_helpers::{content_field, register_agent, version_field, write_config};
use crate::harness::test_project::{TestProject, on_both_stores};

fn write_versions(project: &TestProject, name: &str, numbers: std::ops::RangeInclusive<u64>) {
    for n in numbers {
        assert_eq!(project.write_board(name, &format!("version {n}\n")), n);
    }
}

fn show_version(project: &TestProject, name: &str, version: u64) -> Value {
    project.run_ok("user", &["board", "show", name, &version.to_string()])
}

fn board_history_is_listed_newest_first(project: &TestProject) {
    register_agent(project, "ana", "team-lead", "top", "");
    assert_eq!(project.board_versions("global"), [0_u64; 0]);
    project.write_board("global", "one\n");
    project.run_ok("ana", &["board", "append", "global", "--content", "two"]);
    project.run_ok(
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
    project.run_ok("ana", &["board", "restore", "global", "1"]);
    let history = project.run_ok("user", &["board", "history", "global"]);
    let versions = history["versions"].as_array().unwrap();
    let entry = |n: usize| {
        let v = &versions[n];
        (
            version_field(v),
            v["by"].as_str().unwrap(),
            v["action"].as_str().unwrap(),
        )
    };
    assert_eq!(entry(0), (4, "ana", "restored"));
    assert_eq!(entry(1), (3, "user", "edited"));
    assert_eq!(entry(2), (2, "ana", "appended"));
    assert_eq!(entry(3), (1, "user", "written"));
    for found in versions {
        let text = show_version(project, "global", version_field(found));
        assert_eq!(found["bytes"], content_field(&text).len());
        let at = found["at"].as_str().unwrap();
        assert!(
            at.len() == 24 && at.ends_with('Z') && at.contains('T'),
            "{at} is not ISO 8601"
        );
    }
    assert!(versions.is_sorted_by(|a, b| a["at"].as_str() >= b["at"].as_str()));
    let shown = project.run_text("user", &["board", "history", "global"]);
    assert_eq!(shown.lines().count(), 5, "{shown}");
}

fn board_history_keeps_ten_versions(project: &TestProject) {
    write_versions(project, "global", 1..=14);
    assert_eq!(
        project.board_versions("global"),
        (5..=14).rev().collect::<Vec<_>>()
    );
    for n in 5..=14 {
        assert_eq!(
            content_field(&show_version(project, "global", n)),
            format!("version {n}\n")
        );
    }
    for n in ["1", "4", "15"] {
        project.run_refused(
            "user",
            &["board", "show", "global", n],
            4,
            "version_not_found",
        );
        project.run_refused(
            "user",
            &["board", "restore", "global", n],
            4,
            "version_not_found",
        );
        project.run_refused(
            "user",
            &["board", "diff", "global", n],
            4,
            "version_not_found",
        );
    }
    assert_eq!(project.board_version("global"), 14);
}

fn board_history_length_follows_configuration(project: &TestProject) {
    write_config(project, "[whiteboards]\nmax_versions = 3\n");
    write_versions(project, "global", 1..=6);
    assert_eq!(project.board_versions("global"), [6, 5, 4]);
    // Appends make older versions cheap to store, but do not keep them in the list longer.
    for n in 7..=12 {
        let text = format!("entry {n}");
        project.run_ok("user", &["board", "append", "global", "--content", &text]);
    }
    assert_eq!(project.board_versions("global"), [12, 11, 10]);
    let text = show_version(project, "global", 10);
    assert!(
        content_field(&text).starts_with("version 6\n")
            && content_field(&text).ends_with("entry 10")
    );
    write_config(project, "[whiteboards]\nmax_versions = 20\n");
    for n in 13..=32 {
        project.write_board("global", &n.to_string());
    }
    assert_eq!(
        project.board_versions("global"),
        (13..=32).rev().collect::<Vec<_>>()
    );
}

fn restored_version_becomes_a_new_version(project: &TestProject) {
    write_versions(project, "global", 1..=3);
    assert_eq!(
        version_field(&project.run_ok("user", &["board", "restore", "global", "1"])),
        4
    );
    assert_eq!(project.board_text("global"), "version 1\n");
    assert_eq!(project.board_versions("global"), [4, 3, 2, 1]);
    assert_eq!(
        content_field(&show_version(project, "global", 3)),
        "version 3\n"
    );
    project.run_ok("user", &["board", "restore", "global", "3"]);
    assert_eq!(project.board_text("global"), "version 3\n");
    assert_eq!(
        project.board_event_kinds("global").last().unwrap(),
        "board.restored"
    );
}

fn template_can_be_shown_diffed_and_restored(project: &TestProject) {
    let template = project.board_text("global");
    project.write_board("global", "mine\n");
    assert_eq!(content_field(&show_version(project, "global", 0)), template);
    let diff = project.run_ok("user", &["board", "diff", "global", "0"]);
    assert!(
        diff["diff"].as_str().unwrap().ends_with("+mine\n"),
        "{diff}"
    );
    project.run_ok("user", &["board", "restore", "global", "0"]);
    assert_eq!(project.board_text("global"), template);
}

fn board_diff_compares_two_versions(project: &TestProject) {
    project.write_board("global", "one\ntwo\nthree\n");
    project.write_board("global", "one\n2\nthree\n");
    project.write_board("global", "one\n2\nthree\nfour\n");
    let diff = |versions: &[&str]| {
        let args = [&["board", "diff", "global"], versions].concat();
        let answer = project.run_ok("user", &args);
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
    let shown = project.run_text("user", &["board", "diff", "global", "1", "2"]);
    assert!(shown.contains("-two\n+2\n"), "{shown}");
}

fn read_if_newer_than_omits_unchanged_text(project: &TestProject) {
    project.write_board("global", "one\n");
    let read = |v: &str| project.run_ok("user", &["board", "read", "global", "--if-newer-than", v]);
    for seen in ["1", "7"] {
        let view = read(seen);
        assert_eq!(
            (&view["unchanged"], &view["version"]),
            (&true.into(), &1.into())
        );
        assert_eq!(view.get("content"), None);
    }
    assert_eq!(read("0")["content"], "one\n");
    project.run_ok("user", &["board", "append", "global", "--content", "x"]);
    assert!(content_field(&read("1")).ends_with('x'));
    let template = project.run_ok("user", &["board", "read", "top", "--if-newer-than", "0"]);
    assert_eq!(template["unchanged"], true);
    let shown = project.run_text("user", &["board", "read", "global", "--if-newer-than", "2"]);
    assert_eq!(shown, "unchanged (version 2)\n");
}

/// Returns the file names in `whiteboard-history/`.
pub(crate) fn history_files(project: &TestProject) -> BTreeSet<String> {
    let entries = std::fs::read_dir(project.data_path("whiteboard-history"));
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn overwritten_versions_are_saved_as_history_files() {
    let project = &TestProject::embedded();
    write_versions(project, "global", 1..=3);
    assert_eq!(
        history_files(project),
        ["global-whiteboard-v1.md", "global-whiteboard-v2.md"]
            .map(String::from)
            .into()
    );
    for n in 1..=2 {
        let copy =
            project.data_file_bytes(&format!("whiteboard-history/global-whiteboard-v{n}.md"));
        assert_eq!(copy, format!("version {n}\n").into_bytes());
    }
    // An append overwrites nothing.
    project.run_ok("user", &["board", "append", "global", "--content", "x"]);
    assert_eq!(history_files(project).len(), 2);
    let before = project.board_text("global");
    project.write_board("global", "version 5\n");
    assert_eq!(
        project.data_file_bytes("whiteboard-history/global-whiteboard-v4.md"),
        before.as_bytes()
    );
    write_versions(project, "global", 6..=20);
    let kept = history_files(project);
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
        write_versions(project, name, 1..=2);
        assert!(history_files(project).contains(&format!("{stem}-v1.md")));
    }
}

#[test]
fn history_file_count_follows_configuration() {
    let project = &TestProject::embedded();
    write_config(project, "[whiteboards]\nmax_versions = 2\n");
    write_versions(project, "global", 1..=6);
    assert_eq!(
        history_files(project),
        ["global-whiteboard-v4.md", "global-whiteboard-v5.md"]
            .map(String::from)
            .into()
    );
    // Boards with a common name prefix keep separate copies.
    write_versions(project, "bottom/a", 1..=2);
    write_versions(project, "bottom/a-v1", 1..=4);
    assert!(history_files(project).contains("bottom-layer-a-v1.md"));
    assert_eq!(history_files(project).len(), 2 + 1 + 2);
}

on_both_stores!(
    board_history_is_listed_newest_first,
    board_history_keeps_ten_versions,
    board_history_length_follows_configuration,
    restored_version_becomes_a_new_version,
    template_can_be_shown_diffed_and_restored,
    board_diff_compares_two_versions,
    read_if_newer_than_omits_unchanged_text,
);
