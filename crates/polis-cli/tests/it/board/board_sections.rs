//! Tests of board sections: found by CommonMark rules, and edited without touching a byte elsewhere.

use crate::board::board_helpers::content_field;
use crate::harness::test_project::{TestProject, on_both_stores};

const TRICKY_BOARD: &str = "---\ntitle: x\n---\n# Board\nintro\n\n## One\n\nfirst\n\n### Below one\n\ndeeper\n\n\
    ```\n## not a heading\n```\n\nTwo\n---\n\nsecond\n\n<div>\n## neither\n</div>\n\n## One\n\nagain\n\n## End\n\nlast, without a line end";

fn read_section(project: &TestProject, title: &str) -> String {
    let view = project.run_ok("user", &["board", "read", "global", "--section", title]);
    content_field(&view).to_owned()
}

fn change_section(project: &TestProject, verb: &str, title: &str, more: &[&str]) {
    let args = [&["board", "section", verb, "global", title], more].concat();
    project.run_ok("user", &args);
}

fn section_boundaries_follow_commonmark(project: &TestProject) {
    project.write_board("global", TRICKY_BOARD);
    assert_eq!(
        read_section(project, "Below one"),
        "deeper\n\n```\n## not a heading\n```"
    );
    assert_eq!(
        read_section(project, "Two"),
        "second\n\n<div>\n## neither\n</div>"
    );
    assert_eq!(read_section(project, "End"), "last, without a line end");
    let nth = |n: &str| {
        project.run_json(
            "user",
            &["board", "read", "global", "--section", "One", "--nth", n],
        )
    };
    assert!(content_field(&nth("1").expect_document()).starts_with("first\n\n### Below one"));
    assert_eq!(nth("2").expect_document()["content"], "again");
    nth("3").expect_refusal(4, "section_not_found");
    for absent in ["not a heading", "neither", "title: x"] {
        project.run_refused(
            "user",
            &["board", "read", "global", "--section", absent],
            4,
            "section_not_found",
        );
    }
    project.run_refused(
        "user",
        &["board", "read", "global", "--section", "One"],
        2,
        "ambiguous_section",
    );
}

fn section_edit_changes_only_its_section(project: &TestProject) {
    project.write_board("global", TRICKY_BOARD);
    change_section(project, "set", "Two", &["--content", "changed"]);
    let expected = TRICKY_BOARD.replace("second\n\n<div>\n## neither\n</div>\n", "changed\n");
    assert_eq!(project.board_text("global"), expected);
    change_section(
        project,
        "append",
        "One",
        &["--content", "more", "--nth", "2"],
    );
    let expected = expected.replace("again\n", "again\n\nmore\n");
    assert_eq!(project.board_text("global"), expected);
    change_section(project, "delete", "Below one", &[]);
    let expected = expected.replace(
        "### Below one\n\ndeeper\n\n```\n## not a heading\n```\n\n",
        "",
    );
    assert_eq!(project.board_text("global"), expected);
    if project.is_embedded() {
        assert_eq!(
            project.data_file_bytes("global-whiteboard.md"),
            expected.as_bytes()
        );
    }
    let before = project.read_log();
    for args in [
        &["set", "global", "One", "--content", "x"][..],
        &["delete", "global", "One"],
    ] {
        let args = [&["board", "section"], args].concat();
        project.run_refused("user", &args, 2, "ambiguous_section");
    }
    project.run_refused(
        "user",
        &["board", "section", "delete", "global", "Absent"],
        4,
        "section_not_found",
    );
    assert_eq!(project.read_log(), before);
}

fn section_edit_preserves_line_endings(project: &TestProject) {
    let text = "# B\r\n\r\n## One\r\n\r\nfirst\r\n\r\n## Two\r\n\r\nsecond\r\n";
    project.write_board("global", text);
    change_section(project, "set", "One", &["--content", "changed"]);
    assert_eq!(
        project.board_text("global"),
        text.replace("first", "changed")
    );
    change_section(project, "append", "Two", &["--content", "third"]);
    assert!(
        project
            .board_text("global")
            .ends_with("## Two\r\n\r\nsecond\r\n\r\nthird\r\n")
    );
}

fn section_edit_adds_a_missing_section(project: &TestProject) {
    project.write_board("global", "# B\n\ntext");
    change_section(project, "set", "New", &["--content", "one"]);
    change_section(project, "append", "Newer", &["--content", "two"]);
    assert_eq!(
        project.board_text("global"),
        "# B\n\ntext\n\n## New\n\none\n\n## Newer\n\ntwo\n"
    );
}

/// Setting a section to its current text is no change, so it creates no version.
fn section_set_to_same_text_creates_no_version(project: &TestProject) {
    project.write_board("global", "# B\n\n## One\n\ntext\n");
    let answer = project.run_ok(
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
    assert_eq!(project.board_event_kinds("global"), ["board.written"]);
}

fn section_content_that_leaves_its_section_is_refused(project: &TestProject) {
    let text = "# B\n\n## One\n\ntext\n\n## Two\n\nmore\n";
    project.write_board("global", text);
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
        project.run_refused("user", &args, 2, "invalid_section");
    }
    assert_eq!(project.board_text("global"), text);
}

/// A large board is edited section by section; every version can still be read.
fn large_board_is_edited_by_section(project: &TestProject) {
    let filler = "a line to make the board a large one\n".repeat(4_000);
    let text = |n: usize| format!("# B\n\n## One\n\n{n}\n\n## Filler\n\n{filler}");
    project.write_board("global", &text(0));
    for n in 1..=20 {
        change_section(project, "set", "One", &["--content", &n.to_string()]);
    }
    assert!(project.board_text("global") == text(20));
    for version in project.board_versions("global") {
        let shown = project.run_ok("user", &["board", "show", "global", &version.to_string()]);
        assert!(
            content_field(&shown) == text(usize::try_from(version).unwrap() - 1),
            "version {version}"
        );
    }
    project.run_ok("user", &["board", "append", "global", "--content", "entry"]);
    change_section(project, "delete", "Filler", &[]);
    assert_eq!(project.board_text("global"), "# B\n\n## One\n\n20\n\n");
}

fn board_read_with_render_formats_for_a_terminal(project: &TestProject) {
    project.write_board(
        "global",
        "# Title\n\n- [x] done\n- [ ] open\n\n> quoted\n\n`code`\n",
    );
    let shown = project.run_text("user", &["board", "read", "global", "--render"]);
    assert!(
        shown.contains("✓ done") && shown.contains("☐ open") && shown.contains("Title"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}'),
        "colours although stdout is not a terminal"
    );
    let exact = project.run_text("user", &["board", "read", "global"]);
    assert_eq!(
        exact,
        "# Title\n\n- [x] done\n- [ ] open\n\n> quoted\n\n`code`\n"
    );
}

on_both_stores!(
    section_boundaries_follow_commonmark,
    section_edit_changes_only_its_section,
    section_edit_preserves_line_endings,
    section_edit_adds_a_missing_section,
    section_set_to_same_text_creates_no_version,
    section_content_that_leaves_its_section_is_refused,
    large_board_is_edited_by_section,
    board_read_with_render_formats_for_a_terminal,
);
