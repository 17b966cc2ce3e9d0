//! Tests of how a board's file is classified after a crash of the process or of the machine.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use polis_core::board::{Action, BoardName, BoardWrite, Change, MAX_BYTES};
use polis_core::changeset::Write;
use polis_core::{AgentId, Caller, Changeset, Timestamp};
use polis_ops::port::{Boards as _, Ledger as _};
use tempfile::TempDir;

use super::super::backups::set_stamp;
use super::{half_written, now};
use crate::embedded::{EmbeddedStore, Use};

const MINUTE: i64 = 60_000;

#[test]
fn a_half_written_file_is_told_from_an_edit() {
    let (old, new) = (b"one two".as_slice(), b"ONE TWO THREE".as_slice());
    for k in 0..=old.len() {
        let torn = [new.get(..k).unwrap(), old.get(k..).unwrap()].concat();
        assert!(half_written(&torn, new, Some(old)), "{k}");
    }
    for k in 0..=new.len() {
        assert!(half_written(new.get(..k).unwrap(), new, None), "{k}");
    }
    assert!(half_written(
        b"new|longer tail",
        b"new|",
        Some(b"old|longer tail")
    ));
    assert!(!half_written(b"ONE twX", new, Some(old)));
    assert!(!half_written(b"ONE TWO THREE and more", new, Some(old)));
}

struct Ground {
    directory: TempDir,
    store: EmbeddedStore,
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(directory.path(), Use::Brief, Duration::from_secs(60));
        let store = store.unwrap();
        Self { directory, store }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join(BoardName::Global.file())
    }

    /// Writes the board as of `ago` milliseconds ago.
    async fn write(&self, text: &str, ago: i64) {
        let at = now() / 1_000_000 - ago;
        let write = BoardWrite {
            board: BoardName::Global,
            expect: None,
            change: Change::Whole(text.to_owned()),
            action: Action::Written,
            now: at,
            limit: MAX_BYTES,
            keep: 2,
        };
        let user = Caller::resolve(AgentId::user(), None).unwrap();
        let changes = Changeset::by(&user, Timestamp::from_millis(at))
            .write(Write::ChangeBoard(Box::new(write)));
        self.store.commit(changes).await.unwrap();
    }

    /// Overwrites the file with `text`, keeping its mtime or setting it to `stamp`.
    fn lose(&self, text: &str, stamp: Option<i64>) {
        let file = fs::File::options().write(true).open(self.file()).unwrap();
        let stamp = stamp.unwrap_or_else(|| super::super::seen(&file).unwrap().stamp);
        fs::write(self.file(), text).unwrap();
        set_stamp(&file, stamp).unwrap();
    }

    fn stamp(&self) -> i64 {
        let file = fs::File::open(self.file()).unwrap();
        super::super::seen(&file).unwrap().stamp
    }

    /// Simulates a reboot and reads the board: version, text and file content.
    async fn after_boot(self) -> (u64, String, String) {
        let directory = self.directory;
        drop(self.store);
        let opened = EmbeddedStore::create(directory.path(), Use::Brief, Duration::from_secs(60));
        let mut store = opened.unwrap();
        Arc::get_mut(&mut store.shared).unwrap().mirror.booted = now();
        let head = store.board(&BoardName::Global).await.unwrap().unwrap().head;
        let text = store.board_text(&BoardName::Global, head.version).await;
        let text = String::clone(&text.unwrap().unwrap().text);
        let file = directory.path().join(BoardName::Global.file());
        (head.version, text, fs::read_to_string(file).unwrap())
    }
}

#[tokio::test]
async fn a_file_whose_content_was_lost_with_the_power_is_written_again() {
    for lost in ["old\n", "ne", "", "new\0"] {
        let ground = Ground::new();
        ground.write("new\n", 0).await;
        ground.lose(lost, None);
        let seen = ground.after_boot().await;
        assert_eq!(seen, (1, "new\n".into(), "new\n".into()), "{lost:?}");
    }
}

#[tokio::test]
async fn a_file_that_went_far_back_with_the_power_is_written_again() {
    let ground = Ground::new();
    ground.write("version 1\n", 0).await;
    let stamp = ground.stamp();
    for n in 2..20 {
        ground.write(&format!("version {n}\n"), 0).await;
    }
    ground.lose("version 1\n", Some(stamp));
    let newest = "version 19\n".to_owned();
    assert_eq!(ground.after_boot().await, (19, newest.clone(), newest));
}

#[tokio::test]
async fn an_edit_made_before_the_machine_was_started_is_an_edit() {
    for edit in ["one\n", "", "one\nTWO\n"] {
        let ground = Ground::new();
        ground.write("one\ntwo\n", 10 * MINUTE).await;
        fs::write(ground.file(), edit).unwrap();
        let seen = ground.after_boot().await;
        assert_eq!(seen, (2, edit.to_owned(), edit.to_owned()));
    }
}

#[tokio::test]
async fn a_sound_file_is_looked_into_and_stays() {
    let mut ground = Ground::new();
    ground.write("one\n", 0).await;
    let before = fs::File::open(ground.file()).unwrap();
    let before = super::super::seen(&before).unwrap();
    Arc::get_mut(&mut ground.store.shared)
        .unwrap()
        .mirror
        .booted = now();
    let found = ground.store.board(&BoardName::Global).await.unwrap();
    assert_eq!(found.unwrap().noticed, None);
    let after = fs::File::open(ground.file()).unwrap();
    assert!(before.is_still(&super::super::seen(&after).unwrap()));
}
