//! Board changes of one transaction.
//!
//! Each board is reconciled with its file once, on first use ([`BoardBatch::meet`]), then changed in memory.
//! Heads and files are written when the batch is closed: what needs disk space before the commit, the rest
//! after it ([`Closed::finish`]).

use std::collections::BTreeMap;

use polis_core::board::{Action, BoardHead, BoardName, BoardWrite, Change, LeaseWrite};
use polis_core::event::{NewEvent, Subject, kind};
use polis_core::{AgentId, RecordKey, Timestamp};
use polis_ops::PortError;
use polis_ops::port::Noticed;
use rusqlite::Connection;

use super::boards::{self, Kept};
use super::mirror::{Disk, Examined, Finding, Mirror, Pending, Work, examine, now, prepare, stamp};
use crate::prepared::Row;

/// The boards that a transaction touches.
#[derive(Debug)]
pub(super) struct BoardBatch<'a> {
    connection: &'a Connection,
    mirror: &'a Mirror,
    touched: BTreeMap<BoardName, Touched>,
    /// The board whose file the caller has locked against other programs.
    guarded: Option<&'a BoardName>,
}

#[derive(Debug)]
struct Touched {
    pending: Pending,
    noticed: Option<Noticed>,
    /// Whether the head row has to be written.
    changed: bool,
}

/// An event about a board's file, to be logged with the transaction.
pub(super) struct News {
    pub(super) event: NewEvent,
    pub(super) at: Timestamp,
}

impl<'a> BoardBatch<'a> {
    pub(super) fn new(connection: &'a Connection, mirror: &'a Mirror) -> Self {
        Self {
            connection,
            mirror,
            touched: BTreeMap::new(),
            guarded: None,
        }
    }

    /// Marks a board whose file the caller has already locked against other programs.
    pub(super) fn with_guarded(mut self, name: Option<&'a BoardName>) -> Self {
        self.guarded = name;
        self
    }

    /// Reconciles a board with its file before its first use in this transaction: an external edit becomes a
    /// new version, and a missing or outdated file is marked to be rewritten.
    pub(super) fn meet(&mut self, name: &BoardName) -> Result<Option<News>, PortError> {
        if self.touched.contains_key(name) {
            return Ok(None);
        }
        let found = boards::head(self.connection, name)?;
        let Examined {
            finding,
            seen,
            place,
        } = examine(self.mirror, self.connection, name, found.as_ref())?;
        let kept = found.unwrap_or_else(|| Kept {
            head: BoardHead::new(name.clone()),
            floor: 0,
            stamp: 0,
        });
        let version = kept.head.version;
        let mut touched = Touched {
            pending: Pending {
                kept,
                disk: Disk::At(version),
                seen,
                place,
                changes: Vec::new(),
                overwritten: Vec::new(),
                keep: self.mirror.keep(),
                is_guarded: self.guarded == Some(name),
            },
            noticed: None,
            changed: false,
        };
        let mut news = None;
        match finding {
            Finding::InStep => {}
            Finding::Untimely | Finding::Behind => touched.pending.disk = Disk::Unknown,
            Finding::Gone => {
                touched.pending.disk = Disk::Unknown;
                touched.noticed = Some(Noticed::FileRestored);
                news = Some(News {
                    event: event(kind::BOARD_FILE_RESTORED, &touched.pending.kept.head),
                    at: Timestamp::from_millis(now().div_euclid(1_000_000)),
                });
            }
            Finding::Edited { text, stamp } => {
                news = Some(self.take_over(&mut touched, text, stamp)?);
            }
        }
        self.touched.insert(name.clone(), touched);
        Ok(news)
    }

    /// Imports an external edit as a version of its own.
    fn take_over(
        &self,
        touched: &mut Touched,
        text: String,
        stamp: i64,
    ) -> Result<News, PortError> {
        let pending = &mut touched.pending;
        let version = pending.kept.head.version;
        if let Some(text) = boards::text(self.connection, &pending.kept.head.name, version)? {
            let name = &pending.kept.head.name;
            self.mirror.keep_before(name, version, &text, pending.keep);
        }
        self.mirror.end_writing(&pending.kept.head.name);
        // A file's mtime can be arbitrary; clamp it so that no change lies in the future.
        let at = Timestamp::from_millis(stamp.min(now()).div_euclid(1_000_000));
        let kept = &mut pending.kept;
        let logged = kept
            .head
            .change(Change::Whole(text), AgentId::EXTERNAL, &at);
        kept.stamp = stamp;
        boards::insert_version(self.connection, kept, &logged, Action::External)?;
        pending.disk = Disk::At(pending.kept.head.version);
        touched.noticed = Some(Noticed::ChangedOutside);
        touched.changed = true;
        Ok(News {
            event: event(kind::BOARD_EXTERNAL, &pending.kept.head),
            at,
        })
    }

    /// Returns a board that was reconciled before.
    fn get(&mut self, name: &BoardName) -> Result<&mut Touched, PortError> {
        let missing = || PortError::internal("Changing a board", "it was not looked at");
        self.touched.get_mut(name).ok_or_else(missing)
    }

    /// Returns the first conflict of a changeset's writes with the current boards. Each write is checked
    /// against the state that the writes before it produce.
    pub(super) fn conflict(
        &mut self,
        writes: &[Row],
        actor: &AgentId,
    ) -> Result<Option<RecordKey>, PortError> {
        let of_boards = writes
            .iter()
            .filter(|row| matches!(row, Row::Board(_) | Row::Lease(_)));
        let several = of_boards.clone().nth(1).is_some();
        let mut trial: BTreeMap<&BoardName, BoardHead> = BTreeMap::new();
        for row in of_boards {
            let name = match row {
                Row::Board(write) => &write.board,
                Row::Lease(write) => &write.board,
                _ => continue,
            };
            let head = match trial.get(name) {
                Some(head) => head,
                None => &self.get(name)?.pending.kept.head,
            };
            let admitted = match row {
                Row::Board(write) => head.admits(write, actor),
                Row::Lease(write) => head.admits_lease(write),
                _ => true,
            };
            if !admitted {
                return Ok(Some(RecordKey::Board(name.clone())));
            }
            if several {
                let mut after = head.clone();
                match row {
                    Row::Board(write) => {
                        let at = after.at.clone();
                        after.change(write.change.clone(), actor.as_str(), &at);
                    }
                    Row::Lease(write) => after.lease.clone_from(&write.lease),
                    _ => {}
                }
                trial.insert(name, after);
            }
        }
        Ok(None)
    }

    /// Applies a change and returns the new version.
    pub(super) fn change(
        &mut self,
        write: &BoardWrite,
        actor: &AgentId,
        at: &Timestamp,
    ) -> Result<u64, PortError> {
        let connection = self.connection;
        let touched = self.get(&write.board)?;
        let pending = &mut touched.pending;
        let before = pending.kept.head.version;
        let logged = pending
            .kept
            .head
            .change(write.change.clone(), actor.as_str(), at);
        let version = pending.kept.head.version;
        pending.kept.stamp = stamp(at, version);
        if before > 0 && !matches!(write.change, Change::Add { .. }) {
            pending.overwritten.push(before);
        }
        boards::insert_version(connection, &pending.kept, &logged, write.action)?;
        pending.changes.push(logged);
        pending.keep = write.keep;
        touched.changed = true;
        Ok(version)
    }

    pub(super) fn lease(&mut self, write: &LeaseWrite) -> Result<(), PortError> {
        let touched = self.get(&write.board)?;
        touched.pending.kept.head.lease = write.lease.clone();
        touched.changed = true;
        Ok(())
    }

    /// Writes the heads and prepares the files before the commit.
    pub(super) fn close(self) -> Result<Closed, PortError> {
        let mut all = Vec::with_capacity(self.touched.len());
        for (_, mut touched) in self.touched {
            let pending = &mut touched.pending;
            if touched.changed {
                boards::prune(self.connection, &mut pending.kept, pending.keep)?;
                boards::put_head(self.connection, &pending.kept)?;
            }
            let work = prepare(self.mirror, self.connection, pending)?;
            all.push((touched.pending, work, touched.noticed));
        }
        Ok(Closed(all))
    }
}

/// File work to do after the commit.
#[derive(Debug)]
pub(super) struct Closed(Vec<(Pending, Work, Option<Noticed>)>);

impl Closed {
    /// Brings the files to the committed versions. Returns the resulting heads, and what was noticed about
    /// their files.
    pub(super) fn finish(self, mirror: &Mirror) -> Vec<(BoardHead, Option<Noticed>)> {
        let finish = |(pending, work, noticed): (Pending, Work, _)| {
            work.finish(mirror, &pending);
            (pending.kept.head, noticed)
        };
        self.0.into_iter().map(finish).collect()
    }
}

fn event(kind: &'static str, head: &BoardHead) -> NewEvent {
    #[derive(serde::Serialize)]
    struct Data {
        version: u64,
        bytes: u64,
    }
    let data = Data {
        version: head.version,
        bytes: head.bytes,
    };
    NewEvent::of(kind, Subject::Board(head.name.clone()), &data)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use polis_core::Code;

    use super::super::connection::{self, Purpose};
    use super::*;

    fn whole(text: &str) -> Change {
        Change::Whole(text.to_owned())
    }

    fn write(change: Change) -> BoardWrite {
        BoardWrite {
            board: BoardName::Global,
            expect: None,
            change,
            action: Action::Written,
            now: 0,
            limit: 1_000,
            keep: 10,
        }
    }

    /// Writes a board and returns what was noticed about its file. `meanwhile` runs between the commit and
    /// the write to the file.
    fn commit(
        connection: &Connection,
        mirror: &Mirror,
        change: Change,
        meanwhile: impl FnOnce(),
    ) -> Option<Noticed> {
        let mut batch = BoardBatch::new(connection, mirror);
        batch.meet(&BoardName::Global).unwrap();
        let at = Timestamp::from_millis(1_000);
        batch.change(&write(change), &AgentId::user(), &at).unwrap();
        let closed = batch.close().unwrap();
        meanwhile();
        closed.finish(mirror).pop().unwrap().1
    }

    /// Creates a store's directory with its connection and mirror.
    fn begun() -> (tempfile::TempDir, Connection, Mirror) {
        let directory = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(1);
        connection::create(directory.path(), patience).unwrap();
        let connection =
            connection::open_current(directory.path(), patience, Purpose::Create).unwrap();
        let mirror = Mirror::new(directory.path(), false);
        (directory, connection, mirror)
    }

    #[test]
    fn an_edit_between_commit_and_file_is_not_thrown_away() {
        let (directory, connection, mirror) = begun();
        let file = directory.path().join("global-whiteboard.md");
        let edit = |text: &'static str| std::fs::write(&file, text).unwrap();
        let read = || std::fs::read_to_string(&file).unwrap();

        commit(&connection, &mirror, whole("one"), || {
            edit("made meanwhile");
        });
        assert_eq!(read(), "made meanwhile");
        let noticed = commit(&connection, &mirror, whole("three"), || {
            edit("edited meanwhile");
        });
        assert_eq!(noticed, Some(Noticed::ChangedOutside));
        assert_eq!(read(), "edited meanwhile");
        commit(&connection, &mirror, whole("five"), || {});
        assert_eq!(read(), "five");
        let texts = [1, 2, 3, 4, 5].map(|version| {
            let text = boards::text(&connection, &BoardName::Global, version);
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
    fn file_of_an_older_version_without_its_stamp_is_no_external_edit() {
        let (directory, connection, mirror) = begun();
        let file = directory.path().join("global-whiteboard.md");
        commit(&connection, &mirror, whole("one\n"), || {});
        let add = Change::Add {
            text: "two\n".to_owned(),
            on_new_line: false,
        };
        commit(&connection, &mirror, add, || {});
        let unstamped = std::fs::File::options().write(true).open(&file).unwrap();
        let another_time = std::time::UNIX_EPOCH + Duration::from_secs(86_400);
        unstamped.set_modified(another_time).unwrap();
        let mut crashed = BoardBatch::new(&connection, &mirror);
        crashed.meet(&BoardName::Global).unwrap();
        let at = Timestamp::from_millis(2_000);
        crashed
            .change(&write(whole("three")), &AgentId::user(), &at)
            .unwrap();
        drop(crashed.close().unwrap());
        let noticed = commit(&connection, &mirror, whole("four"), || {});
        assert_eq!(noticed, None);
        let texts = [1, 2, 3, 4].map(|version| {
            let text = boards::text(&connection, &BoardName::Global, version);
            text.unwrap().unwrap()
        });
        assert_eq!(texts, ["one\n", "one\ntwo\n", "three", "four"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "four");
    }

    #[test]
    fn an_addition_and_an_edit_at_the_same_moment_both_stay() {
        let in_place: fn(&Path) = |file| std::fs::write(file, "one\ntheirs\n").unwrap();
        let renamed: fn(&Path) = |file| {
            let beside = file.with_extension("new");
            std::fs::write(&beside, "one\ntheirs\n").unwrap();
            std::fs::rename(beside, file).unwrap();
        };
        for edit in [in_place, renamed] {
            both_stay(edit);
        }
    }

    fn both_stay(edit: fn(&Path)) {
        let (directory, connection, mirror) = begun();
        let file = directory.path().join("global-whiteboard.md");
        commit(&connection, &mirror, whole("one\n"), || {});
        let add = || Change::Add {
            text: "ours\n".to_owned(),
            on_new_line: false,
        };
        commit(&connection, &mirror, add(), || edit(&file));
        let noticed = commit(&connection, &mirror, add(), || {});
        assert_eq!(noticed, Some(Noticed::ChangedOutside));
        let both = "one\ntheirs\nours\nours\n";
        assert_eq!(std::fs::read_to_string(&file).unwrap(), both);
        let text = boards::text(&connection, &BoardName::Global, 4).unwrap();
        assert_eq!(text.as_deref(), Some(both));
    }

    /// Simulates another program that locks the file it has created, reads it and rewrites it.
    #[test]
    fn file_that_another_program_creates_and_locks_is_not_written() {
        use std::io::Write as _;
        let (directory, connection, mirror) = begun();
        let name = BoardName::Blackboard("notes.md".parse().unwrap());
        let file = directory.path().join("blackboard/notes.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let of = |change| BoardWrite {
            board: name.clone(),
            ..write(change)
        };
        let add = of(Change::Add {
            text: "ours\n".to_owned(),
            on_new_line: false,
        });
        let begin = of(whole("ours\n"));
        let at = Timestamp::from_millis(1_000);
        let create = || {
            let theirs = std::fs::File::create(&file).unwrap();
            theirs.lock().unwrap();
            theirs
        };
        // Created before the board is reconciled, and after.
        for is_there in [true, false] {
            let mut batch = BoardBatch::new(&connection, &mirror);
            let before = is_there.then(create);
            connection.execute_batch("BEGIN").unwrap();
            batch.meet(&name).unwrap();
            let change = if is_there { &add } else { &begin };
            batch.change(change, &AgentId::user(), &at).unwrap();
            let mut theirs = before.unwrap_or_else(create);
            assert_eq!(batch.close().unwrap_err().code, Code::BoardLocked);
            connection.execute_batch("ROLLBACK").unwrap();
            theirs.write_all(b"theirs\n").unwrap();
            drop(theirs);
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(text, "theirs\n", "{is_there}");
            std::fs::remove_file(&file).unwrap();
        }
        // Created and written in between, and already unlocked.
        let mut batch = BoardBatch::new(&connection, &mirror);
        connection.execute_batch("BEGIN").unwrap();
        batch.meet(&name).unwrap();
        batch.change(&begin, &AgentId::user(), &at).unwrap();
        std::fs::write(&file, "theirs\n").unwrap();
        assert_eq!(batch.close().unwrap_err().code, Code::BoardLocked);
        connection.execute_batch("ROLLBACK").unwrap();
        // The retry has both texts.
        let mut batch = BoardBatch::new(&connection, &mirror);
        batch.meet(&name).unwrap();
        batch.change(&add, &AgentId::user(), &at).unwrap();
        batch.close().unwrap().finish(&mirror);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "theirs\nours\n");
    }
}
