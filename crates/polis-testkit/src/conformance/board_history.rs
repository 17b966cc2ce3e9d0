//! Port guarantees: a board's history of versions, and how long versions are kept.

use std::sync::Arc;

use polis_core::board::{BoardWrite, Change};
use polis_ops::port::Store;

use super::board_sample::{add, add_line, head, named, on, splice, text_of, whole, written};
use super::sample::{changes, commit, moment, only, open};
use crate::{Dice, Ground, MemoryStore};

/// `board_versions` returns the newest versions of a board, newest first, at most `limit`.
pub async fn history_is_newest_first_and_limited(ground: &dyn Ground) {
    let store = open(ground).await;
    for board in ["global", "top"] {
        commit(&store, only(written(on(board, whole(Some(0), ""))))).await;
        for _ in 0..6 {
            commit(&store, only(written(on(board, add("x"))))).await;
        }
    }
    for (limit, newest) in [(0, vec![]), (1, vec![7]), (3, vec![7, 6, 5])] {
        let found = store.board_versions(&named("top"), limit).await.unwrap();
        let versions: Vec<u64> = found.iter().map(|entry| entry.version).collect();
        assert_eq!(versions, newest);
    }
    for limit in [7, 8, u32::MAX] {
        let found = store.board_versions(&named("top"), limit).await.unwrap();
        let versions: Vec<u64> = found.iter().map(|entry| entry.version).collect();
        assert_eq!(versions, [7, 6, 5, 4, 3, 2, 1]);
    }
}

/// `board_text` returns `None` for a version that the log does not contain, in either direction.
pub async fn a_version_that_was_not_made_is_not_there(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(written(whole(Some(0), "a")))).await;
    commit(&store, only(written(add("b")))).await;
    for version in [0, 3, 900, u64::MAX] {
        let found = store.board_text(&named("global"), version).await.unwrap();
        assert_eq!(found, None, "version {version}");
    }
    assert_eq!(text_of(&store, "global", 1).await, "a");
    assert_eq!(text_of(&store, "global", 2).await, "ab");
}

/// Versions beyond the limit are eventually deleted: a log does not grow with every whole text.
pub async fn versions_beyond_those_kept_go(ground: &dyn Ground) {
    let store = open(ground).await;
    for n in 0..40_u64 {
        let mut write = whole(Some(n), &n.to_string());
        write.keep = 3;
        commit(&store, only(written(write))).await;
    }
    // An addition keeps the whole text that it is appended to.
    for n in 40..50_u64 {
        let mut write = add(",");
        write.keep = 3;
        assert_eq!(
            commit(&store, only(written(write))).await.board,
            Some(n + 1)
        );
    }
    let found = store.board_versions(&named("global"), 99).await.unwrap();
    assert!((3..=13).contains(&found.len()), "{} are left", found.len());
    assert_eq!(text_of(&store, "global", 48).await, "39,,,,,,,,");
    for version in [1, 20, 36] {
        let gone = store.board_text(&named("global"), version).await.unwrap();
        assert_eq!(gone, None);
    }
}

/// The newest `keep` versions always exist, for any mixture of whole texts, additions and splices, and match
/// the model.
pub async fn the_newest_versions_are_always_there(ground: &dyn Ground) {
    const KEEP: u32 = 3;
    let (store, other) = (open(ground).await, open(ground).await);
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut dice = Dice::of(300);
    for board in ["global", "blackboard/notes.md"] {
        // The texts of all versions, starting with version 1.
        let mut texts: Vec<String> = Vec::new();
        while texts.len() < 300 {
            let mut all = changes();
            all.at = moment(texts.len() as i64);
            for _ in 0..=dice.below(3) {
                let (mut write, text) = any_change(&mut dice, &texts);
                write.keep = KEEP;
                all.writes.push(written(on(board, write)));
                texts.push(text);
            }
            let receipt = commit(&store, all.clone()).await;
            assert_eq!(receipt.board, Some(texts.len() as u64));
            commit(&model, all).await;
            same_history(&other, &model, board, &texts, KEEP).await;
        }
    }
}

/// Asserts that a board's history matches the model and that every version has its original text.
async fn same_history(
    store: &Arc<dyn Store>,
    model: &Arc<dyn Store>,
    board: &str,
    texts: &[String],
    keep: u32,
) {
    let now = head(store, board).await;
    assert_eq!(now, head(model, board).await);
    let newest = store.board_versions(&named(board), keep).await.unwrap();
    let expected = model.board_versions(&named(board), keep).await.unwrap();
    assert_eq!(newest, expected);
    let oldest = now.oldest_kept(keep);
    for (text, version) in texts.iter().zip(1_u64..) {
        // All versions near the end, and a sample of those that may be deleted.
        if version + 8 < oldest && version % 16 != oldest % 16 {
            continue;
        }
        let found = store.board_text(&named(board), version).await.unwrap();
        if version >= oldest {
            assert_eq!(text_of(model, board, version).await, *text);
            assert!(
                found.is_some(),
                "version {version} of {} is gone",
                now.version
            );
        }
        assert!(found.is_none_or(|found| *found.text == *text));
    }
}

/// Returns a random change and the resulting text.
fn any_change(dice: &mut Dice, texts: &[String]) -> (BoardWrite, String) {
    const WORDS: [&str; 8] = [
        "",
        "\n",
        "a",
        "目标\n",
        "🚀",
        "- 完成 e\u{301}",
        "\r\n",
        "two\nlines",
    ];
    let version = texts.len() as u64;
    let word = *dice.pick(&WORDS);
    let Some(before) = texts.last().filter(|_| !dice.once_in(9)) else {
        return (whole(Some(version), word), word.to_owned());
    };
    let mut write = match dice.below(3) {
        0 => add(word),
        1 => add_line(word),
        _ => any_splice(dice, version, before, word),
    };
    let after = match &write.change {
        Change::Splice(part) => {
            let mut text = before.clone();
            text.replace_range(part.start..part.start + part.removed, &part.text);
            text
        }
        Change::Add { on_new_line, .. } => {
            let ended = before.is_empty() || before.ends_with('\n');
            let line_end = if *on_new_line && !ended { "\n" } else { "" };
            format!("{before}{line_end}{word}")
        }
        Change::Whole(_) => word.to_owned(),
    };
    if write.expect.is_none() && dice.once_in(3) {
        write.expect = Some(version);
    }
    (write, after)
}

fn any_splice(dice: &mut Dice, version: u64, text: &str, word: &str) -> BoardWrite {
    let places: Vec<usize> = (0..=text.len())
        .filter(|n| text.is_char_boundary(*n))
        .collect();
    let (one, two) = (*dice.pick(&places), *dice.pick(&places));
    let (start, end) = (one.min(two), one.max(two));
    // A splice that reaches the end must insert something there: the head cannot determine how the rest ends.
    let word = if end == text.len() && word.is_empty() {
        "。"
    } else {
        word
    };
    splice(version, start, end - start, word)
}
