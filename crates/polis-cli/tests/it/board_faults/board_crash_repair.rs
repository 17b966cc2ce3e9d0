//! Tests of crash repair of mirror files: a crash between commit and file write is simulated. The file is
//! repaired and never taken for an external edit.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::board::board_helpers::{content_field, version_field};
use crate::harness::test_project::TestProject;

const BOARD_FILE: &str = "global-whiteboard.md";
const BOARD_LOCK_FILE: &str = "whiteboards/.locks/global-whiteboard.lock";

/// Content and mtime of a file.
struct FileSnapshot {
    file: PathBuf,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl FileSnapshot {
    fn from_board_file(board: &TestProject) -> Self {
        let file = board.data_path(BOARD_FILE);
        Self {
            bytes: fs::read(&file).unwrap(),
            modified: fs::metadata(&file).unwrap().modified().unwrap(),
            file,
        }
    }

    /// Restores the file, as after a crash before this version was renamed into place.
    fn restore_stale_file(&self, board: &TestProject, version: u64) {
        write_crash_marker(board, "placing", version);
        fs::write(&self.file, &self.bytes).unwrap();
        let file = fs::File::options().write(true).open(&self.file).unwrap();
        file.set_modified(self.modified).unwrap();
    }
}

/// Writes the marker of a process that died while writing a version.
fn write_crash_marker(project: &TestProject, word: &str, version: u64) {
    let lock = project.data_path(BOARD_LOCK_FILE);
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(lock, format!("{word} {version:020}\n")).unwrap();
}

/// Asserts that the file matches the store again, and that no event was logged.
fn assert_repaired(project: &TestProject, text: &str, versions: u64) {
    let before = project.read_log().len();
    let view = project.read_board("global");
    assert_eq!(
        (content_field(&view), version_field(&view)),
        (text, versions)
    );
    assert_eq!(view.get("notice"), None);
    assert_eq!(project.data_file_bytes(BOARD_FILE), text.as_bytes());
    assert_eq!(project.read_log().len(), before);
    assert!(
        !project
            .board_event_kinds("global")
            .contains(&"board.external".to_owned())
    );
}

fn append_to_global(project: &TestProject, text: &str) {
    project.run_ok("user", &["board", "append", "global", "--content", text]);
}

#[test]
fn stale_file_after_crash_is_updated() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    let first = FileSnapshot::from_board_file(&project);
    project.write_board("global", "two two\n");
    let second = FileSnapshot::from_board_file(&project);
    append_to_global(&project, "three");
    let text = project.board_text("global");
    for old in [&first, &second] {
        old.restore_stale_file(&project, 3);
        assert_repaired(&project, &text, 3);
    }
    // Writes detect it in the same way.
    first.restore_stale_file(&project, 3);
    project.write_board("global", "four\n");
    assert_eq!(project.data_file_bytes(BOARD_FILE), b"four\n");
    second.restore_stale_file(&project, 4);
    project.run_ok("user", &["board", "restore", "global", "3"]);
    assert_eq!(project.board_text("global"), text);
    assert_eq!(project.data_file_bytes(BOARD_FILE), text.as_bytes());
    second.restore_stale_file(&project, 5);
    append_to_global(&project, "more");
    let text = project.board_text("global");
    assert!(text.contains("three") && text.ends_with("more"));
    assert_eq!(project.data_file_bytes(BOARD_FILE), text.as_bytes());
}

#[test]
fn partially_appended_file_is_completed() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    append_to_global(&project, "the entry that was being written");
    let text = project.board_text("global");
    for length in 4..text.len() {
        write_crash_marker(&project, "writing", 2);
        fs::write(project.data_path(BOARD_FILE), &text[..length]).unwrap();
        assert_repaired(&project, &text, 2);
    }
}

#[test]
fn complete_file_with_crash_marker_is_unchanged() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    append_to_global(&project, "two");
    let text = project.board_text("global");
    write_crash_marker(&project, "writing", 2);
    fs::write(project.data_path(BOARD_FILE), &text).unwrap();
    assert_repaired(&project, &text, 2);
}

/// Without a crash marker, the same bytes are a deliberate edit.
#[test]
fn lines_deleted_in_an_editor_are_an_external_edit() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    append_to_global(&project, "to be deleted");
    fs::write(project.data_path(BOARD_FILE), "one\n").unwrap();
    let view = project.read_board("global");
    assert_eq!((content_field(&view), version_field(&view)), ("one\n", 3));
    assert_eq!(view["lastModifiedBy"], "external");
    append_to_global(&project, "again");
    let text = project.board_text("global");
    let half = &text[..text.len() - 3];
    fs::write(project.data_path(BOARD_FILE), half).unwrap();
    assert_eq!(project.board_text("global"), half);
}

/// A repaired crash is over: later changes are edits again.
#[test]
fn lines_deleted_after_a_repair_are_an_external_edit() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    append_to_global(&project, "two");
    let text = project.board_text("global");
    write_crash_marker(&project, "writing", 2);
    fs::write(project.data_path(BOARD_FILE), &text[..text.len() - 2]).unwrap();
    assert_repaired(&project, &text, 2);
    fs::write(project.data_path(BOARD_FILE), "one\n").unwrap();
    let view = project.read_board("global");
    assert_eq!((content_field(&view), version_field(&view)), ("one\n", 3));
    assert_eq!(view["lastModifiedBy"], "external");
}

/// A temporary file left by a crash before the rename is not shown.
#[test]
fn temporary_files_of_a_crash_are_not_listed() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    project.write_board("top", "top\n");
    fs::write(
        project.data_path("whiteboards/.locks/global-whiteboard.new"),
        "half a te",
    )
    .unwrap();
    fs::write(
        project.data_path("whiteboards/.locks/top-layer.new"),
        "half a te",
    )
    .unwrap();
    assert_repaired(&project, "one\n", 1);
    project.write_board("global", "two\n");
    assert_eq!(project.data_file_bytes(BOARD_FILE), b"two\n");
    project.run_ok("user", &["board", "append", "top", "--content", "x"]);
    let list = project.run_ok("user", &["board", "list"]);
    assert_eq!(list["boards"].as_array().unwrap().len(), 2);
}

/// An edit made after a crash left a half-written file is not discarded.
#[test]
fn edit_of_file_with_crash_marker_is_an_external_edit() {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    append_to_global(&project, "two");
    write_crash_marker(&project, "writing", 2);
    fs::write(project.data_path(BOARD_FILE), "something else\n").unwrap();
    let view = project.read_board("global");
    assert_eq!(
        (content_field(&view), version_field(&view)),
        ("something else\n", 3)
    );
    assert_eq!(view["lastModifiedBy"], "external");
    // After that the crash counts as repaired.
    fs::write(project.data_path(BOARD_FILE), "something\n").unwrap();
    assert_eq!(project.board_text("global"), "something\n");
}
