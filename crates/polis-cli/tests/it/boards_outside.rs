//! Tests of boards edited by other tools: edits become versions, or are refused with nothing lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::board::{Answer, Board};
use crate::boards_history::copies;
use crate::boards_team::{configure, content, version};

const FILE: &str = "global-whiteboard.md";
const BEGUN: &str = "# G\n\none\ntwo\n";

fn begun() -> (Board, PathBuf) {
    let board = Board::embedded();
    board.put("global", BEGUN);
    let file = board.workspace(FILE);
    (board, file)
}

/// Runs a shell line in the data directory.
fn sh(board: &Board, line: &str) {
    let status = Command::new("sh")
        .args(["-ec", line])
        .current_dir(board.workspace(""))
        .status();
    assert!(status.unwrap().success(), "{line}");
}

/// Asserts that the board has the next version, by `external`, with the file's content.
fn picked_up(board: &Board, before: u64, text: &str) {
    let view = board.view("global");
    assert_eq!(view["content"], text);
    assert_eq!(view["lastModifiedBy"], "external");
    assert_eq!(version(&view), before + 1);
    assert_eq!(view["notice"], "changed-outside");
    assert_eq!(
        board.bytes(FILE),
        text.as_bytes(),
        "the file is left as it was edited"
    );
    let old = board.ok("user", &["board", "show", "global", &before.to_string()]);
    let copy = board.bytes(&format!(
        "whiteboard-history/global-whiteboard-v{before}.md"
    ));
    assert_eq!(copy, content(&old).as_bytes());
    let again = board.view("global");
    assert_eq!(again.get("notice"), None, "said once");
    assert_eq!(version(&again), before + 1);
    assert_eq!(board.told("global").last().unwrap(), "board.external");
}

#[test]
fn every_way_of_editing_is_picked_up() {
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
        let (board, _) = begun();
        sh(&board, line);
        picked_up(&board, 1, text);
    }
}

#[test]
fn a_write_on_top_of_an_edit_keeps_both() {
    let (board, _) = begun();
    sh(&board, "echo theirs >> global-whiteboard.md");
    let answer = board.ok("user", &["board", "append", "global", "--content", "ours"]);
    assert_eq!(version(&answer), 3);
    let text = board.text("global");
    assert!(
        text.starts_with("# G\n\none\ntwo\ntheirs\n") && text.ends_with("ours"),
        "{text}"
    );
    assert_eq!(board.bytes(FILE), text.as_bytes());
    sh(&board, "sed -i s/theirs/edited/ global-whiteboard.md");
    let refused = board.run(
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
    let error = refused.error(5, "version_conflict");
    assert_eq!(
        (&error["currentVersion"], &error["lastModifiedBy"]),
        (&4.into(), &"external".into())
    );
    assert!(
        error["diff"].as_str().unwrap().contains("-theirs\n+edited"),
        "{error}"
    );
    // Without `--expect` the last writer wins, and the edit is in the history.
    sh(&board, "sed -i s/edited/again/ global-whiteboard.md");
    assert_eq!(board.put("global", "over\n"), 6);
    let edit = board.ok("user", &["board", "show", "global", "5"]);
    assert!(content(&edit).contains("again"));
    assert_eq!(board.versions("global"), [6, 5, 4, 3, 2, 1]);
}

#[test]
fn every_command_sees_an_edit() {
    for args in [
        &["board", "history", "global"][..],
        &["board", "diff", "global", "1"],
        &["board", "read", "global", "--if-newer-than", "1"],
        &["board", "decisions", "global"],
        &["board", "list"],
    ] {
        let (board, _) = begun();
        sh(&board, "echo theirs >> global-whiteboard.md");
        board.ok("user", args);
        let list = board.ok("user", &["board", "list"]);
        assert_eq!(list["boards"][0]["version"], 2, "{args:?}");
        assert_eq!(list["boards"][0]["lastModifiedBy"], "external");
    }
}

#[test]
fn a_file_that_was_only_touched_is_no_version() {
    let (board, file) = begun();
    for line in [
        "touch global-whiteboard.md",
        "touch -d 2020-01-01 global-whiteboard.md",
        "cp global-whiteboard.md x && mv x global-whiteboard.md",
        "chmod 600 global-whiteboard.md",
        "sed -i s/one/one/ global-whiteboard.md",
    ] {
        sh(&board, line);
        let view = board.view("global");
        assert_eq!((version(&view), view.get("notice")), (1, None), "{line}");
        assert_eq!(fs::read(&file).unwrap(), BEGUN.as_bytes());
    }
    assert_eq!(board.told("global"), ["board.written"]);
    assert!(copies(&board).is_empty());
}

#[test]
fn a_board_begun_outside_is_a_board() {
    let board = Board::embedded();
    fs::create_dir_all(board.workspace("whiteboards")).unwrap();
    fs::write(
        board.workspace("whiteboards/mid-layer-architect.md"),
        "# mine\n",
    )
    .unwrap();
    let list = board.ok("user", &["board", "list"]);
    let found = list["boards"]
        .as_array()
        .unwrap()
        .iter()
        .find(|b| b["board"] == "mid/architect");
    assert!(found.is_some(), "{list}");
    let view = board.view("mid/architect");
    assert_eq!((version(&view), content(&view)), (1, "# mine\n"));
    assert_eq!(view["lastModifiedBy"], "external");
    board.ok(
        "user",
        &["board", "append", "mid/architect", "--content", "ours"],
    );
    assert!(
        board
            .text("mid/architect")
            .starts_with("# mine\n\n\n### Update - ")
    );
}

#[test]
fn a_file_deleted_by_hand_is_restored_and_said_so() {
    let (board, file) = begun();
    fs::remove_file(&file).unwrap();
    let view = board.view("global");
    assert_eq!((version(&view), content(&view)), (1, BEGUN));
    assert_eq!(view["notice"], "file-restored");
    assert_eq!(fs::read(&file).unwrap(), BEGUN.as_bytes());
    assert_eq!(
        board.told("global"),
        ["board.written", "board.file-restored"]
    );
    // In text mode a note is printed in addition to the text.
    fs::remove_file(&file).unwrap();
    let mut command = board.command();
    let answer = Answer::of(command.args(["board", "read", "global"]).output().unwrap());
    assert_eq!((answer.exit, answer.stdout.as_str()), (Some(0), BEGUN));
    assert!(
        answer.stderr.contains("was missing") && answer.stderr.contains("written again"),
        "{answer:?}"
    );
    // Its directory too, and with a write instead of a read.
    board.put("top", "top\n");
    fs::remove_dir_all(board.workspace("whiteboards")).unwrap();
    board.ok("user", &["board", "append", "top", "--content", "more"]);
    let text = board.text("top");
    assert!(text.starts_with("top\n") && text.ends_with("more"));
    assert_eq!(board.bytes("whiteboards/top-layer.md"), text.as_bytes());
    assert_eq!(
        board.told("top"),
        ["board.written", "board.file-restored", "board.appended"]
    );
}

#[test]
fn an_edit_is_said_to_a_person() {
    let (board, _) = begun();
    sh(&board, "echo x >> global-whiteboard.md");
    let mut command = board.command();
    let answer = Answer::of(command.args(["board", "read", "global"]).output().unwrap());
    assert!(
        answer.stderr.contains("changed outside") && answer.stderr.contains("external"),
        "{answer:?}"
    );
}

/// Asserts that a file that cannot be a board is refused with its code and that the store keeps its text; once the file
/// is removed, the board works again.
fn unfit(spoil: &str, exit: i32, code: &str) {
    let (board, _) = begun();
    board.put("top", "other\n");
    sh(&board, spoil);
    for args in [
        &["board", "read", "global"][..],
        &["board", "append", "global", "--content", "x"],
        &["board", "write", "global", "--content", "x"],
        &["board", "section", "set", "global", "S", "--content", "x"],
        &["board", "history", "global"],
    ] {
        let refused = board.refused("user", args, exit, code);
        assert!(refused.hint.contains("from the store"), "{refused:?}");
    }
    // Other boards are not affected, and earlier versions can still be read.
    assert_eq!(board.text("top"), "other\n");
    let shown = board.ok("user", &["board", "show", "global", "1"]);
    assert_eq!(content(&shown), BEGUN);
    sh(&board, "rm -rf global-whiteboard.md");
    let view = board.view("global");
    assert_eq!((version(&view), content(&view)), (1, BEGUN), "{spoil}");
    assert_eq!(board.bytes(FILE), BEGUN.as_bytes());
    board.ok(
        "user",
        &["board", "append", "global", "--content", "works again"],
    );
}

#[test]
fn invalid_utf8_is_refused() {
    unfit("printf '\\377\\376' >> global-whiteboard.md", 2, "not_utf8");
}

#[test]
fn nul_is_refused() {
    unfit("printf '\\000' >> global-whiteboard.md", 2, "not_utf8");
}

#[test]
fn more_than_ten_megabytes_are_refused() {
    unfit(
        "head -c 10485761 /dev/zero | tr '\\0' x > global-whiteboard.md",
        2,
        "board_too_large",
    );
    unfit("truncate -s 1T global-whiteboard.md", 2, "board_too_large");
}

#[test]
fn a_directory_in_the_files_place_is_refused() {
    unfit(
        "rm global-whiteboard.md && mkdir global-whiteboard.md",
        5,
        "not_a_file",
    );
}

#[test]
fn a_pipe_in_the_files_place_is_refused() {
    unfit(
        "rm global-whiteboard.md && mkfifo global-whiteboard.md",
        5,
        "not_a_file",
    );
}

#[test]
fn a_link_in_the_files_place_is_refused_and_not_followed() {
    unfit(
        "echo secret > ../elsewhere && rm global-whiteboard.md && ln -s ../elsewhere global-whiteboard.md",
        5,
        "not_a_file",
    );
    let (board, file) = begun();
    let elsewhere = board.file("elsewhere");
    fs::write(&elsewhere, "secret\n").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&elsewhere, &file).unwrap();
    let refused = board.run("user", &["board", "write", "global", "--content", "x"]);
    refused.refusal(5, "not_a_file");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"secret\n");
    // A directory that is a symlink is not followed either.
    board.put("top", "top\n");
    let outside = board.file("outside");
    fs::rename(board.workspace("whiteboards"), &outside).unwrap();
    symlink(&outside, board.workspace("whiteboards")).unwrap();
    board.refused(
        "user",
        &["board", "append", "top", "--content", "x"],
        5,
        "not_a_file",
    );
    assert_eq!(fs::read(outside.join("top-layer.md")).unwrap(), b"top\n");
}

#[test]
fn an_edit_keeps_as_many_versions_as_is_set() {
    let board = Board::embedded();
    configure(&board, "[whiteboards]\nmax_versions = 20\n");
    for n in 1..=15 {
        board.put("global", &format!("version {n}\n"));
    }
    sh(&board, "echo edited > global-whiteboard.md");
    assert_eq!(board.text("global"), "edited\n");
    assert_eq!(board.versions("global"), (1..=16).rev().collect::<Vec<_>>());
    configure(&board, "[whiteboards]\nmax_versions = 2\n");
    board.put("global", "version 17\n");
    assert_eq!(copies(&board).len(), 2);
    for n in 18..=20 {
        sh(&board, &format!("echo {n} > global-whiteboard.md"));
        board.text("global");
        assert_eq!(copies(&board).len(), 2);
        assert_eq!(board.versions("global"), [n, n - 1]);
    }
}

#[test]
fn files_are_where_the_document_has_them() {
    let board = Board::embedded();
    for name in [
        "global",
        "top",
        "mid/architect",
        "mid/pm",
        "bottom/agent-1",
        "bottom/agent-2",
    ] {
        board.put(name, "one\n");
        board.put(name, "two\n");
        board.ok("user", &["board", "append", name, "--content", "three"]);
    }
    let mut found = Vec::new();
    let mut left = vec![board.workspace("")];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path
                    .strip_prefix(board.workspace(""))
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
