//! Tests of the file mirror: how the embedded store handles external edits and deletions of board files, also
//! during a commit, failed writes, history copies and symlinks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use polis_core::board::{
    BoardChange, BoardLease, BoardLeaseWrite, BoardName, BoardWrite, MAX_BOARD_BYTES, VersionAction,
};
use polis_core::changeset::StoreWrite;
use polis_core::{AgentId, Caller, Changeset, RefusalCode, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{
    BoardFileChange, BoardReader as _, ChangesetSource, CommitOutcome, Ledger as _,
};
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use tempfile::TempDir;

/// The time of every change in these tests (milliseconds).
const NOW_MS: i64 = 1_800_000_000_000;

/// A store and its directory.
struct MirrorTestStore {
    directory: TempDir,
    store: EmbeddedStore,
    max_versions: u32,
}

fn board_name(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

impl MirrorTestStore {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open_store(directory.path());
        Self {
            directory,
            store,
            max_versions: 10,
        }
    }

    /// Opens the store again, as another process would.
    fn open_again(&self) -> EmbeddedStore {
        open_store(self.directory.path()).with_kept_versions(self.max_versions)
    }

    fn board_file(&self, board: &str) -> PathBuf {
        self.directory.path().join(board_name(board).file_path())
    }

    fn file_content(&self, board: &str) -> String {
        fs::read_to_string(self.board_file(board)).unwrap()
    }

    async fn commit_change(&self, board: &str, change: BoardChange) -> Result<u64, PortError> {
        let write = BoardWrite {
            board: board_name(board),
            expect: None,
            change,
            action: VersionAction::Written,
            now: NOW_MS,
            max_bytes: MAX_BOARD_BYTES,
            max_versions: self.max_versions,
        };
        let changes = user_changeset().with_write(StoreWrite::ChangeBoard(Box::new(write)));
        match self.store.commit(changes).await? {
            CommitOutcome::Committed(receipt) => Ok(receipt.board.unwrap()),
            CommitOutcome::Conflict(key) => panic!("{key:?}"),
        }
    }

    async fn write_board(&self, board: &str, text: &str) -> u64 {
        self.commit_change(board, BoardChange::Whole(text.to_owned()))
            .await
            .unwrap()
    }

    async fn append_to_board(&self, board: &str, text: &str) -> u64 {
        let text = text.to_owned();
        let on_new_line = false;
        self.commit_change(board, BoardChange::Add { text, on_new_line })
            .await
            .unwrap()
    }

    /// Returns what another process that reads the board now gets: version, text and detected file change.
    async fn read_in_new_process(
        &self,
        board: &str,
    ) -> Option<(u64, String, Option<BoardFileChange>)> {
        let (store, name) = (self.open_again(), board_name(board));
        let state = store.board(&name).await.unwrap()?;
        let version = state.head.version;
        let text = store.board_text(&name, version).await.unwrap().unwrap();
        Some((version, String::clone(&text.text), state.file_change))
    }
}

fn open_store(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::create(directory, StoreMode::OneShot, Duration::from_secs(60)).unwrap()
}

fn user_changeset() -> Changeset {
    let user = Caller::resolve(AgentId::user(), None).unwrap();
    Changeset::new(&user, Timestamp::from_millis(NOW_MS))
}

const CHANGED_OUTSIDE: Option<BoardFileChange> = Some(BoardFileChange::ExternalEdit);

#[tokio::test]
async fn lease_and_external_edit_keep_the_history() {
    let mut ground = MirrorTestStore::new();
    ground.max_versions = 30;
    ground.store = ground.store.with_kept_versions(30);
    for n in 1..=20 {
        ground.write_board("global", &format!("{n}\n")).await;
    }
    let lease = BoardLease {
        holder: AgentId::user(),
        token: "t".to_owned(),
        until: NOW_MS + 5_000,
    };
    let lock = BoardLeaseWrite {
        board: BoardName::Global,
        expected: None,
        lease: Some(lease),
    };
    let locked = user_changeset().with_write(StoreWrite::LeaseBoard(Box::new(lock)));
    ground.store.commit(locked).await.unwrap();
    fs::write(ground.board_file("global"), "outside\n").unwrap();
    assert_eq!(ground.read_in_new_process("global").await.unwrap().0, 21);

    let first = ground.store.board_text(&BoardName::Global, 1).await;
    assert_eq!(first.unwrap().unwrap().text.as_str(), "1\n");
    let copies = fs::read_dir(ground.directory.path().join("whiteboard-history")).unwrap();
    assert_eq!(copies.count(), 20);
}

#[tokio::test]
async fn restored_old_copy_is_an_external_edit() {
    let ground = MirrorTestStore::new();
    ground.write_board("global", "first\n").await;
    ground.write_board("global", "second\n").await;
    let copy = "whiteboard-history/global-whiteboard-v1.md";
    let copy = ground.directory.path().join(copy);
    fs::rename(copy, ground.board_file("global")).unwrap();
    let seen = ground.read_in_new_process("global").await.unwrap();
    assert_eq!(seen, (3, "first\n".to_owned(), CHANGED_OUTSIDE));

    let board = "blackboard/shared/context.md";
    ground.write_board(board, "first\n").await;
    ground.write_board(board, "second\n").await;
    let backup = ground.board_file(board).with_extension("md.bak");
    fs::rename(backup, ground.board_file(board)).unwrap();
    let seen = ground.read_in_new_process(board).await.unwrap();
    assert_eq!(seen, (3, "first\n".to_owned(), CHANGED_OUTSIDE));
}

/// Commits a changeset whose second board cannot be written.
async fn commit_failing_half_way(ground: &MirrorTestStore, first: &str) {
    let blocked = "whiteboards/.locks/bb_z.md.lock";
    fs::create_dir_all(ground.directory.path().join(blocked)).unwrap();
    let mut changes = user_changeset();
    for board in [first, "blackboard/z.md"] {
        changes = changes.with_write(StoreWrite::ChangeBoard(Box::new(BoardWrite {
            board: board_name(board),
            expect: None,
            change: BoardChange::Whole("never\n".to_owned()),
            action: VersionAction::Written,
            now: NOW_MS,
            max_bytes: MAX_BOARD_BYTES,
            max_versions: 10,
        })));
    }
    assert!(ground.store.commit(changes).await.is_err());
}

#[tokio::test]
async fn failed_first_write_creates_no_version() {
    let ground = MirrorTestStore::new();
    commit_failing_half_way(&ground, "blackboard/a.md").await;
    assert_eq!(ground.read_in_new_process("blackboard/a.md").await, None);
    assert_eq!(ground.write_board("blackboard/a.md", "now\n").await, 1);
    assert_eq!(ground.file_content("blackboard/a.md"), "now\n");
}

#[tokio::test]
async fn edit_after_a_failed_write_is_an_external_edit() {
    let ground = MirrorTestStore::new();
    let board = "blackboard/a.md";
    ground.write_board(board, "one\ntwo\nthree\n").await;
    commit_failing_half_way(&ground, board).await;
    fs::write(ground.board_file(board), "one\n").unwrap();
    let seen = ground.read_in_new_process(board).await.unwrap();
    assert_eq!(seen, (2, "one\n".to_owned(), CHANGED_OUTSIDE));
    fs::write(ground.board_file(board), "").unwrap();
    assert_eq!(
        ground.read_in_new_process(board).await.unwrap(),
        (3, String::new(), CHANGED_OUTSIDE)
    );
}

/// A changeset, and an action that runs between the check of the board's file and the commit.
struct EditDuringCommit<F>(Option<Changeset>, Option<F>);

impl<F: FnOnce() + Send> ChangesetSource for EditDuringCommit<F> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        if self.0.is_none()
            && let Some(happens) = self.1.take()
        {
            happens();
        }
        Ok(self.0.take())
    }
}

/// Commits a change of a board while another program changes its file.
async fn commit_during_edit(
    ground: &MirrorTestStore,
    board: &str,
    change: BoardChange,
    happens: impl FnOnce(&Path) + Send,
) -> Result<CommitOutcome, PortError> {
    let write = BoardWrite {
        board: board_name(board),
        expect: None,
        change,
        action: VersionAction::Written,
        now: NOW_MS,
        max_bytes: MAX_BOARD_BYTES,
        max_versions: 10,
    };
    let changes = user_changeset().with_write(StoreWrite::ChangeBoard(Box::new(write)));
    let file = ground.board_file(board);
    let mut source = EditDuringCommit(Some(changes), Some(|| happens(&file)));
    ground.store.commit_stream(&mut source).await
}

/// Commits a change during an external edit; returns what another process reads afterwards.
async fn read_after_commit_during_edit(
    ground: &MirrorTestStore,
    board: &str,
    change: BoardChange,
    happens: impl FnOnce(&Path) + Send,
) -> (u64, String, Option<BoardFileChange>) {
    let outcome = commit_during_edit(ground, board, change, happens).await;
    assert!(matches!(outcome.unwrap(), CommitOutcome::Committed(_)));
    ground.read_in_new_process(board).await.unwrap()
}

fn addition(text: &str) -> BoardChange {
    BoardChange::Add {
        text: text.to_owned(),
        on_new_line: false,
    }
}

#[tokio::test]
async fn external_edit_during_a_commit_is_not_lost() {
    for board in ["global", "blackboard/a.md"] {
        for change in [addition("more\n"), BoardChange::Whole("other\n".to_owned())] {
            for by_rename in [false, true] {
                let ground = MirrorTestStore::new();
                ground.write_board(board, "one\n").await;
                let edit = |file: &Path| {
                    let beside = file.with_extension("tmp");
                    let target = if by_rename { &beside } else { file };
                    fs::write(target, "ONE\n").unwrap();
                    fs::rename(target, file).unwrap();
                };
                let seen =
                    read_after_commit_during_edit(&ground, board, change.clone(), edit).await;
                // An addition is appended after the edit.
                let both = matches!(change, BoardChange::Add { .. });
                let text = if both { "ONE\nmore\n" } else { "ONE\n" };
                assert_eq!(
                    seen,
                    (3, text.to_owned(), CHANGED_OUTSIDE),
                    "{board} {change:?}"
                );
                assert_eq!(ground.file_content(board), text);
                let changed = ground
                    .store
                    .board_text(&board_name(board), 2)
                    .await
                    .unwrap();
                assert!(changed.is_some());
            }
        }
    }
}

#[tokio::test]
async fn file_created_during_the_first_write_is_not_lost() {
    let make = |file: &Path| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "mine\n").unwrap();
    };
    let change = || BoardChange::Whole("polis\n".to_owned());
    let ground = MirrorTestStore::new();
    let seen = read_after_commit_during_edit(&ground, "global", change(), make).await;
    assert_eq!(seen, (2, "mine\n".to_owned(), CHANGED_OUTSIDE));
    // A blackboard file is shared with other programs, and the first text of a board may be an addition: the
    // operation retries it on the other program's text.
    let (ground, board) = (MirrorTestStore::new(), "blackboard/a.md");
    let refused = commit_during_edit(&ground, board, change(), make).await;
    assert_eq!(refused.unwrap_err().code, RefusalCode::BOARD_LOCKED);
    let seen = ground.read_in_new_process(board).await.unwrap();
    assert_eq!(seen, (1, "mine\n".to_owned(), CHANGED_OUTSIDE));
}

#[tokio::test]
async fn file_deleted_during_a_commit_is_written_again() {
    for board in ["global", "blackboard/a.md"] {
        for change in [
            addition("more\n"),
            BoardChange::Whole("one\nmore\n".to_owned()),
        ] {
            let ground = MirrorTestStore::new();
            ground.write_board(board, "one\n").await;
            let delete = |file: &Path| fs::remove_file(file).unwrap();
            let seen = read_after_commit_during_edit(&ground, board, change, delete).await;
            assert_eq!((seen.0, seen.1.as_str()), (2, "one\nmore\n"));
            assert_eq!(ground.file_content(board), "one\nmore\n");
        }
    }
}

#[tokio::test]
async fn history_copies_are_not_deleted_through_a_symlink() {
    let ground = MirrorTestStore::new();
    let elsewhere = tempfile::tempdir().unwrap();
    for n in 1..=20 {
        let copy = format!("global-whiteboard-v{n}.md");
        fs::write(elsewhere.path().join(copy), "theirs").unwrap();
    }
    let history = ground.directory.path().join("whiteboard-history");
    std::os::unix::fs::symlink(elsewhere.path(), history).unwrap();
    for n in 1..=3 {
        ground.write_board("global", &format!("{n}\n")).await;
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 20);
}

#[tokio::test]
async fn longest_board_path_can_be_written() {
    let ground = MirrorTestStore::new();
    let directory = "d".repeat(100);
    let path = format!("{directory}/{directory}/{}.md", "f".repeat(35));
    assert_eq!(path.len(), 240);
    let board = format!("blackboard/{path}");
    ground.write_board(&board, "one\n").await;
    ground.write_board(&board, "two\n").await;
    assert_eq!(ground.file_content(&board), "two\n");
}

#[tokio::test]
async fn append_after_an_external_edit_keeps_the_edit() {
    let ground = MirrorTestStore::new();
    ground.write_board("global", "one\n").await;
    fs::write(ground.board_file("global"), "ONE\n").unwrap();
    assert_eq!(ground.append_to_board("global", "two\n").await, 3);
    assert_eq!(ground.file_content("global"), "ONE\ntwo\n");
    let seen = ground.read_in_new_process("global").await.unwrap();
    assert_eq!(seen, (3, "ONE\ntwo\n".to_owned(), None));
}
