//! Board changes of one transaction, with the Markdown files that follow them.
//!
//! Each board is reconciled with its file once, on first use ([`BoardBatch::reconcile_file`]); an external
//! edit becomes a version of its own. New versions are added to the log at once, while the head changes in
//! memory only. Heads and files are written when the batch is closed: what needs disk space before the commit
//! ([`BoardBatch::close`]), the rest after it ([`PostCommitFiles::apply_to_files`]).

use std::collections::BTreeMap;

use polis_core::board::{
    BoardChange, BoardHead, BoardLeaseWrite, BoardName, BoardWrite, VersionAction,
};
use polis_core::event::{BoardFileEvent, EventPayload, EventSubject, NewEvent};
use polis_core::{AgentId, RecordKey, Timestamp};
use polis_ops::PortError;
use polis_ops::port::BoardFileChange;
use rusqlite::Connection;

use super::boards::{self, StoredBoard};
use super::mirror::{
    ExaminedFile, FileState, FileVersion, Mirror, PendingWrite, PostCommitAction, examine_file,
    now_nanos, prepare_write, version_mtime,
};
use crate::prepared_changeset::PreparedWrite;

/// The boards that a transaction touches.
#[derive(Debug)]
pub(super) struct BoardBatch<'a> {
    connection: &'a Connection,
    mirror: &'a Mirror,
    touched_boards: BTreeMap<BoardName, TouchedBoard>,
    /// The board whose file the caller has locked against other programs.
    guarded_board: Option<&'a BoardName>,
}

#[derive(Debug)]
struct TouchedBoard {
    pending: PendingWrite,
    /// The detected external change of its file, if any.
    file_change: Option<BoardFileChange>,
    /// Whether the head row has to be written.
    head_changed: bool,
}

/// An event about a board's file, to be logged with the transaction.
pub(super) struct PendingFileEvent {
    pub(super) event: NewEvent,
    pub(super) at: Timestamp,
}

impl<'a> BoardBatch<'a> {
    pub(super) fn new(connection: &'a Connection, mirror: &'a Mirror) -> Self {
        Self {
            connection,
            mirror,
            touched_boards: BTreeMap::new(),
            guarded_board: None,
        }
    }

    /// Marks a board whose file the caller has already locked against other programs.
    pub(super) fn with_guarded_board(mut self, name: Option<&'a BoardName>) -> Self {
        self.guarded_board = name;
        self
    }

    /// Reconciles a board with its file before its first use in this transaction: an external edit becomes a
    /// new version, and a missing or outdated file is marked to be rewritten. Returns the event to be logged
    /// if another program has edited or deleted the file.
    pub(super) fn reconcile_file(
        &mut self,
        name: &BoardName,
    ) -> Result<Option<PendingFileEvent>, PortError> {
        if self.touched_boards.contains_key(name) {
            return Ok(None);
        }
        let found = boards::select_head(self.connection, name)?;
        let ExaminedFile {
            state,
            fingerprint,
            location,
        } = examine_file(self.mirror, self.connection, name, found.as_ref())?;
        let board = found.unwrap_or_else(|| StoredBoard {
            head: BoardHead::new(name.clone()),
            oldest_version: 0,
            mtime_nanos: 0,
        });
        let version = board.head.version;
        let mut touched = TouchedBoard {
            pending: PendingWrite {
                board,
                file_version: FileVersion::Known(version),
                fingerprint,
                location,
                changes: Vec::new(),
                overwritten: Vec::new(),
                max_versions: self.mirror.max_versions(),
                is_guarded: self.guarded_board == Some(name),
            },
            file_change: None,
            head_changed: false,
        };
        let mut file_event = None;
        match state {
            FileState::InSync => {}
            FileState::WrongMtime | FileState::Outdated => {
                touched.pending.file_version = FileVersion::Unknown;
            }
            FileState::Deleted => {
                touched.pending.file_version = FileVersion::Unknown;
                touched.file_change = Some(BoardFileChange::FileRestored);
                file_event = Some(PendingFileEvent {
                    event: build_file_event(
                        EventPayload::BoardFileRestored,
                        &touched.pending.board.head,
                    ),
                    at: Timestamp::from_millis(now_nanos().div_euclid(1_000_000)),
                });
            }
            FileState::Edited { text, mtime_nanos } => {
                file_event = Some(self.import_external_edit(&mut touched, text, mtime_nanos)?);
            }
        }
        self.touched_boards.insert(name.clone(), touched);
        Ok(file_event)
    }

    /// Imports an external edit as a version of its own.
    fn import_external_edit(
        &self,
        touched: &mut TouchedBoard,
        text: String,
        stamp: i64,
    ) -> Result<PendingFileEvent, PortError> {
        let pending = &mut touched.pending;
        let version = pending.board.head.version;
        if let Some(text) =
            boards::select_version_text(self.connection, &pending.board.head.name, version)?
        {
            let name = &pending.board.head.name;
            self.mirror
                .back_up_before_external_edit(name, version, &text, pending.max_versions);
        }
        self.mirror.clear_intent(&pending.board.head.name);
        // A file's mtime can be arbitrary; clamp it so that no change lies in the future.
        let at = Timestamp::from_millis(stamp.min(now_nanos()).div_euclid(1_000_000));
        let board = &mut pending.board;
        let logged = board
            .head
            .apply_change(BoardChange::Whole(text), AgentId::EXTERNAL, &at);
        board.mtime_nanos = stamp;
        boards::insert_version(self.connection, board, &logged, VersionAction::External)?;
        pending.file_version = FileVersion::Known(pending.board.head.version);
        touched.file_change = Some(BoardFileChange::ExternalEdit);
        touched.head_changed = true;
        Ok(PendingFileEvent {
            event: build_file_event(EventPayload::BoardEditedExternally, &pending.board.head),
            at,
        })
    }

    /// Returns a board that was reconciled before.
    fn reconciled_board(&mut self, name: &BoardName) -> Result<&mut TouchedBoard, PortError> {
        let missing =
            || PortError::internal("Changing a board", "it was not reconciled with its file");
        self.touched_boards.get_mut(name).ok_or_else(missing)
    }

    /// Returns the first conflict of a changeset's writes with the current boards. Each write is checked
    /// against the state that the writes before it produce.
    pub(super) fn find_conflict(
        &mut self,
        writes: &[PreparedWrite],
        actor: &AgentId,
    ) -> Result<Option<RecordKey>, PortError> {
        let of_boards = writes.iter().filter(|row| {
            matches!(
                row,
                PreparedWrite::ChangeBoard(_) | PreparedWrite::LeaseBoard(_)
            )
        });
        let has_several = of_boards.clone().nth(1).is_some();
        let mut simulated: BTreeMap<&BoardName, BoardHead> = BTreeMap::new();
        for row in of_boards {
            let name = match row {
                PreparedWrite::ChangeBoard(write) => &write.board,
                PreparedWrite::LeaseBoard(write) => &write.board,
                _ => continue,
            };
            let head = match simulated.get(name) {
                Some(head) => head,
                None => &self.reconciled_board(name)?.pending.board.head,
            };
            let admitted = match row {
                PreparedWrite::ChangeBoard(write) => head.admits_write(write, actor),
                PreparedWrite::LeaseBoard(write) => head.admits_lease(write),
                _ => true,
            };
            if !admitted {
                return Ok(Some(RecordKey::Board(name.clone())));
            }
            if has_several {
                let mut new_head = head.clone();
                match row {
                    PreparedWrite::ChangeBoard(write) => {
                        let at = new_head.modified_at.clone();
                        new_head.apply_change(write.change.clone(), actor.as_str(), &at);
                    }
                    PreparedWrite::LeaseBoard(write) => new_head.lease.clone_from(&write.lease),
                    _ => {}
                }
                simulated.insert(name, new_head);
            }
        }
        Ok(None)
    }

    /// Applies a change and returns the new version.
    pub(super) fn apply_change(
        &mut self,
        write: &BoardWrite,
        actor: &AgentId,
        at: &Timestamp,
    ) -> Result<u64, PortError> {
        let connection = self.connection;
        let touched = self.reconciled_board(&write.board)?;
        let pending = &mut touched.pending;
        let previous_version = pending.board.head.version;
        let logged = pending
            .board
            .head
            .apply_change(write.change.clone(), actor.as_str(), at);
        let version = pending.board.head.version;
        pending.board.mtime_nanos = version_mtime(at, version);
        if previous_version > 0 && !matches!(write.change, BoardChange::Add { .. }) {
            pending.overwritten.push(previous_version);
        }
        boards::insert_version(connection, &pending.board, &logged, write.action)?;
        pending.changes.push(logged);
        pending.max_versions = write.max_versions;
        touched.head_changed = true;
        Ok(version)
    }

    pub(super) fn apply_lease(&mut self, write: &BoardLeaseWrite) -> Result<(), PortError> {
        let touched = self.reconciled_board(&write.board)?;
        touched.pending.board.head.lease = write.lease.clone();
        touched.head_changed = true;
        Ok(())
    }

    /// Writes the heads and prepares the files before the commit.
    pub(super) fn close(self) -> Result<PostCommitFiles, PortError> {
        let mut all = Vec::with_capacity(self.touched_boards.len());
        for (_, mut touched) in self.touched_boards {
            let pending = &mut touched.pending;
            if touched.head_changed {
                boards::prune_log(self.connection, &mut pending.board, pending.max_versions)?;
                boards::upsert_head(self.connection, &pending.board)?;
            }
            let work = prepare_write(self.mirror, self.connection, pending)?;
            all.push((touched.pending, work, touched.file_change));
        }
        Ok(PostCommitFiles(all))
    }
}

/// File work to do after the commit.
#[derive(Debug)]
pub(super) struct PostCommitFiles(Vec<(PendingWrite, PostCommitAction, Option<BoardFileChange>)>);

impl PostCommitFiles {
    /// Brings the files to the committed versions. Returns the resulting heads, each with the detected
    /// external change of its file, if any.
    pub(super) fn apply_to_files(
        self,
        mirror: &Mirror,
    ) -> Vec<(BoardHead, Option<BoardFileChange>)> {
        let finish = |(pending, work, file_change): (PendingWrite, PostCommitAction, _)| {
            work.apply_to_file(mirror, &pending);
            (pending.board.head, file_change)
        };
        self.0.into_iter().map(finish).collect()
    }
}

fn build_file_event(payload: fn(BoardFileEvent) -> EventPayload, head: &BoardHead) -> NewEvent {
    let data = BoardFileEvent {
        version: head.version,
        bytes: head.bytes,
    };
    NewEvent::new(EventSubject::Board(head.name.clone()), payload(data))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use polis_core::RefusalCode;

    use super::super::connection::{self, OpenPurpose};
    use super::*;

    fn whole_text_change(text: &str) -> BoardChange {
        BoardChange::Whole(text.to_owned())
    }

    fn board_write(change: BoardChange) -> BoardWrite {
        BoardWrite {
            board: BoardName::Global,
            expect: None,
            change,
            action: VersionAction::Written,
            now: 0,
            max_bytes: 1_000,
            max_versions: 10,
        }
    }

    /// Writes a board and returns the detected external change of its file, if any. `meanwhile` runs between
    /// the commit and the write to the file.
    fn commit_change(
        connection: &Connection,
        mirror: &Mirror,
        change: BoardChange,
        meanwhile: impl FnOnce(),
    ) -> Option<BoardFileChange> {
        let mut batch = BoardBatch::new(connection, mirror);
        batch.reconcile_file(&BoardName::Global).unwrap();
        let at = Timestamp::from_millis(1_000);
        batch
            .apply_change(&board_write(change), &AgentId::user(), &at)
            .unwrap();
        let closed = batch.close().unwrap();
        meanwhile();
        closed.apply_to_files(mirror).pop().unwrap().1
    }

    /// Creates a store's directory with its connection and mirror.
    fn new_test_store() -> (tempfile::TempDir, Connection, Mirror) {
        let directory = tempfile::tempdir().unwrap();
        let timeout = Duration::from_secs(1);
        connection::create_database(directory.path(), timeout).unwrap();
        let connection =
            connection::open_and_migrate(directory.path(), timeout, OpenPurpose::Create).unwrap();
        let mirror = Mirror::new(directory.path(), false);
        (directory, connection, mirror)
    }

    #[test]
    fn external_edit_between_commit_and_file_write_is_kept() {
        let (directory, connection, mirror) = new_test_store();
        let file = directory.path().join("global-whiteboard.md");
        let edit = |text: &'static str| std::fs::write(&file, text).unwrap();
        let read = || std::fs::read_to_string(&file).unwrap();

        commit_change(&connection, &mirror, whole_text_change("one"), || {
            edit("made meanwhile");
        });
        assert_eq!(read(), "made meanwhile");
        let file_change = commit_change(&connection, &mirror, whole_text_change("three"), || {
            edit("edited meanwhile");
        });
        assert_eq!(file_change, Some(BoardFileChange::ExternalEdit));
        assert_eq!(read(), "edited meanwhile");
        commit_change(&connection, &mirror, whole_text_change("five"), || {});
        assert_eq!(read(), "five");
        let texts = [1, 2, 3, 4, 5].map(|version| {
            let text = boards::select_version_text(&connection, &BoardName::Global, version);
            text.unwrap().unwrap()
        });
        assert_eq!(
            texts,
            ["one", "made meanwhile", "three", "edited meanwhile", "five"]
        );
    }

    /// Two crashes in a row: the first after an addition was written but before the file got its mtime, the
    /// second after an overwrite was committed but before its file was put in place.
    #[test]
    fn file_of_older_version_without_mtime_is_not_external_edit() {
        let (directory, connection, mirror) = new_test_store();
        let file = directory.path().join("global-whiteboard.md");
        commit_change(&connection, &mirror, whole_text_change("one\n"), || {});
        let add = BoardChange::Add {
            text: "two\n".to_owned(),
            on_new_line: false,
        };
        commit_change(&connection, &mirror, add, || {});
        let unstamped = std::fs::File::options().write(true).open(&file).unwrap();
        let another_time = std::time::UNIX_EPOCH + Duration::from_secs(86_400);
        unstamped.set_modified(another_time).unwrap();
        let mut crashed = BoardBatch::new(&connection, &mirror);
        crashed.reconcile_file(&BoardName::Global).unwrap();
        let at = Timestamp::from_millis(2_000);
        crashed
            .apply_change(
                &board_write(whole_text_change("three")),
                &AgentId::user(),
                &at,
            )
            .unwrap();
        drop(crashed.close().unwrap());
        let file_change = commit_change(&connection, &mirror, whole_text_change("four"), || {});
        assert_eq!(file_change, None);
        let texts = [1, 2, 3, 4].map(|version| {
            let text = boards::select_version_text(&connection, &BoardName::Global, version);
            text.unwrap().unwrap()
        });
        assert_eq!(texts, ["one\n", "one\ntwo\n", "three", "four"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "four");
    }

    #[test]
    fn concurrent_append_and_external_edit_are_both_kept() {
        let in_place: fn(&Path) = |file| std::fs::write(file, "one\ntheirs\n").unwrap();
        let renamed: fn(&Path) = |file| {
            let beside = file.with_extension("new");
            std::fs::write(&beside, "one\ntheirs\n").unwrap();
            std::fs::rename(beside, file).unwrap();
        };
        for edit in [in_place, renamed] {
            assert_append_and_edit_are_kept(edit);
        }
    }

    fn assert_append_and_edit_are_kept(edit: fn(&Path)) {
        let (directory, connection, mirror) = new_test_store();
        let file = directory.path().join("global-whiteboard.md");
        commit_change(&connection, &mirror, whole_text_change("one\n"), || {});
        let add = || BoardChange::Add {
            text: "ours\n".to_owned(),
            on_new_line: false,
        };
        commit_change(&connection, &mirror, add(), || edit(&file));
        let file_change = commit_change(&connection, &mirror, add(), || {});
        assert_eq!(file_change, Some(BoardFileChange::ExternalEdit));
        let merged = "one\ntheirs\nours\nours\n";
        assert_eq!(std::fs::read_to_string(&file).unwrap(), merged);
        let text = boards::select_version_text(&connection, &BoardName::Global, 4).unwrap();
        assert_eq!(text.as_deref(), Some(merged));
    }

    /// Simulates another program that locks the file it has created, reads it and rewrites it.
    #[test]
    fn file_that_another_program_creates_and_locks_is_not_written() {
        use std::io::Write as _;
        let (directory, connection, mirror) = new_test_store();
        let name = BoardName::Blackboard("notes.md".parse().unwrap());
        let file = directory.path().join("blackboard/notes.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let blackboard_write = |change| BoardWrite {
            board: name.clone(),
            ..board_write(change)
        };
        let add = blackboard_write(BoardChange::Add {
            text: "ours\n".to_owned(),
            on_new_line: false,
        });
        let begin = blackboard_write(whole_text_change("ours\n"));
        let at = Timestamp::from_millis(1_000);
        let create = || {
            let other_file = std::fs::File::create(&file).unwrap();
            other_file.lock().unwrap();
            other_file
        };
        // Created before the board is reconciled, and after.
        for is_there in [true, false] {
            let mut batch = BoardBatch::new(&connection, &mirror);
            let before = is_there.then(create);
            connection.execute_batch("BEGIN").unwrap();
            batch.reconcile_file(&name).unwrap();
            let change = if is_there { &add } else { &begin };
            batch.apply_change(change, &AgentId::user(), &at).unwrap();
            let mut other_file = before.unwrap_or_else(create);
            assert_eq!(batch.close().unwrap_err().code, RefusalCode::BOARD_LOCKED);
            connection.execute_batch("ROLLBACK").unwrap();
            other_file.write_all(b"theirs\n").unwrap();
            drop(other_file);
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(text, "theirs\n", "{is_there}");
            std::fs::remove_file(&file).unwrap();
        }
        // Created and written in between, and already unlocked.
        let mut batch = BoardBatch::new(&connection, &mirror);
        connection.execute_batch("BEGIN").unwrap();
        batch.reconcile_file(&name).unwrap();
        batch.apply_change(&begin, &AgentId::user(), &at).unwrap();
        std::fs::write(&file, "theirs\n").unwrap();
        assert_eq!(batch.close().unwrap_err().code, RefusalCode::BOARD_LOCKED);
        connection.execute_batch("ROLLBACK").unwrap();
        // The retry has both texts.
        let mut batch = BoardBatch::new(&connection, &mirror);
        batch.reconcile_file(&name).unwrap();
        batch.apply_change(&add, &AgentId::user(), &at).unwrap();
        batch.close().unwrap().apply_to_files(&mirror);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "theirs\nours\n");
    }
}
