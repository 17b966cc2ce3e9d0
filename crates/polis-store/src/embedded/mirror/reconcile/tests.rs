//! Tests of how a board's file is classified after a crash of the process or of the machine.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use polis_core::board::{BoardChange, BoardName, BoardWrite, MAX_BOARD_BYTES, VersionAction};
use polis_core::changeset::StoreWrite;
use polis_core::{AgentId, Caller, Changeset, Timestamp};
use polis_ops::port::{BoardReader as _, Ledger as _};
use tempfile::TempDir;

use super::super::backups::set_mtime;
use super::{is_partial_write, now_nanos};
use crate::embedded::{EmbeddedStore, StoreMode};

const MINUTE_MS: i64 = 60_000;

#[test]
fn partial_write_is_distinguished_from_edit() {
    let (old, new) = (b"one two".as_slice(), b"ONE TWO THREE".as_slice());
    for k in 0..=old.len() {
        let partial = [new.get(..k).unwrap(), old.get(k..).unwrap()].concat();
        assert!(is_partial_write(&partial, new, Some(old)), "{k}");
    }
    for k in 0..=new.len() {
        assert!(is_partial_write(new.get(..k).unwrap(), new, None), "{k}");
    }
    assert!(is_partial_write(
        b"new|longer tail",
        b"new|",
        Some(b"old|longer tail")
    ));
    assert!(!is_partial_write(b"ONE twX", new, Some(old)));
    assert!(!is_partial_write(b"ONE TWO THREE and more", new, Some(old)));
}

struct TestStore {
    directory: TempDir,
    store: EmbeddedStore,
}

impl TestStore {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(
            directory.path(),
            StoreMode::OneShot,
            Duration::from_secs(60),
        );
        let store = store.unwrap();
        Self { directory, store }
    }

    fn board_file(&self) -> PathBuf {
        self.directory.path().join(BoardName::Global.file_path())
    }

    /// Writes the board as of `age_ms` milliseconds ago.
    async fn write_version(&self, text: &str, age_ms: i64) {
        let at = now_nanos() / 1_000_000 - age_ms;
        let write = BoardWrite {
            board: BoardName::Global,
            expect: None,
            change: BoardChange::Whole(text.to_owned()),
            action: VersionAction::Written,
            now: at,
            max_bytes: MAX_BOARD_BYTES,
            max_versions: 2,
        };
        let user = Caller::resolve(AgentId::user(), None).unwrap();
        let changes = Changeset::new(&user, Timestamp::from_millis(at))
            .with_write(StoreWrite::ChangeBoard(Box::new(write)));
        self.store.commit(changes).await.unwrap();
    }

    /// Overwrites the file with `text`, keeping its mtime or setting it to `stamp`.
    fn overwrite_file(&self, text: &str, stamp: Option<i64>) {
        let file = fs::File::options()
            .write(true)
            .open(self.board_file())
            .unwrap();
        let stamp =
            stamp.unwrap_or_else(|| super::super::read_fingerprint(&file).unwrap().mtime_nanos);
        fs::write(self.board_file(), text).unwrap();
        set_mtime(&file, stamp).unwrap();
    }

    fn file_mtime(&self) -> i64 {
        let file = fs::File::open(self.board_file()).unwrap();
        super::super::read_fingerprint(&file).unwrap().mtime_nanos
    }

    /// Simulates a reboot and reads the board: version, text and file content.
    async fn read_after_reboot(self) -> (u64, String, String) {
        let directory = self.directory;
        drop(self.store);
        let opened = EmbeddedStore::create(
            directory.path(),
            StoreMode::OneShot,
            Duration::from_secs(60),
        );
        let mut store = opened.unwrap();
        Arc::get_mut(&mut store.shared)
            .unwrap()
            .mirror
            .boot_time_nanos = now_nanos();
        let head = store.board(&BoardName::Global).await.unwrap().unwrap().head;
        let text = store.board_text(&BoardName::Global, head.version).await;
        let text = String::clone(&text.unwrap().unwrap().text);
        let file = directory.path().join(BoardName::Global.file_path());
        (head.version, text, fs::read_to_string(file).unwrap())
    }
}

#[tokio::test]
async fn file_content_lost_with_power_is_rewritten() {
    for content in ["old\n", "ne", "", "new\0"] {
        let fixture = TestStore::new();
        fixture.write_version("new\n", 0).await;
        fixture.overwrite_file(content, None);
        let state = fixture.read_after_reboot().await;
        assert_eq!(state, (1, "new\n".into(), "new\n".into()), "{content:?}");
    }
}

#[tokio::test]
async fn file_reverted_many_versions_by_power_loss_is_rewritten() {
    let fixture = TestStore::new();
    fixture.write_version("version 1\n", 0).await;
    let stamp = fixture.file_mtime();
    for n in 2..20 {
        fixture.write_version(&format!("version {n}\n"), 0).await;
    }
    fixture.overwrite_file("version 1\n", Some(stamp));
    let newest = "version 19\n".to_owned();
    assert_eq!(
        fixture.read_after_reboot().await,
        (19, newest.clone(), newest)
    );
}

#[tokio::test]
async fn edit_before_boot_is_imported() {
    for edit in ["one\n", "", "one\nTWO\n"] {
        let fixture = TestStore::new();
        fixture.write_version("one\ntwo\n", 10 * MINUTE_MS).await;
        fs::write(fixture.board_file(), edit).unwrap();
        let state = fixture.read_after_reboot().await;
        assert_eq!(state, (2, edit.to_owned(), edit.to_owned()));
    }
}

#[tokio::test]
async fn intact_file_is_verified_and_kept() {
    let mut fixture = TestStore::new();
    fixture.write_version("one\n", 0).await;
    let before = fs::File::open(fixture.board_file()).unwrap();
    let before = super::super::read_fingerprint(&before).unwrap();
    Arc::get_mut(&mut fixture.store.shared)
        .unwrap()
        .mirror
        .boot_time_nanos = now_nanos();
    let found = fixture.store.board(&BoardName::Global).await.unwrap();
    assert_eq!(found.unwrap().file_change, None);
    let after = fs::File::open(fixture.board_file()).unwrap();
    assert!(before.is_unmodified(&super::super::read_fingerprint(&after).unwrap()));
}
