//! Boards as files: how the embedded store handles external edits, deletions, failed writes and symlinks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use polis_core::board::{Action, BoardName, BoardWrite, Change, Lease, LeaseWrite, MAX_BYTES};
use polis_core::changeset::Write;
use polis_core::{AgentId, Caller, Changeset, Code, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{Boards as _, ChangesetSource, Ledger as _, Noticed, Outcome};
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use tempfile::TempDir;

/// The time of every change in these tests (milliseconds).
const NOW: i64 = 1_800_000_000_000;

/// A store and its directory.
struct Ground {
    directory: TempDir,
    store: EmbeddedStore,
    keep: u32,
}

fn named(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        Self {
            directory,
            store,
            keep: 10,
        }
    }

    /// Opens the store again, as another process would.
    fn other(&self) -> EmbeddedStore {
        open(self.directory.path()).keeping(self.keep)
    }

    fn file(&self, board: &str) -> PathBuf {
        self.directory.path().join(named(board).file())
    }

    fn content(&self, board: &str) -> String {
        fs::read_to_string(self.file(board)).unwrap()
    }

    async fn change(&self, board: &str, change: Change) -> Result<u64, PortError> {
        let write = BoardWrite {
            board: named(board),
            expect: None,
            change,
            action: Action::Written,
            now: NOW,
            limit: MAX_BYTES,
            keep: self.keep,
        };
        let changes = by_user().write(Write::ChangeBoard(Box::new(write)));
        match self.store.commit(changes).await? {
            Outcome::Committed(receipt) => Ok(receipt.board.unwrap()),
            Outcome::Conflict(key) => panic!("{key:?}"),
        }
    }

    async fn write(&self, board: &str, text: &str) -> u64 {
        self.change(board, Change::Whole(text.to_owned()))
            .await
            .unwrap()
    }

    async fn add(&self, board: &str, text: &str) -> u64 {
        let text = text.to_owned();
        let on_new_line = false;
        self.change(board, Change::Add { text, on_new_line })
            .await
            .unwrap()
    }

    /// What a process that reads a board now gets: version, text, notice.
    async fn seen(&self, board: &str) -> Option<(u64, String, Option<Noticed>)> {
        let (store, name) = (self.other(), named(board));
        let state = store.board(&name).await.unwrap()?;
        let version = state.head.version;
        let text = store.board_text(&name, version).await.unwrap().unwrap();
        Some((version, String::clone(&text.text), state.noticed))
    }
}

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::create(directory, Use::Brief, Duration::from_secs(60)).unwrap()
}

fn by_user() -> Changeset {
    let user = Caller::resolve(AgentId::user(), None).unwrap();
    Changeset::by(&user, Timestamp::from_millis(NOW))
}

const OUTSIDE: Option<Noticed> = Some(Noticed::ChangedOutside);

#[tokio::test]
async fn a_lock_and_an_edit_outside_leave_history_alone() {
    let mut ground = Ground::new();
    ground.keep = 30;
    ground.store = ground.store.keeping(30);
    for n in 1..=20 {
        ground.write("global", &format!("{n}\n")).await;
    }
    let lease = Lease {
        holder: AgentId::user(),
        token: "t".to_owned(),
        until: NOW + 5_000,
    };
    let lock = LeaseWrite {
        board: BoardName::Global,
        was: None,
        lease: Some(lease),
    };
    let locked = by_user().write(Write::LeaseBoard(Box::new(lock)));
    ground.store.commit(locked).await.unwrap();
    fs::write(ground.file("global"), "outside\n").unwrap();
    assert_eq!(ground.seen("global").await.unwrap().0, 21);

    let first = ground.store.board_text(&BoardName::Global, 1).await;
    assert_eq!(first.unwrap().unwrap().text.as_str(), "1\n");
    let copies = fs::read_dir(ground.directory.path().join("whiteboard-history")).unwrap();
    assert_eq!(copies.count(), 20);
}

#[tokio::test]
async fn an_older_copy_put_back_is_an_edit() {
    let ground = Ground::new();
    ground.write("global", "first\n").await;
    ground.write("global", "second\n").await;
    let copy = "whiteboard-history/global-whiteboard-v1.md";
    let copy = ground.directory.path().join(copy);
    fs::rename(copy, ground.file("global")).unwrap();
    let seen = ground.seen("global").await.unwrap();
    assert_eq!(seen, (3, "first\n".to_owned(), OUTSIDE));

    let board = "blackboard/shared/context.md";
    ground.write(board, "first\n").await;
    ground.write(board, "second\n").await;
    let backup = ground.file(board).with_extension("md.bak");
    fs::rename(backup, ground.file(board)).unwrap();
    let seen = ground.seen(board).await.unwrap();
    assert_eq!(seen, (3, "first\n".to_owned(), OUTSIDE));
}

/// Commits a changeset whose second board cannot be written.
async fn fails_half_way(ground: &Ground, first: &str) {
    let blocked = "whiteboards/.locks/bb_z.md.lock";
    fs::create_dir_all(ground.directory.path().join(blocked)).unwrap();
    let mut changes = by_user();
    for board in [first, "blackboard/z.md"] {
        changes = changes.write(Write::ChangeBoard(Box::new(BoardWrite {
            board: named(board),
            expect: None,
            change: Change::Whole("never\n".to_owned()),
            action: Action::Written,
            now: NOW,
            limit: MAX_BYTES,
            keep: 10,
        })));
    }
    assert!(ground.store.commit(changes).await.is_err());
}

#[tokio::test]
async fn a_new_file_that_was_never_written_is_no_version() {
    let ground = Ground::new();
    fails_half_way(&ground, "blackboard/a.md").await;
    assert_eq!(ground.seen("blackboard/a.md").await, None);
    assert_eq!(ground.write("blackboard/a.md", "now\n").await, 1);
    assert_eq!(ground.content("blackboard/a.md"), "now\n");
}

#[tokio::test]
async fn an_edit_after_a_write_that_failed_is_an_edit() {
    let ground = Ground::new();
    let board = "blackboard/a.md";
    ground.write(board, "one\ntwo\nthree\n").await;
    fails_half_way(&ground, board).await;
    fs::write(ground.file(board), "one\n").unwrap();
    let seen = ground.seen(board).await.unwrap();
    assert_eq!(seen, (2, "one\n".to_owned(), OUTSIDE));
    fs::write(ground.file(board), "").unwrap();
    assert_eq!(
        ground.seen(board).await.unwrap(),
        (3, String::new(), OUTSIDE)
    );
}

/// A changeset, and an action that runs between the check of the board's file and the commit.
struct Meanwhile<F>(Option<Changeset>, Option<F>);

impl<F: FnOnce() + Send> ChangesetSource for Meanwhile<F> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        if self.0.is_none()
            && let Some(happens) = self.1.take()
        {
            happens();
        }
        Ok(self.0.take())
    }
}

/// Changes a board while a person changes its file.
async fn commit_meanwhile(
    ground: &Ground,
    board: &str,
    change: Change,
    happens: impl FnOnce(&Path) + Send,
) -> Result<Outcome, PortError> {
    let write = BoardWrite {
        board: named(board),
        expect: None,
        change,
        action: Action::Written,
        now: NOW,
        limit: MAX_BYTES,
        keep: 10,
    };
    let changes = by_user().write(Write::ChangeBoard(Box::new(write)));
    let file = ground.file(board);
    let mut source = Meanwhile(Some(changes), Some(|| happens(&file)));
    ground.store.commit_stream(&mut source).await
}

/// The same; what is seen afterwards.
async fn meanwhile(
    ground: &Ground,
    board: &str,
    change: Change,
    happens: impl FnOnce(&Path) + Send,
) -> (u64, String, Option<Noticed>) {
    let outcome = commit_meanwhile(ground, board, change, happens).await;
    assert!(matches!(outcome.unwrap(), Outcome::Committed(_)));
    ground.seen(board).await.unwrap()
}

fn added(text: &str) -> Change {
    Change::Add {
        text: text.to_owned(),
        on_new_line: false,
    }
}

#[tokio::test]
async fn an_edit_made_while_a_change_is_committed_is_not_lost() {
    for board in ["global", "blackboard/a.md"] {
        for change in [added("more\n"), Change::Whole("other\n".to_owned())] {
            for by_rename in [false, true] {
                let ground = Ground::new();
                ground.write(board, "one\n").await;
                let edit = |file: &Path| {
                    let beside = file.with_extension("tmp");
                    let target = if by_rename { &beside } else { file };
                    fs::write(target, "ONE\n").unwrap();
                    fs::rename(target, file).unwrap();
                };
                let seen = meanwhile(&ground, board, change.clone(), edit).await;
                // An addition is appended after the edit.
                let both = matches!(change, Change::Add { .. });
                let text = if both { "ONE\nmore\n" } else { "ONE\n" };
                assert_eq!(seen, (3, text.to_owned(), OUTSIDE), "{board} {change:?}");
                assert_eq!(ground.content(board), text);
                let changed = ground.store.board_text(&named(board), 2).await.unwrap();
                assert!(changed.is_some());
            }
        }
    }
}

#[tokio::test]
async fn a_file_made_while_a_board_begins_is_not_lost() {
    let make = |file: &Path| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "mine\n").unwrap();
    };
    let change = || Change::Whole("polis\n".to_owned());
    let ground = Ground::new();
    let seen = meanwhile(&ground, "global", change(), make).await;
    assert_eq!(seen, (2, "mine\n".to_owned(), OUTSIDE));
    // A blackboard file is shared with other programs, and the first text of a board may be an addition: it is tried
    // again on theirs.
    let (ground, board) = (Ground::new(), "blackboard/a.md");
    let refused = commit_meanwhile(&ground, board, change(), make).await;
    assert_eq!(refused.unwrap_err().code, Code::BoardLocked);
    let seen = ground.seen(board).await.unwrap();
    assert_eq!(seen, (1, "mine\n".to_owned(), OUTSIDE));
}

#[tokio::test]
async fn a_file_deleted_while_a_change_is_committed_is_written() {
    for board in ["global", "blackboard/a.md"] {
        for change in [added("more\n"), Change::Whole("one\nmore\n".to_owned())] {
            let ground = Ground::new();
            ground.write(board, "one\n").await;
            let delete = |file: &Path| fs::remove_file(file).unwrap();
            let seen = meanwhile(&ground, board, change, delete).await;
            assert_eq!((seen.0, seen.1.as_str()), (2, "one\nmore\n"));
            assert_eq!(ground.content(board), "one\nmore\n");
        }
    }
}

#[tokio::test]
async fn copies_are_not_dropped_through_a_link() {
    let ground = Ground::new();
    let elsewhere = tempfile::tempdir().unwrap();
    for n in 1..=20 {
        let copy = format!("global-whiteboard-v{n}.md");
        fs::write(elsewhere.path().join(copy), "theirs").unwrap();
    }
    let history = ground.directory.path().join("whiteboard-history");
    std::os::unix::fs::symlink(elsewhere.path(), history).unwrap();
    for n in 1..=3 {
        ground.write("global", &format!("{n}\n")).await;
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 20);
}

#[tokio::test]
async fn the_longest_path_can_be_written() {
    let ground = Ground::new();
    let directory = "d".repeat(100);
    let path = format!("{directory}/{directory}/{}.md", "f".repeat(35));
    assert_eq!(path.len(), 240);
    let board = format!("blackboard/{path}");
    ground.write(&board, "one\n").await;
    ground.write(&board, "two\n").await;
    assert_eq!(ground.content(&board), "two\n");
}

#[tokio::test]
async fn additions_go_on_after_an_edit() {
    let ground = Ground::new();
    ground.write("global", "one\n").await;
    fs::write(ground.file("global"), "ONE\n").unwrap();
    assert_eq!(ground.add("global", "two\n").await, 3);
    assert_eq!(ground.content("global"), "ONE\ntwo\n");
    let seen = ground.seen("global").await.unwrap();
    assert_eq!(seen, (3, "ONE\ntwo\n".to_owned(), None));
}
