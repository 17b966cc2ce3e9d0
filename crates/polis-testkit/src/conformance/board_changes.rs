//! Port guarantees: changes of a board's text (whole texts, additions, splices).

use std::collections::BTreeSet;
use std::sync::Arc;

use polis_core::changeset::Changeset;
use polis_ops::PortError;
use polis_ops::port::{ChangesetSource, Outcome};

use super::board_sample::{
    add, add_line, conflicts, head, lease, leased, on, splice, text, text_of, whole, written,
};
use super::sample::{
    changes, commit, contents, create, event, fill, only, open, record, replace, task,
};
use crate::Ground;

/// Appending to a board without text, or changing a part of it, is a conflict.
pub async fn nothing_is_added_to_a_board_that_has_not_begun(ground: &dyn Ground) {
    let store = open(ground).await;
    let held = lease("user", "t", 1_000);
    commit(&store, only(leased("top", None, Some(&held)))).await;
    for board in ["global", "top"] {
        for write in [add("x"), add_line(""), splice(0, 0, 0, "x")] {
            conflicts(&store, board, only(written(on(board, write)))).await;
        }
    }
    assert_eq!(store.boards().await.unwrap().len(), 1);
    assert_eq!(head(&store, "top").await.version, 0);
}

/// Of several changes that expect the same version, made concurrently from several handles, exactly one is
/// committed; this includes the first version.
pub async fn of_changes_to_one_version_one_is_committed(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    for version in 0..10_u64 {
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let write = if version > 0 && n > 3 {
                splice(version, 0, 1, &n.to_string())
            } else {
                whole(Some(version), &n.to_string())
            };
            let all = only(written(write)).event(event(n as u64 + 1));
            tokio::spawn(async move { (n, store.commit(all).await.unwrap()) })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            if let (n, Outcome::Committed(receipt)) = rival.await.unwrap() {
                assert_eq!(receipt.board, Some(version + 1));
                winners.push(n.to_string());
            }
        }
        assert_eq!(winners, [text(&handles[1], "global").await]);
    }
    assert_eq!(handles[0].last_sequence().await.unwrap(), 10);
}

/// If a board is not at the expected version, the changeset conflicts and none of it is applied: no write
/// before or after the board write, and no event.
pub async fn a_board_at_another_version_leaves_nothing_of_a_changeset(ground: &dyn Ground) {
    let store = open(ground).await;
    fill(&store, &[record(1)]).await;
    for text in ["one\n", "two\n"] {
        commit(&store, only(written(whole(None, text)))).await;
    }
    let before = contents(&store).await;
    for stale in [
        whole(Some(1), "x"),
        whole(Some(0), "x"),
        whole(Some(4), "x"),
        splice(1, 0, 3, "x"),
        splice(9, 0, 0, "x"),
    ] {
        let first = task(&store, 1).await;
        let all = changes()
            .write(create("new"))
            .write(written(whole(Some(2), "first")))
            .write(written(on("top", whole(Some(0), "new"))))
            .write(leased("mid/a", None, Some(&lease("user", "t", 1_000))))
            .write(written(stale))
            .write(replace(&first, |t| t.owner = "a".to_owned()))
            .event(event(1));
        conflicts(&store, "global", all).await;
        assert_eq!(contents(&store).await, before);
    }
    // Neither is a board changed if another write conflicts.
    let mut old = record(1);
    old.revision = 7;
    let all = only(written(add("x"))).write(replace(&old, |_| ()));
    assert!(matches!(
        store.commit(all).await.unwrap(),
        Outcome::Conflict(_)
    ));
    assert_eq!(contents(&store).await, before);
}

/// Additions without an expected version commute: made concurrently from eight handles none conflicts, and
/// the text contains each of them once, in the order of their versions.
pub async fn additions_to_a_board_commute(ground: &dyn Ground) {
    const HANDLES: usize = 8;
    const EACH: usize = 25;
    let store = open(ground).await;
    commit(&store, only(written(whole(Some(0), "# 日志")))).await;
    let mut adding = Vec::new();
    for n in 0..HANDLES {
        let store = open(ground).await;
        adding.push(tokio::spawn(async move {
            // Several concurrent additions per handle too, so that they share a transaction.
            let all = (0..EACH).map(|part| {
                let store = Arc::clone(&store);
                let line = format!("- {n}.{part} 完成");
                tokio::spawn(async move {
                    let added = only(written(add_line(&line))).event(event(1));
                    (commit(&store, added).await.board.unwrap(), line)
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
    assert_eq!(text(&store, "global").await, expected);
    // And every intermediate version.
    for (version, line) in &added {
        let found = text_of(&store, "global", *version).await;
        assert!(expected.starts_with(&found) && found.ends_with(line));
    }
}

/// An addition on a new line inserts a line break if the text does not end with one.
pub async fn an_addition_begins_on_a_new_line_if_asked(ground: &dyn Ground) {
    let store = open(ground).await;
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
        commit(&store, only(written(whole(None, before)))).await;
        commit(&store, only(written(add_line(added)))).await;
        assert_eq!(text(&store, "global").await, after);
        commit(&store, only(written(add("y")))).await;
        assert_eq!(text(&store, "global").await, format!("{after}y"));
        commit(&store, only(written(add_line("z")))).await;
        assert_eq!(text(&store, "global").await, format!("{after}y\nz"));
    }
    // This includes text that ends with a splice.
    commit(&store, only(written(whole(None, "a\nb")))).await;
    let version = head(&store, "global").await.version;
    commit(&store, only(written(splice(version, 2, 1, "c\n")))).await;
    commit(&store, only(written(add_line("d")))).await;
    assert_eq!(text(&store, "global").await, "a\nc\nd");
    commit(&store, only(written(splice(version + 2, 0, 2, "é")))).await;
    commit(&store, only(written(add_line("e")))).await;
    assert_eq!(text(&store, "global").await, "éc\nd\ne");
}

/// A splice replaces a byte range, regardless of the characters.
pub async fn a_part_is_changed_where_it_stands(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut expected = "后端 🚀 'q\" \\ %_ $1 ? -- ;\r\n\ttab e\u{301} 后端".to_owned();
    commit(&store, only(written(whole(Some(0), &expected)))).await;
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
        commit(
            &store,
            only(written(splice(version, start, old.len(), new))),
        )
        .await;
        assert_eq!(text(&store, "global").await, expected);
    }
    commit(&store, only(written(splice(7, 0, 0, "首")))).await;
    assert_eq!(text(&store, "global").await, format!("首{expected}"));
}

/// A change that would exceed a board's size limit is a conflict; one that reaches the limit exactly is not.
pub async fn a_board_does_not_grow_beyond_its_limit(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(written(whole(Some(0), "后端")))).await;
    let steps = [
        (add("x"), 7),
        (add_line("x"), 9),
        (splice(3, 0, 3, "后端"), 12),
        (splice(4, 0, 6, "a"), 7),
        (whole(Some(5), "12345678"), 8),
    ];
    for ((mut write, size), version) in steps.into_iter().zip(1..) {
        write.limit = size - 1;
        conflicts(&store, "global", only(written(write.clone()))).await;
        assert_eq!(head(&store, "global").await.version, version);
        write.limit = size;
        commit(&store, only(written(write))).await;
        assert_eq!(text(&store, "global").await.len() as u64, size);
    }
}

/// One changeset may contain several board changes: each sees those before it, and the receipt names the
/// version of the last.
pub async fn a_changeset_changes_a_board_several_times(ground: &dyn Ground) {
    let store = open(ground).await;
    let held = lease("user", "t", 1_000);
    let all = changes()
        .write(written(whole(Some(0), "a\nb")))
        .write(written(on("top", whole(None, "top"))))
        .write(written(add_line("c")))
        .write(leased("global", None, Some(&held)))
        .write(written(splice(2, 2, 1, "B")))
        .write(leased("global", Some(&held), None))
        .write(written(add("!")))
        .event(event(1));
    assert_eq!(commit(&store, all).await.board, Some(4));
    assert_eq!(text(&store, "global").await, "a\nB\nc!");
    assert_eq!(head(&store, "global").await.lease, None);
    for (version, expected) in [(1, "a\nb"), (2, "a\nb\nc"), (3, "a\nB\nc")] {
        assert_eq!(text_of(&store, "global", version).await, expected);
    }
    assert_eq!(text(&store, "top").await, "top");
    let both = only(written(add("x"))).write(written(on("top", add("y"))));
    assert_eq!(commit(&store, both).await.board, Some(2));

    // The second change sees the version created by the first.
    let before = contents(&store).await;
    let both = only(written(whole(Some(5), "x"))).write(written(whole(Some(5), "y")));
    conflicts(&store, "global", both).await;
    assert_eq!(contents(&store).await, before);
    // A changeset without board changes names no version.
    assert_eq!(commit(&store, only(create("task"))).await.board, None);
}

/// A source of this many additions to one board, one changeset each.
struct Additions(u32);

impl ChangesetSource for Additions {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        let Some(left) = self.0.checked_sub(1) else {
            return Ok(None);
        };
        self.0 = left;
        Ok(Some(
            only(written(add(&format!("{left},")))).event(event(1)),
        ))
    }
}

/// A stream of changesets can change boards too, each seeing those before it; a conflict undoes all of them.
pub async fn a_stream_changes_boards(ground: &dyn Ground) {
    let store = open(ground).await;
    let refused = store.commit_stream(&mut Additions(3)).await.unwrap();
    assert!(matches!(refused, Outcome::Conflict(_)), "{refused:?}");
    commit(&store, only(written(whole(Some(0), "")))).await;
    let outcome = store.commit_stream(&mut Additions(600)).await.unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    let expected: String = (0..600).rev().map(|n| format!("{n},")).collect();
    assert_eq!(text(&store, "global").await, expected);
    assert_eq!(head(&store, "global").await.version, 601);
}
