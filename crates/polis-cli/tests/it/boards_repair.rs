//! Tests of repair after a crash between commit and file write, simulated by hand: the file is repaired, and never
//! taken for an edit.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::board::Board;
use crate::boards_team::{content, version};

const FILE: &str = "global-whiteboard.md";
const LOCK: &str = "whiteboards/.locks/global-whiteboard.lock";

/// Content and mtime of a file.
struct Snapshot {
    file: PathBuf,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl Snapshot {
    fn of(board: &Board) -> Self {
        let file = board.workspace(FILE);
        Self {
            bytes: fs::read(&file).unwrap(),
            modified: fs::metadata(&file).unwrap().modified().unwrap(),
            file,
        }
    }

    /// Restores the file, as after a crash before this version was renamed into place.
    fn put_back(&self, board: &Board, version: u64) {
        mark(board, "placing", version);
        fs::write(&self.file, &self.bytes).unwrap();
        let file = fs::File::options().write(true).open(&self.file).unwrap();
        file.set_modified(self.modified).unwrap();
    }
}

/// Writes the marker of a process that died while writing a version.
fn mark(board: &Board, word: &str, version: u64) {
    let lock = board.workspace(LOCK);
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(lock, format!("{word} {version:020}\n")).unwrap();
}

/// Asserts that the file matches the store again, and that no event was logged.
fn repaired(board: &Board, text: &str, versions: u64) {
    let before = board.log().len();
    let view = board.view("global");
    assert_eq!((content(&view), version(&view)), (text, versions));
    assert_eq!(view.get("notice"), None);
    assert_eq!(board.bytes(FILE), text.as_bytes());
    assert_eq!(board.log().len(), before);
    assert!(!board.told("global").contains(&"board.external".to_owned()));
}

fn append(board: &Board, text: &str) {
    board.ok("user", &["board", "append", "global", "--content", text]);
}

#[test]
fn an_older_file_with_its_own_time_is_brought_forward() {
    let board = Board::embedded();
    board.put("global", "one\n");
    let first = Snapshot::of(&board);
    board.put("global", "two two\n");
    let second = Snapshot::of(&board);
    append(&board, "three");
    let text = board.text("global");
    for old in [&first, &second] {
        old.put_back(&board, 3);
        repaired(&board, &text, 3);
    }
    // Writes detect it in the same way.
    first.put_back(&board, 3);
    board.put("global", "four\n");
    assert_eq!(board.bytes(FILE), b"four\n");
    second.put_back(&board, 4);
    board.ok("user", &["board", "restore", "global", "3"]);
    assert_eq!(board.text("global"), text);
    assert_eq!(board.bytes(FILE), text.as_bytes());
    second.put_back(&board, 5);
    append(&board, "more");
    let text = board.text("global");
    assert!(text.contains("three") && text.ends_with("more"));
    assert_eq!(board.bytes(FILE), text.as_bytes());
}

#[test]
fn a_half_appended_file_is_finished() {
    let board = Board::embedded();
    board.put("global", "one\n");
    append(&board, "the entry that was being written");
    let text = board.text("global");
    for length in 4..text.len() {
        mark(&board, "writing", 2);
        fs::write(board.workspace(FILE), &text[..length]).unwrap();
        repaired(&board, &text, 2);
    }
}

#[test]
fn a_whole_file_that_was_still_marked_is_left_alone() {
    let board = Board::embedded();
    board.put("global", "one\n");
    append(&board, "two");
    let text = board.text("global");
    mark(&board, "writing", 2);
    fs::write(board.workspace(FILE), &text).unwrap();
    repaired(&board, &text, 2);
}

/// Without a crash marker, the same bytes are a deliberate edit.
#[test]
fn lines_deleted_in_an_editor_stay_deleted() {
    let board = Board::embedded();
    board.put("global", "one\n");
    append(&board, "to be deleted");
    fs::write(board.workspace(FILE), "one\n").unwrap();
    let view = board.view("global");
    assert_eq!((content(&view), version(&view)), ("one\n", 3));
    assert_eq!(view["lastModifiedBy"], "external");
    append(&board, "again");
    let text = board.text("global");
    let half = &text[..text.len() - 3];
    fs::write(board.workspace(FILE), half).unwrap();
    assert_eq!(board.text("global"), half);
}

/// A repaired crash is over: later changes are edits again.
#[test]
fn lines_deleted_after_a_repair_stay_deleted() {
    let board = Board::embedded();
    board.put("global", "one\n");
    append(&board, "two");
    let text = board.text("global");
    mark(&board, "writing", 2);
    fs::write(board.workspace(FILE), &text[..text.len() - 2]).unwrap();
    repaired(&board, &text, 2);
    fs::write(board.workspace(FILE), "one\n").unwrap();
    let view = board.view("global");
    assert_eq!((content(&view), version(&view)), ("one\n", 3));
    assert_eq!(view["lastModifiedBy"], "external");
}

/// A temporary file left by a crash before the rename is not shown.
#[test]
fn what_a_crash_left_among_the_locks_is_not_shown() {
    let board = Board::embedded();
    board.put("global", "one\n");
    board.put("top", "top\n");
    fs::write(
        board.workspace("whiteboards/.locks/global-whiteboard.new"),
        "half a te",
    )
    .unwrap();
    fs::write(
        board.workspace("whiteboards/.locks/top-layer.new"),
        "half a te",
    )
    .unwrap();
    repaired(&board, "one\n", 1);
    board.put("global", "two\n");
    assert_eq!(board.bytes(FILE), b"two\n");
    board.ok("user", &["board", "append", "top", "--content", "x"]);
    let list = board.ok("user", &["board", "list"]);
    assert_eq!(list["boards"].as_array().unwrap().len(), 2);
}

/// An edit made after a crash left a half-written file is not discarded.
#[test]
fn an_edit_beside_the_mark_of_a_crash_is_an_edit() {
    let board = Board::embedded();
    board.put("global", "one\n");
    append(&board, "two");
    mark(&board, "writing", 2);
    fs::write(board.workspace(FILE), "something else\n").unwrap();
    let view = board.view("global");
    assert_eq!((content(&view), version(&view)), ("something else\n", 3));
    assert_eq!(view["lastModifiedBy"], "external");
    // After that the crash counts as repaired.
    fs::write(board.workspace(FILE), "something\n").unwrap();
    assert_eq!(board.text("global"), "something\n");
}
