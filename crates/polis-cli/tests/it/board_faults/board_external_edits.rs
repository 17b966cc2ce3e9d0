//! Tests of external edits: other tools change a board's mirror file. The edit becomes a version, or is
//! refused with nothing lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::board::board_helpers::{content_field, version_field, write_config};
use crate::board::board_history::history_files;
use crate::harness::test_project::{CommandOutput, TestProject};

const GLOBAL_BOARD_FILE: &str = "global-whiteboard.md";
const INITIAL_TEXT: &str = "# G\n\none\ntwo\n";

fn project_with_global_board() -> (TestProject, PathBuf) {
    let project = TestProject::embedded();
    project.write_board("global", INITIAL_TEXT);
    let file = project.data_path(GLOBAL_BOARD_FILE);
    (project, file)
}

/// Runs a shell line in the data directory.
fn run_shell(project: &TestProject, line: &str) {
    let status = Command::new("sh")
        .args(["-ec", line])
        .current_dir(project.data_path(""))
        .status();
    assert!(status.unwrap().success(), "{line}");
}

/// Asserts that the board has the next version, by `external`, with the file's content.
fn assert_external_version(project: &TestProject, before: u64, text: &str) {
    let view = project.read_board("global");
    assert_eq!(view["content"], text);
    assert_eq!(view["lastModifiedBy"], "external");
    assert_eq!(version_field(&view), before + 1);
    assert_eq!(view["notice"], "changed-outside");
    assert_eq!(
        project.data_file_bytes(GLOBAL_BOARD_FILE),
        text.as_bytes(),
        "the file is left as it was edited"
    );
    let old = project.run_ok("user", &["board", "show", "global", &before.to_string()]);
    let copy = project.data_file_bytes(&format!(
        "whiteboard-history/global-whiteboard-v{before}.md"
    ));
    assert_eq!(copy, content_field(&old).as_bytes());
    let again = project.read_board("global");
    assert_eq!(again.get("notice"), None, "the notice is shown once");
    assert_eq!(version_field(&again), before + 1);
    assert_eq!(
        project.board_event_kinds("global").last().unwrap(),
        "board.external"
    );
}

#[test]
fn external_edit_by_any_method_becomes_a_version() {
    let edits = [
        (
            "sed -i s/two/TWO/ global-whiteboard.md",
            "# G\n\none\nTWO\n",
        ),
        (
            "echo three >> global-whiteboard.md",
            "# G\n\none\ntwo\nthree\n",
        ),
        ("printf x > global-whiteboard.md", "x"),
        (": > global-whiteboard.md", ""),
        ("truncate -s 5 global-whiteboard.md", "# G\n\n"),
        (
            "printf 'new\\n' > .g.swp && mv .g.swp global-whiteboard.md",
            "new\n",
        ),
        (
            "mv global-whiteboard.md g~ && printf 'vim\\n' > global-whiteboard.md && rm g~",
            "vim\n",
        ),
        (
            "rm global-whiteboard.md && printf 'again\\n' > global-whiteboard.md",
            "again\n",
        ),
        (
            "printf '\\357\\273\\277# B\\r\\n' > global-whiteboard.md",
            "\u{feff}# B\r\n",
        ),
        // Same size and an old mtime: still detected as an edit.
        (
            "sed -i s/two/owt/ global-whiteboard.md && touch -d 2020-01-01 global-whiteboard.md",
            "# G\n\none\nowt\n",
        ),
    ];
    for (line, text) in edits {
        let (project, _) = project_with_global_board();
        run_shell(&project, line);
        assert_external_version(&project, 1, text);
    }
}

#[test]
fn write_after_external_edit_keeps_both() {
    let (project, _) = project_with_global_board();
    run_shell(&project, "echo theirs >> global-whiteboard.md");
    let answer = project.run_ok("user", &["board", "append", "global", "--content", "ours"]);
    assert_eq!(version_field(&answer), 3);
    let text = project.board_text("global");
    assert!(
        text.starts_with("# G\n\none\ntwo\ntheirs\n") && text.ends_with("ours"),
        "{text}"
    );
    assert_eq!(project.data_file_bytes(GLOBAL_BOARD_FILE), text.as_bytes());
    run_shell(&project, "sed -i s/theirs/edited/ global-whiteboard.md");
    let refused = project.run_json(
        "user",
        &[
            "board",
            "write",
            "global",
            "--content",
            "x",
            "--expect",
            "3",
        ],
    );
    let error = refused.expect_error(5, "version_conflict");
    assert_eq!(
        (&error["currentVersion"], &error["lastModifiedBy"]),
        (&4.into(), &"external".into())
    );
    assert!(
        error["diff"].as_str().unwrap().contains("-theirs\n+edited"),
        "{error}"
    );
    // Without `--expect` the last writer wins, and the edit is in the history.
    run_shell(&project, "sed -i s/edited/again/ global-whiteboard.md");
    assert_eq!(project.write_board("global", "over\n"), 6);
    let edit = project.run_ok("user", &["board", "show", "global", "5"]);
    assert!(content_field(&edit).contains("again"));
    assert_eq!(project.board_versions("global"), [6, 5, 4, 3, 2, 1]);
}

#[test]
fn external_edit_is_seen_by_every_command() {
    for args in [
        &["board", "history", "global"][..],
        &["board", "diff", "global", "1"],
        &["board", "read", "global", "--if-newer-than", "1"],
        &["board", "decisions", "global"],
        &["board", "list"],
    ] {
        let (project, _) = project_with_global_board();
        run_shell(&project, "echo theirs >> global-whiteboard.md");
        project.run_ok("user", args);
        let list = project.run_ok("user", &["board", "list"]);
        assert_eq!(list["boards"][0]["version"], 2, "{args:?}");
        assert_eq!(list["boards"][0]["lastModifiedBy"], "external");
    }
}

#[test]
fn touched_file_creates_no_version() {
    let (project, file) = project_with_global_board();
    for line in [
        "touch global-whiteboard.md",
        "touch -d 2020-01-01 global-whiteboard.md",
        "cp global-whiteboard.md x && mv x global-whiteboard.md",
        "chmod 600 global-whiteboard.md",
        "sed -i s/one/one/ global-whiteboard.md",
    ] {
        run_shell(&project, line);
        let view = project.read_board("global");
        assert_eq!(
            (version_field(&view), view.get("notice")),
            (1, None),
            "{line}"
        );
        assert_eq!(fs::read(&file).unwrap(), INITIAL_TEXT.as_bytes());
    }
    assert_eq!(project.board_event_kinds("global"), ["board.written"]);
    assert!(history_files(&project).is_empty());
}

#[test]
fn board_file_created_externally_is_imported() {
    let project = TestProject::embedded();
    fs::create_dir_all(project.data_path("whiteboards")).unwrap();
    fs::write(
        project.data_path("whiteboards/mid-layer-architect.md"),
        "# mine\n",
    )
    .unwrap();
    let list = project.run_ok("user", &["board", "list"]);
    let found = list["boards"]
        .as_array()
        .unwrap()
        .iter()
        .find(|b| b["board"] == "mid/architect");
    assert!(found.is_some(), "{list}");
    let view = project.read_board("mid/architect");
    assert_eq!(
        (version_field(&view), content_field(&view)),
        (1, "# mine\n")
    );
    assert_eq!(view["lastModifiedBy"], "external");
    project.run_ok(
        "user",
        &["board", "append", "mid/architect", "--content", "ours"],
    );
    assert!(
        project
            .board_text("mid/architect")
            .starts_with("# mine\n\n\n### Update - ")
    );
}

#[test]
fn deleted_board_file_is_restored_with_a_notice() {
    let (project, file) = project_with_global_board();
    fs::remove_file(&file).unwrap();
    let view = project.read_board("global");
    assert_eq!(
        (version_field(&view), content_field(&view)),
        (1, INITIAL_TEXT)
    );
    assert_eq!(view["notice"], "file-restored");
    assert_eq!(fs::read(&file).unwrap(), INITIAL_TEXT.as_bytes());
    assert_eq!(
        project.board_event_kinds("global"),
        ["board.written", "board.file-restored"]
    );
    // In text mode a note is printed in addition to the text.
    fs::remove_file(&file).unwrap();
    let mut command = project.command();
    let answer =
        CommandOutput::from_output(command.args(["board", "read", "global"]).output().unwrap());
    assert_eq!(
        (answer.exit_code, answer.stdout.as_str()),
        (Some(0), INITIAL_TEXT)
    );
    assert!(
        answer.stderr.contains("was missing") && answer.stderr.contains("restored"),
        "{answer:?}"
    );
    // Its directory too, and with a write instead of a read.
    project.write_board("top", "top\n");
    fs::remove_dir_all(project.data_path("whiteboards")).unwrap();
    project.run_ok("user", &["board", "append", "top", "--content", "more"]);
    let text = project.board_text("top");
    assert!(text.starts_with("top\n") && text.ends_with("more"));
    assert_eq!(
        project.data_file_bytes("whiteboards/top-layer.md"),
        text.as_bytes()
    );
    assert_eq!(
        project.board_event_kinds("top"),
        ["board.written", "board.file-restored", "board.appended"]
    );
}

#[test]
fn external_edit_prints_a_notice_in_text_mode() {
    let (project, _) = project_with_global_board();
    run_shell(&project, "echo x >> global-whiteboard.md");
    let mut command = project.command();
    let answer =
        CommandOutput::from_output(command.args(["board", "read", "global"]).output().unwrap());
    assert!(
        answer.stderr.contains("changed outside") && answer.stderr.contains("external"),
        "{answer:?}"
    );
}

/// Asserts that a file that cannot be a board is refused with its code and that the store keeps its text;
/// once the file is removed, the board works again.
fn assert_invalid_file_refused(spoil: &str, exit: i32, code: &str) {
    let (project, _) = project_with_global_board();
    project.write_board("top", "other\n");
    run_shell(&project, spoil);
    for args in [
        &["board", "read", "global"][..],
        &["board", "append", "global", "--content", "x"],
        &["board", "write", "global", "--content", "x"],
        &["board", "section", "set", "global", "S", "--content", "x"],
        &["board", "history", "global"],
    ] {
        let refused = project.run_refused("user", args, exit, code);
        assert!(refused.hint.contains("from the store"), "{refused:?}");
    }
    // Other boards are not affected, and earlier versions can still be read.
    assert_eq!(project.board_text("top"), "other\n");
    let shown = project.run_ok("user", &["board", "show", "global", "1"]);
    assert_eq!(content_field(&shown), INITIAL_TEXT);
    run_shell(&project, "rm -rf global-whiteboard.md");
    let view = project.read_board("global");
    assert_eq!(
        (version_field(&view), content_field(&view)),
        (1, INITIAL_TEXT),
        "{spoil}"
    );
    assert_eq!(
        project.data_file_bytes(GLOBAL_BOARD_FILE),
        INITIAL_TEXT.as_bytes()
    );
    project.run_ok(
        "user",
        &["board", "append", "global", "--content", "works again"],
    );
}

#[test]
fn board_file_with_invalid_utf8_is_refused() {
    assert_invalid_file_refused("printf '\\377\\376' >> global-whiteboard.md", 2, "not_utf8");
}

#[test]
fn board_file_with_nul_is_refused() {
    assert_invalid_file_refused("printf '\\000' >> global-whiteboard.md", 2, "not_utf8");
}

#[test]
fn board_file_above_ten_megabytes_is_refused() {
    assert_invalid_file_refused(
        "head -c 10485761 /dev/zero | tr '\\0' x > global-whiteboard.md",
        2,
        "board_too_large",
    );
    assert_invalid_file_refused("truncate -s 1T global-whiteboard.md", 2, "board_too_large");
}

#[test]
fn directory_in_place_of_board_file_is_refused() {
    assert_invalid_file_refused(
        "rm global-whiteboard.md && mkdir global-whiteboard.md",
        5,
        "not_a_file",
    );
}

#[test]
fn fifo_in_place_of_board_file_is_refused() {
    assert_invalid_file_refused(
        "rm global-whiteboard.md && mkfifo global-whiteboard.md",
        5,
        "not_a_file",
    );
}

#[test]
fn symlink_in_place_of_board_file_is_refused_and_not_followed() {
    assert_invalid_file_refused(
        "echo secret > ../elsewhere && rm global-whiteboard.md && ln -s ../elsewhere global-whiteboard.md",
        5,
        "not_a_file",
    );
    let (project, file) = project_with_global_board();
    let elsewhere = project.project_path("elsewhere");
    fs::write(&elsewhere, "secret\n").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&elsewhere, &file).unwrap();
    let refused = project.run_json("user", &["board", "write", "global", "--content", "x"]);
    refused.expect_refusal(5, "not_a_file");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"secret\n");
    // A directory that is a symlink is not followed either.
    project.write_board("top", "top\n");
    let outside = project.project_path("outside");
    fs::rename(project.data_path("whiteboards"), &outside).unwrap();
    symlink(&outside, project.data_path("whiteboards")).unwrap();
    project.run_refused(
        "user",
        &["board", "append", "top", "--content", "x"],
        5,
        "not_a_file",
    );
    assert_eq!(fs::read(outside.join("top-layer.md")).unwrap(), b"top\n");
}

#[test]
fn external_edits_respect_the_version_limit() {
    let project = TestProject::embedded();
    write_config(&project, "[whiteboards]\nmax_versions = 20\n");
    for n in 1..=15 {
        project.write_board("global", &format!("version {n}\n"));
    }
    run_shell(&project, "echo edited > global-whiteboard.md");
    assert_eq!(project.board_text("global"), "edited\n");
    assert_eq!(
        project.board_versions("global"),
        (1..=16).rev().collect::<Vec<_>>()
    );
    write_config(&project, "[whiteboards]\nmax_versions = 2\n");
    project.write_board("global", "version 17\n");
    assert_eq!(history_files(&project).len(), 2);
    for n in 18..=20 {
        run_shell(&project, &format!("echo {n} > global-whiteboard.md"));
        project.board_text("global");
        assert_eq!(history_files(&project).len(), 2);
        assert_eq!(project.board_versions("global"), [n, n - 1]);
    }
}

#[test]
fn board_files_are_at_their_documented_paths() {
    let project = TestProject::embedded();
    for name in [
        "global",
        "top",
        "mid/architect",
        "mid/pm",
        "bottom/agent-1",
        "bottom/agent-2",
    ] {
        project.write_board(name, "one\n");
        project.write_board(name, "two\n");
        project.run_ok("user", &["board", "append", name, "--content", "three"]);
    }
    let mut found = Vec::new();
    let mut left = vec![project.data_path("")];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path
                    .strip_prefix(project.data_path(""))
                    .unwrap()
                    .to_str()
                    .unwrap();
                found.push(name.to_owned());
            }
        }
    }
    found.retain(|name| !name.starts_with("polis."));
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ".gitignore",
            "global-whiteboard.md",
            "whiteboard-history/bottom-layer-agent-1-v1.md",
            "whiteboard-history/bottom-layer-agent-2-v1.md",
            "whiteboard-history/global-whiteboard-v1.md",
            "whiteboard-history/mid-layer-architect-v1.md",
            "whiteboard-history/mid-layer-pm-v1.md",
            "whiteboard-history/top-layer-v1.md",
            "whiteboards/.locks/bottom-layer-agent-1.lock",
            "whiteboards/.locks/bottom-layer-agent-2.lock",
            "whiteboards/.locks/global-whiteboard.lock",
            "whiteboards/.locks/mid-layer-architect.lock",
            "whiteboards/.locks/mid-layer-pm.lock",
            "whiteboards/.locks/top-layer.lock",
            "whiteboards/bottom-layer-agent-1.md",
            "whiteboards/bottom-layer-agent-2.md",
            "whiteboards/mid-layer-architect.md",
            "whiteboards/mid-layer-pm.md",
            "whiteboards/top-layer.md",
        ]
    );
}
