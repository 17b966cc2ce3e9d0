//! Conformance tests of the store ports, for changes of a board's text: whole texts, additions and splices,
//! also by concurrent writers.

use std::collections::BTreeSet;
use std::sync::Arc;

use polis_core::changeset::Changeset;
use polis_ops::PortError;
use polis_ops::port::{ChangesetSource, CommitOutcome};

use super::board_fixtures::{
    append_line_to_global, append_to_global, assert_board_conflict, lease_until, overwrite_global,
    put_board, put_lease, read_head, read_newest_text, read_version_text, splice_global,
    with_board,
};
use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, insert_tasks, open_store, read_task,
    replace_task, single_write, snapshot_store, task_event, task_record,
};
use crate::StoreFactory;

/// Appending to a board without text, or changing a part of it, is a conflict.
pub async fn append_to_board_without_text_conflicts(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let lease = lease_until("user", "t", 1_000);
    commit_changeset(&store, single_write(put_lease("top", None, Some(&lease)))).await;
    for board in ["global", "top"] {
        for write in [
            append_to_global("x"),
            append_line_to_global(""),
            splice_global(0, 0, 0, "x"),
        ] {
            assert_board_conflict(
                &store,
                board,
                single_write(put_board(with_board(board, write))),
            )
            .await;
        }
    }
    assert_eq!(store.boards().await.unwrap().len(), 1);
    assert_eq!(read_head(&store, "top").await.version, 0);
}

/// Of several changes that expect the same version, made concurrently from several handles, exactly one is
/// committed; this includes the first version.
pub async fn concurrent_changes_of_one_board_version_one_commits(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    for version in 0..10_u64 {
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let write = if version > 0 && n > 3 {
                splice_global(version, 0, 1, &n.to_string())
            } else {
                overwrite_global(Some(version), &n.to_string())
            };
            let all = single_write(put_board(write)).with_event(task_event(n as u64 + 1));
            tokio::spawn(async move { (n, store.commit(all).await.unwrap()) })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            if let (n, CommitOutcome::Committed(receipt)) = rival.await.unwrap() {
                assert_eq!(receipt.board, Some(version + 1));
                winners.push(n.to_string());
            }
        }
        assert_eq!(winners, [read_newest_text(&handles[1], "global").await]);
    }
    assert_eq!(handles[0].last_sequence().await.unwrap(), 10);
}

/// If a board is not at the expected version, the changeset conflicts and none of it is applied: no write
/// before or after the board write, and no event.
pub async fn board_version_mismatch_rolls_back_changeset(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    insert_tasks(&store, &[task_record(1)]).await;
    for text in ["one\n", "two\n"] {
        commit_changeset(
            &store,
            single_write(put_board(overwrite_global(None, text))),
        )
        .await;
    }
    let before = snapshot_store(&store).await;
    for stale in [
        overwrite_global(Some(1), "x"),
        overwrite_global(Some(0), "x"),
        overwrite_global(Some(4), "x"),
        splice_global(1, 0, 3, "x"),
        splice_global(9, 0, 0, "x"),
    ] {
        let first = read_task(&store, 1).await;
        let all = empty_changeset()
            .with_write(create_task("new"))
            .with_write(put_board(overwrite_global(Some(2), "first")))
            .with_write(put_board(with_board(
                "top",
                overwrite_global(Some(0), "new"),
            )))
            .with_write(put_lease(
                "mid/a",
                None,
                Some(&lease_until("user", "t", 1_000)),
            ))
            .with_write(put_board(stale))
            .with_write(replace_task(&first, |t| t.owner = "a".to_owned()))
            .with_event(task_event(1));
        assert_board_conflict(&store, "global", all).await;
        assert_eq!(snapshot_store(&store).await, before);
    }
    // Neither is a board changed if another write conflicts.
    let mut old = task_record(1);
    old.revision = 7;
    let all = single_write(put_board(append_to_global("x"))).with_write(replace_task(&old, |_| ()));
    assert!(matches!(
        store.commit(all).await.unwrap(),
        CommitOutcome::Conflict(_)
    ));
    assert_eq!(snapshot_store(&store).await, before);
}

/// Additions without an expected version commute: made concurrently from eight handles none conflicts, and
/// the text contains each of them once, in the order of their versions.
pub async fn concurrent_board_appends_never_conflict(factory: &dyn StoreFactory) {
    const HANDLES: usize = 8;
    const EACH: usize = 25;
    let store = open_store(factory).await;
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "# 日志"))),
    )
    .await;
    let mut adding = Vec::new();
    for n in 0..HANDLES {
        let store = open_store(factory).await;
        adding.push(tokio::spawn(async move {
            // Several concurrent additions per handle too, so that they share a transaction.
            let all = (0..EACH).map(|part| {
                let store = Arc::clone(&store);
                let line = format!("- {n}.{part} 完成");
                tokio::spawn(async move {
                    let added = single_write(put_board(append_line_to_global(&line)))
                        .with_event(task_event(1));
                    (commit_changeset(&store, added).await.board.unwrap(), line)
                })
            });
            let mut lines = Vec::new();
            for one in all.collect::<Vec<_>>() {
                lines.push(one.await.unwrap());
            }
            lines
        }));
    }
    let mut added = BTreeSet::new();
    for one in adding {
        added.extend(one.await.unwrap());
    }
    let versions: Vec<u64> = added.iter().map(|(version, _)| *version).collect();
    let last = (HANDLES * EACH) as u64 + 1;
    assert_eq!(versions, (2..=last).collect::<Vec<_>>());
    let lines: Vec<&str> = added.iter().map(|(_, line)| line.as_str()).collect();
    let expected = format!("# 日志\n{}", lines.join("\n"));
    assert_eq!(read_newest_text(&store, "global").await, expected);
    // And every intermediate version.
    for (version, line) in &added {
        let found = read_version_text(&store, "global", *version).await;
        assert!(expected.starts_with(&found) && found.ends_with(line));
    }
}

/// An addition on a new line inserts a line break if the text does not end with one.
pub async fn append_on_new_line_inserts_missing_line_break(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let cases = [
        ("", "x", "x"),
        ("a", "x", "a\nx"),
        ("a\n", "x", "a\nx"),
        ("a\n\n", "x", "a\n\nx"),
        ("目标", "决定\n", "目标\n决定\n"),
        ("目标\n", "决定", "目标\n决定"),
        ("a\r\n", "x", "a\r\nx"),
        ("a", "", "a\n"),
        ("a\n", "", "a\n"),
        ("\n", "\n", "\n\n"),
    ];
    for (before, added, after) in cases {
        commit_changeset(
            &store,
            single_write(put_board(overwrite_global(None, before))),
        )
        .await;
        commit_changeset(
            &store,
            single_write(put_board(append_line_to_global(added))),
        )
        .await;
        assert_eq!(read_newest_text(&store, "global").await, after);
        commit_changeset(&store, single_write(put_board(append_to_global("y")))).await;
        assert_eq!(
            read_newest_text(&store, "global").await,
            format!("{after}y")
        );
        commit_changeset(&store, single_write(put_board(append_line_to_global("z")))).await;
        assert_eq!(
            read_newest_text(&store, "global").await,
            format!("{after}y\nz")
        );
    }
    // This includes text that ends with a splice.
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(None, "a\nb"))),
    )
    .await;
    let version = read_head(&store, "global").await.version;
    commit_changeset(
        &store,
        single_write(put_board(splice_global(version, 2, 1, "c\n"))),
    )
    .await;
    commit_changeset(&store, single_write(put_board(append_line_to_global("d")))).await;
    assert_eq!(read_newest_text(&store, "global").await, "a\nc\nd");
    commit_changeset(
        &store,
        single_write(put_board(splice_global(version + 2, 0, 2, "é"))),
    )
    .await;
    commit_changeset(&store, single_write(put_board(append_line_to_global("e")))).await;
    assert_eq!(read_newest_text(&store, "global").await, "éc\nd\ne");
}

/// A splice replaces a byte range, regardless of the characters.
pub async fn splice_replaces_byte_range(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut expected = "后端 🚀 'q\" \\ %_ $1 ? -- ;\r\n\ttab e\u{301} 后端".to_owned();
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), &expected))),
    )
    .await;
    let parts = [
        ("🚀", "🛰️🛰️"),
        ("后端", ""),
        ("\u{301}", "\u{308}"),
        ("\r\n", "\n"),
        ("$1", "$2::text"),
        ("后端", "前端\n"),
    ];
    for ((old, new), version) in parts.into_iter().zip(1..) {
        let start = expected.find(old).unwrap();
        expected.replace_range(start..start + old.len(), new);
        commit_changeset(
            &store,
            single_write(put_board(splice_global(version, start, old.len(), new))),
        )
        .await;
        assert_eq!(read_newest_text(&store, "global").await, expected);
    }
    commit_changeset(
        &store,
        single_write(put_board(splice_global(7, 0, 0, "首"))),
    )
    .await;
    assert_eq!(
        read_newest_text(&store, "global").await,
        format!("首{expected}")
    );
}

/// A change that would exceed a board's size limit is a conflict; one that reaches the limit exactly is not.
pub async fn change_beyond_board_size_limit_conflicts(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "后端"))),
    )
    .await;
    let steps = [
        (append_to_global("x"), 7),
        (append_line_to_global("x"), 9),
        (splice_global(3, 0, 3, "后端"), 12),
        (splice_global(4, 0, 6, "a"), 7),
        (overwrite_global(Some(5), "12345678"), 8),
    ];
    for ((mut write, size), version) in steps.into_iter().zip(1..) {
        write.max_bytes = size - 1;
        assert_board_conflict(&store, "global", single_write(put_board(write.clone()))).await;
        assert_eq!(read_head(&store, "global").await.version, version);
        write.max_bytes = size;
        commit_changeset(&store, single_write(put_board(write))).await;
        assert_eq!(read_newest_text(&store, "global").await.len() as u64, size);
    }
}

/// One changeset may contain several board changes: each sees those before it, and the receipt names the
/// version of the last.
pub async fn changeset_may_change_board_several_times(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let lease = lease_until("user", "t", 1_000);
    let all = empty_changeset()
        .with_write(put_board(overwrite_global(Some(0), "a\nb")))
        .with_write(put_board(with_board("top", overwrite_global(None, "top"))))
        .with_write(put_board(append_line_to_global("c")))
        .with_write(put_lease("global", None, Some(&lease)))
        .with_write(put_board(splice_global(2, 2, 1, "B")))
        .with_write(put_lease("global", Some(&lease), None))
        .with_write(put_board(append_to_global("!")))
        .with_event(task_event(1));
    assert_eq!(commit_changeset(&store, all).await.board, Some(4));
    assert_eq!(read_newest_text(&store, "global").await, "a\nB\nc!");
    assert_eq!(read_head(&store, "global").await.lease, None);
    for (version, expected) in [(1, "a\nb"), (2, "a\nb\nc"), (3, "a\nB\nc")] {
        assert_eq!(read_version_text(&store, "global", version).await, expected);
    }
    assert_eq!(read_newest_text(&store, "top").await, "top");
    let both = single_write(put_board(append_to_global("x")))
        .with_write(put_board(with_board("top", append_to_global("y"))));
    assert_eq!(commit_changeset(&store, both).await.board, Some(2));

    // The second change sees the version created by the first.
    let before = snapshot_store(&store).await;
    let both = single_write(put_board(overwrite_global(Some(5), "x")))
        .with_write(put_board(overwrite_global(Some(5), "y")));
    assert_board_conflict(&store, "global", both).await;
    assert_eq!(snapshot_store(&store).await, before);
    // A changeset without board changes names no version.
    assert_eq!(
        commit_changeset(&store, single_write(create_task("task")))
            .await
            .board,
        None
    );
}

/// A source of this many additions to one board, one changeset each.
struct AppendSource(u32);

impl ChangesetSource for AppendSource {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        let Some(left) = self.0.checked_sub(1) else {
            return Ok(None);
        };
        self.0 = left;
        Ok(Some(
            single_write(put_board(append_to_global(&format!("{left},"))))
                .with_event(task_event(1)),
        ))
    }
}

/// A stream of changesets can change boards too, each seeing those before it; a conflict undoes all of them.
pub async fn stream_may_change_boards(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let refused = store.commit_stream(&mut AppendSource(3)).await.unwrap();
    assert!(matches!(refused, CommitOutcome::Conflict(_)), "{refused:?}");
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), ""))),
    )
    .await;
    let outcome = store.commit_stream(&mut AppendSource(600)).await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let expected: String = (0..600).rev().map(|n| format!("{n},")).collect();
    assert_eq!(read_newest_text(&store, "global").await, expected);
    assert_eq!(read_head(&store, "global").await.version, 601);
}
