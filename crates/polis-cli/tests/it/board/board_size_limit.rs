//! Tests of the size limit of boards: exactly 10 MiB, for every kind of write.

use crate::harness::test_project::{TestProject, on_both_stores};

const MAX_BOARD_BYTES: usize = 10 * 1024 * 1024;

/// Returns a text of exactly this length, in lines.
fn text_of_length(bytes: usize) -> String {
    let mut text =
        "a line of the largest board there can be, to fill it up\n".repeat(bytes / 56 + 1);
    text.truncate(bytes - 1);
    text.push('\n');
    text
}

fn force_write(project: &TestProject, text: &str) -> crate::harness::test_project::CommandOutput {
    let args = ["board", "write", "global", "--content", "-", "--force"];
    project.run_json_with_stdin("user", &args, text.as_bytes())
}

fn assert_too_large(answer: &crate::harness::test_project::CommandOutput) {
    let refused = answer.expect_refusal(2, "board_too_large");
    assert!(
        refused.message.contains("Nothing was changed"),
        "{refused:?}"
    );
}

fn assert_board_unchanged(project: &TestProject, text: &str, version: u64) {
    let view = project.read_board("global");
    assert_eq!(view["version"], version);
    assert!(view["content"] == text, "the content changed");
    if project.is_embedded() {
        assert!(
            project.data_file_bytes("global-whiteboard.md") == text.as_bytes(),
            "the file changed"
        );
    }
    assert_eq!(project.board_event_kinds("global").len() as u64, version);
}

fn board_write_above_ten_megabytes_is_refused(project: &TestProject) {
    let full = text_of_length(MAX_BOARD_BYTES);
    assert_eq!(force_write(project, &full).expect_document()["version"], 1);
    assert_board_unchanged(project, &full, 1);
    assert_too_large(&force_write(project, &text_of_length(MAX_BOARD_BYTES + 1)));
    assert_too_large(&project.run_json("user", &["board", "append", "global", "--content", "x"]));
    assert_too_large(&project.run_json(
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
    std::fs::write(
        project.project_path("large"),
        text_of_length(MAX_BOARD_BYTES + 1),
    )
    .unwrap();
    assert_too_large(&project.run_json(
        "user",
        &["board", "write", "global", "--content-file", "large"],
    ));
    assert_board_unchanged(project, &full, 1);
}

fn append_may_fill_a_board_up_to_the_limit(project: &TestProject) {
    // Length of an entry in addition to its content.
    project.write_board("global", "x\n");
    project.run_ok("user", &["board", "append", "global", "--content", "y"]);
    let frame = project.board_text("global").len() - 3;
    let begun = text_of_length(MAX_BOARD_BYTES - frame - 100);
    force_write(project, &begun).expect_document();
    assert_too_large(&project.run_json(
        "user",
        &["board", "append", "global", "--content", &"z".repeat(101)],
    ));
    assert_board_unchanged(project, &begun, 3);
    project.run_ok(
        "user",
        &["board", "append", "global", "--content", &"z".repeat(100)],
    );
    assert_eq!(project.board_text("global").len(), MAX_BOARD_BYTES);
    assert_too_large(&project.run_json("user", &["board", "append", "global", "--content", "z"]));
}

fn section_write_may_fill_a_board_up_to_the_limit(project: &TestProject) {
    let (head, tail) = (
        "## A\n\nx\n\n",
        format!("## B\n\n{}", text_of_length(MAX_BOARD_BYTES - 1_000)),
    );
    let begun = format!("{head}{tail}");
    force_write(project, &begun).expect_document();
    let room = MAX_BOARD_BYTES - begun.len() + 1;
    let set = |length: usize| {
        let text = "y".repeat(length);
        project.run_json(
            "user",
            &["board", "section", "set", "global", "A", "--content", &text],
        )
    };
    assert_too_large(&set(room + 1));
    assert_board_unchanged(project, &begun, 1);
    set(room).expect_document();
    let text = project.board_text("global");
    assert_eq!(text.len(), MAX_BOARD_BYTES);
    assert!(text.ends_with(&tail), "another section changed");
    set(1).expect_document();
    assert_eq!(project.board_text("global").len(), begun.len());
}

fn board_content_that_is_not_text_is_refused(project: &TestProject) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    project.write_board("global", "begun\n");
    for verb in ["write", "append"] {
        let args = ["board", verb, "global", "--content", "-"];
        project
            .run_json_with_stdin("user", &args, b"a\xff\xfe")
            .expect_refusal(2, "not_utf8");
        project
            .run_json_with_stdin("user", &args, b"a\0b")
            .expect_refusal(2, "invalid_text");
        let args = args.map(OsStr::new);
        let raw = [&args[..4], &[OsStr::from_bytes(b"\xff")]].concat();
        project.run_refused("user", &raw, 2, "not_utf8");
    }
    std::fs::write(project.project_path("raw"), b"\xc3").unwrap();
    project.run_refused(
        "user",
        &["board", "write", "global", "--content-file", "raw"],
        2,
        "not_utf8",
    );
    project.run_refused(
        "user",
        &["board", "write", "global", "--content-file", "absent"],
        2,
        "invalid_input",
    );
    project.run_refused(
        "user",
        &["board", "append", "global", "--content", " \n"],
        2,
        "invalid_input",
    );
    assert_board_unchanged(project, "begun\n", 1);
}

on_both_stores!(
    board_write_above_ten_megabytes_is_refused,
    append_may_fill_a_board_up_to_the_limit,
    section_write_may_fill_a_board_up_to_the_limit,
    board_content_that_is_not_text_is_refused,
);
