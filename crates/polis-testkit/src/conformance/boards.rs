//! Conformance tests of the store ports, for boards: which boards exist, their versions and events, large
//! boards, reopening, the lock of a board's file, and the creation time of the store.

use std::time::Duration;

use polis_core::board::{BoardHead, VersionAction, VersionEntry};
use polis_core::{EventSubject, NewEvent};
use polis_ops::port::EventLogQuery;

use super::board_fixtures::{
    append_line_to_global, append_to_global, board_name, lease_until, overwrite_global, put_board,
    put_lease, read_head, read_newest_text, splice_global, with_board,
};
use super::store_fixtures::{
    commit_changeset, empty_changeset, open_store, single_write, snapshot_store,
    timestamp_after_start,
};
use crate::sample_event::comment_payload;
use crate::store_factory::parse_agent_id;
use crate::{SeededRng, StoreFactory};

/// A board that was never written to or locked does not exist.
pub async fn untouched_board_does_not_exist(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "hello\n"))),
    )
    .await;
    for name in ["top", "mid/global", "blackboard/global.md"] {
        let name = board_name(name);
        assert_eq!(store.board(&name).await.unwrap(), None);
        assert_eq!(store.board_text(&name, 1).await.unwrap(), None);
        assert_eq!(store.board_versions(&name, 9).await.unwrap(), []);
    }
    assert_eq!(store.boards().await.unwrap().len(), 1);
}

/// Every change creates a version with author, time, action and size; the receipt names the version.
pub async fn board_change_creates_version_with_author(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let steps = [
        (
            "程序员-2",
            overwrite_global(Some(0), "# 白板\n"),
            VersionAction::Written,
            9,
        ),
        (
            "architect",
            append_to_global("x"),
            VersionAction::Appended,
            10,
        ),
        (
            "user",
            splice_global(2, 2, 6, "B"),
            VersionAction::Edited,
            5,
        ),
        (
            "architect",
            overwrite_global(None, ""),
            VersionAction::Restored,
            0,
        ),
        (
            "helper",
            overwrite_global(Some(4), "outside"),
            VersionAction::External,
            7,
        ),
    ];
    let mut expected = Vec::new();
    for ((author, mut write, action, bytes), version) in steps.into_iter().zip(1_u64..) {
        write.action = action;
        let mut all = single_write(put_board(write));
        all.actor = parse_agent_id(author);
        all.at = timestamp_after_start(version as i64);
        assert_eq!(commit_changeset(&store, all).await.board, Some(version));
        let entry = VersionEntry {
            version,
            by: author.to_owned(),
            at: timestamp_after_start(version as i64),
            bytes,
            action,
        };
        let head = read_head(&other, "global").await;
        assert_eq!((head.version, head.bytes), (version, bytes));
        assert_eq!(
            (head.modified_by.as_str(), &head.modified_at),
            (author, &entry.at)
        );
        expected.insert(0, entry);
    }
    let found = other
        .board_versions(&board_name("global"), 99)
        .await
        .unwrap();
    assert_eq!(found, expected);
}

/// A board's events are found by its name.
pub async fn board_event_has_board_as_subject(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let boards = [
        ("global", "board/global"),
        ("bottom/程序员.2", "board/bottom/程序员.2"),
        (
            "blackboard/tasks/7/status.md",
            "blackboard/tasks/7/status.md",
        ),
    ];
    for (name, _) in boards {
        let event = NewEvent::new(EventSubject::Board(board_name(name)), comment_payload(name));
        let all = single_write(put_board(with_board(name, overwrite_global(Some(0), "x"))))
            .with_event(event);
        commit_changeset(&store, all).await;
    }
    for (name, subject) in boards {
        let query = EventLogQuery {
            subject: Some(subject.to_owned()),
            limit: 9,
            ..EventLogQuery::default()
        };
        let found = store.events(&query).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].payload(), Some(comment_payload(name)));
    }
}

/// `boards` returns every board that was written to or locked, by name in byte order.
pub async fn boards_are_listed_in_name_order(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut names = [
        "top",
        "global",
        "mid/architect",
        "mid/a",
        "mid/a-b",
        "mid/B",
        "bottom/程序员",
        "bottom/é",
        "bottom/z",
        "blackboard/shared/context.md",
        "blackboard/shared/z.md",
        "blackboard/shared-context.md",
    ];
    for name in names {
        let lease = lease_until("user", "t", 1_000);
        let write = match name.len() % 2 {
            0 => put_board(with_board(name, overwrite_global(Some(0), name))),
            _ => put_lease(name, None, Some(&lease)),
        };
        commit_changeset(&store, single_write(write)).await;
    }
    names.sort_unstable();
    let listed = other.boards().await.unwrap();
    let found: Vec<String> = listed.iter().map(|head| head.name.to_string()).collect();
    assert_eq!(found, names);
    for one in listed {
        assert_eq!(read_head(&other, &one.name.to_string()).await, one);
    }
}

/// The creation time of a store is set once and is the same for every handle.
pub async fn store_creation_time_is_set_once(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let created_at = store.store_created_at().await.unwrap();
    assert!(
        created_at.millis().is_some_and(|at| at > 0),
        "{created_at:?}"
    );
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "x"))),
    )
    .await;
    assert_eq!(
        open_store(factory).await.store_created_at().await.unwrap(),
        created_at
    );
    assert_eq!(store.store_created_at().await.unwrap(), created_at);
}

/// A text of ten megabytes is stored unchanged, and can be appended to and spliced.
pub async fn largest_board_is_stored(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut rng = SeededRng::from_seed(10);
    let mut large = String::new();
    while large.len() < 10 << 20 {
        large.push_str(&format!("{:x} 后端 🚀\n", rng.next_u64()));
    }
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), &large))),
    )
    .await;
    assert!(
        read_newest_text(&other, "global").await == large,
        "the text differs"
    );
    let middle = large.len() / 2;
    let start = (middle..).find(|n| large.is_char_boundary(*n)).unwrap();
    let all = single_write(put_board(splice_global(1, start, 0, "中")))
        .with_write(put_board(append_to_global("尾")));
    commit_changeset(&store, all).await;
    large.insert(start, '中');
    large.push('尾');
    assert!(
        read_newest_text(&other, "global").await == large,
        "the text differs"
    );
}

/// Boards are readable through a handle that is opened after all others were closed.
pub async fn boards_are_readable_after_reopening(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let lease = lease_until("程序员", "tök", 7);
    let all = empty_changeset()
        .with_write(put_board(overwrite_global(Some(0), "a")))
        .with_write(put_board(append_line_to_global("b")))
        .with_write(put_board(splice_global(2, 0, 1, "A")))
        .with_write(put_lease("top", None, Some(&lease)))
        .with_write(put_board(with_board(
            "blackboard/a.md",
            overwrite_global(None, ""),
        )));
    commit_changeset(&store, all).await;
    let before = snapshot_store(&store).await;
    let expected = BoardHead {
        version: 3,
        bytes: 3,
        ends_line: false,
        modified_by: "user".to_owned(),
        modified_at: timestamp_after_start(0),
        base_version: 1,
        splices: 1,
        ..BoardHead::new(board_name("global"))
    };
    drop(store);
    let store = open_store(factory).await;
    assert_eq!(snapshot_store(&store).await, before);
    assert_eq!(read_head(&store, "global").await, expected);
    assert_eq!(read_newest_text(&store, "global").await, "A\nb");
    commit_changeset(&store, single_write(put_board(append_line_to_global("c")))).await;
    assert_eq!(read_newest_text(&store, "global").await, "A\nb\nc");
}

/// The file of a board can be locked repeatedly, through every handle, and also if the board does not exist.
pub async fn board_can_be_locked_repeatedly(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "x"))),
    )
    .await;
    // Including a board that was never written to: that is how it is created.
    for name in [board_name("global"), board_name("top")] {
        for handle in [&store, &other, &store] {
            let guard = handle.lock_board_file(&name, Duration::from_secs(10)).await;
            assert!(guard.unwrap().is_some());
        }
    }
}
