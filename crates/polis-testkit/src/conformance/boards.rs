//! Port guarantees: which boards exist, and that they are stored durably and completely.

use std::time::Duration;

use polis_core::board::{Action, BoardHead, VersionEntry};
use polis_core::{NewEvent, Subject};
use polis_ops::port::EventQuery;

use super::board_sample::{
    add, add_line, head, lease, leased, named, on, splice, text, whole, written,
};
use super::sample::{changes, commit, contents, moment, only, open};
use crate::test_store::agent;
use crate::{Dice, Ground};

/// A board that was never written to or locked does not exist.
pub async fn a_board_that_nobody_touched_is_not_there(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(written(whole(Some(0), "hello\n")))).await;
    for name in ["top", "mid/global", "blackboard/global.md"] {
        let name = named(name);
        assert_eq!(store.board(&name).await.unwrap(), None);
        assert_eq!(store.board_text(&name, 1).await.unwrap(), None);
        assert_eq!(store.board_versions(&name, 9).await.unwrap(), []);
    }
    assert_eq!(store.boards().await.unwrap().len(), 1);
}

/// Every change creates a version with author, time, action and size; the receipt names the version.
pub async fn versions_count_up_and_say_who_made_them(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let steps = [
        ("程序员-2", whole(Some(0), "# 白板\n"), Action::Written, 9),
        ("architect", add("x"), Action::Appended, 10),
        ("user", splice(2, 2, 6, "B"), Action::Edited, 5),
        ("architect", whole(None, ""), Action::Restored, 0),
        ("helper", whole(Some(4), "outside"), Action::External, 7),
    ];
    let mut expected = Vec::new();
    for ((who, mut write, action, bytes), version) in steps.into_iter().zip(1_u64..) {
        write.action = action;
        let mut all = only(written(write));
        all.actor = agent(who);
        all.at = moment(version as i64);
        assert_eq!(commit(&store, all).await.board, Some(version));
        let entry = VersionEntry {
            version,
            by: who.to_owned(),
            at: moment(version as i64),
            bytes,
            action,
        };
        let head = head(&other, "global").await;
        assert_eq!((head.version, head.bytes), (version, bytes));
        assert_eq!((head.by.as_str(), &head.at), (who, &entry.at));
        expected.insert(0, entry);
    }
    let found = other.board_versions(&named("global"), 99).await.unwrap();
    assert_eq!(found, expected);
}

/// A board's events are found by its name.
pub async fn a_boards_event_is_about_the_board(ground: &dyn Ground) {
    let store = open(ground).await;
    let boards = [
        ("global", "board/global"),
        ("bottom/程序员.2", "board/bottom/程序员.2"),
        (
            "blackboard/tasks/7/status.md",
            "blackboard/tasks/7/status.md",
        ),
    ];
    for (name, _) in boards {
        let told = NewEvent::of("test.board", Subject::Board(named(name)), &name);
        let all = only(written(on(name, whole(Some(0), "x")))).event(told);
        commit(&store, all).await;
    }
    for (name, subject) in boards {
        let query = EventQuery {
            subject: Some(subject.to_owned()),
            limit: 9,
            ..EventQuery::default()
        };
        let found = store.events(&query).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].data.to::<String>().as_deref(), Some(name));
    }
}

/// `boards` returns every board that was written to or locked, by name in byte order.
pub async fn boards_are_listed_by_name(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
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
        let held = lease("user", "t", 1_000);
        let write = match name.len() % 2 {
            0 => written(on(name, whole(Some(0), name))),
            _ => leased(name, None, Some(&held)),
        };
        commit(&store, only(write)).await;
    }
    names.sort_unstable();
    let listed = other.boards().await.unwrap();
    let found: Vec<String> = listed.iter().map(|head| head.name.to_string()).collect();
    assert_eq!(found, names);
    for one in listed {
        assert_eq!(head(&other, &one.name.to_string()).await, one);
    }
}

/// The creation time of a store is set once and is the same for every handle.
pub async fn a_store_begins_once(ground: &dyn Ground) {
    let store = open(ground).await;
    let began = store.began_at().await.unwrap();
    assert!(began.millis().is_some_and(|at| at > 0), "{began:?}");
    commit(&store, only(written(whole(Some(0), "x")))).await;
    assert_eq!(open(ground).await.began_at().await.unwrap(), began);
    assert_eq!(store.began_at().await.unwrap(), began);
}

/// A text of ten megabytes is stored unchanged, and can be appended to and spliced.
pub async fn the_largest_board_is_kept(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut dice = Dice::of(10);
    let mut large = String::new();
    while large.len() < 10 << 20 {
        large.push_str(&format!("{:x} 后端 🚀\n", dice.throw()));
    }
    commit(&store, only(written(whole(Some(0), &large)))).await;
    assert!(text(&other, "global").await == large, "it was changed");
    let middle = large.len() / 2;
    let start = (middle..).find(|n| large.is_char_boundary(*n)).unwrap();
    let all = only(written(splice(1, start, 0, "中"))).write(written(add("尾")));
    commit(&store, all).await;
    large.insert(start, '中');
    large.push('尾');
    assert!(text(&other, "global").await == large, "it was changed");
}

/// Boards are readable through a handle that is opened after all others were closed.
pub async fn boards_survive_reopening(ground: &dyn Ground) {
    let store = open(ground).await;
    let held = lease("程序员", "tök", 7);
    let all = changes()
        .write(written(whole(Some(0), "a")))
        .write(written(add_line("b")))
        .write(written(splice(2, 0, 1, "A")))
        .write(leased("top", None, Some(&held)))
        .write(written(on("blackboard/a.md", whole(None, ""))));
    commit(&store, all).await;
    let before = contents(&store).await;
    let expected = BoardHead {
        version: 3,
        bytes: 3,
        ends_line: false,
        by: "user".to_owned(),
        at: moment(0),
        base: 1,
        splices: 1,
        ..BoardHead::new(named("global"))
    };
    drop(store);
    let store = open(ground).await;
    assert_eq!(contents(&store).await, before);
    assert_eq!(head(&store, "global").await, expected);
    assert_eq!(text(&store, "global").await, "A\nb");
    commit(&store, only(written(add_line("c")))).await;
    assert_eq!(text(&store, "global").await, "A\nb\nc");
}

/// A board that is not held can be held, repeatedly.
pub async fn a_board_can_be_held(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    commit(&store, only(written(whole(Some(0), "x")))).await;
    // Including a board that was never written to: that is how it is created.
    for name in [named("global"), named("top")] {
        for handle in [&store, &other, &store] {
            let held = handle.hold_board(&name, Duration::from_secs(10)).await;
            assert!(held.unwrap().is_some());
        }
    }
}
