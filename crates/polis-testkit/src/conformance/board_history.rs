//! Conformance tests of the store ports, for a board's history of versions, and how long versions are kept.

use std::sync::Arc;

use polis_core::board::{BoardChange, BoardWrite};
use polis_ops::port::Store;

use super::board_fixtures::{
    append_line_to_global, append_to_global, board_name, overwrite_global, put_board, read_head,
    read_version_text, splice_global, with_board,
};
use super::store_fixtures::{
    commit_changeset, empty_changeset, open_store, single_write, timestamp_after_start,
};
use crate::{MemoryStore, SeededRng, StoreFactory};

/// `board_versions` returns the newest versions of a board, newest first, at most `limit`.
pub async fn board_history_is_newest_first_and_limited(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    for board in ["global", "top"] {
        commit_changeset(
            &store,
            single_write(put_board(with_board(board, overwrite_global(Some(0), "")))),
        )
        .await;
        for _ in 0..6 {
            commit_changeset(
                &store,
                single_write(put_board(with_board(board, append_to_global("x")))),
            )
            .await;
        }
    }
    for (limit, newest) in [(0, vec![]), (1, vec![7]), (3, vec![7, 6, 5])] {
        let found = store
            .board_versions(&board_name("top"), limit)
            .await
            .unwrap();
        let versions: Vec<u64> = found.iter().map(|entry| entry.version).collect();
        assert_eq!(versions, newest);
    }
    for limit in [7, 8, u32::MAX] {
        let found = store
            .board_versions(&board_name("top"), limit)
            .await
            .unwrap();
        let versions: Vec<u64> = found.iter().map(|entry| entry.version).collect();
        assert_eq!(versions, [7, 6, 5, 4, 3, 2, 1]);
    }
}

/// `board_text` returns `None` for a version that the history does not contain: below the first or above the
/// newest.
pub async fn nonexistent_board_version_has_no_text(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(
        &store,
        single_write(put_board(overwrite_global(Some(0), "a"))),
    )
    .await;
    commit_changeset(&store, single_write(put_board(append_to_global("b")))).await;
    for version in [0, 3, 900, u64::MAX] {
        let found = store
            .board_text(&board_name("global"), version)
            .await
            .unwrap();
        assert_eq!(found, None, "version {version}");
    }
    assert_eq!(read_version_text(&store, "global", 1).await, "a");
    assert_eq!(read_version_text(&store, "global", 2).await, "ab");
}

/// Versions beyond the limit are eventually deleted: the history does not grow with every whole text.
pub async fn board_versions_beyond_limit_are_deleted(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    for n in 0..40_u64 {
        let mut write = overwrite_global(Some(n), &n.to_string());
        write.max_versions = 3;
        commit_changeset(&store, single_write(put_board(write))).await;
    }
    // An addition keeps the whole text that it is appended to.
    for n in 40..50_u64 {
        let mut write = append_to_global(",");
        write.max_versions = 3;
        assert_eq!(
            commit_changeset(&store, single_write(put_board(write)))
                .await
                .board,
            Some(n + 1)
        );
    }
    let found = store
        .board_versions(&board_name("global"), 99)
        .await
        .unwrap();
    assert!((3..=13).contains(&found.len()), "{} are left", found.len());
    assert_eq!(read_version_text(&store, "global", 48).await, "39,,,,,,,,");
    for version in [1, 20, 36] {
        let deleted = store
            .board_text(&board_name("global"), version)
            .await
            .unwrap();
        assert_eq!(deleted, None);
    }
}

/// The newest versions, as many as `keep_versions` says, always exist, for any mixture of whole texts,
/// additions and splices, and match those of the in-memory store.
pub async fn newest_board_versions_match_model(factory: &dyn StoreFactory) {
    const KEEP: u32 = 3;
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let model: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut rng = SeededRng::from_seed(300);
    for board in ["global", "blackboard/notes.md"] {
        // The texts of all versions, starting with version 1.
        let mut texts: Vec<String> = Vec::new();
        while texts.len() < 300 {
            let mut all = empty_changeset();
            all.at = timestamp_after_start(texts.len() as i64);
            for _ in 0..=rng.below(3) {
                let (mut write, text) = random_change(&mut rng, &texts);
                write.max_versions = KEEP;
                all.writes.push(put_board(with_board(board, write)));
                texts.push(text);
            }
            let receipt = commit_changeset(&store, all.clone()).await;
            assert_eq!(receipt.board, Some(texts.len() as u64));
            commit_changeset(&model, all).await;
            assert_same_history(&other, &model, board, &texts, KEEP).await;
        }
    }
}

/// Asserts that a board's history matches that of the in-memory store (`model`), and that every version has
/// its original text.
async fn assert_same_history(
    store: &Arc<dyn Store>,
    model: &Arc<dyn Store>,
    board: &str,
    texts: &[String],
    limit: u32,
) {
    let now = read_head(store, board).await;
    assert_eq!(now, read_head(model, board).await);
    let newest = store
        .board_versions(&board_name(board), limit)
        .await
        .unwrap();
    let expected = model
        .board_versions(&board_name(board), limit)
        .await
        .unwrap();
    assert_eq!(newest, expected);
    let oldest = now.oldest_kept_version(limit);
    for (text, version) in texts.iter().zip(1_u64..) {
        // All versions near the end, and a sample of those that may be deleted.
        if version + 8 < oldest && version % 16 != oldest % 16 {
            continue;
        }
        let found = store.board_text(&board_name(board), version).await.unwrap();
        if version >= oldest {
            assert_eq!(read_version_text(model, board, version).await, *text);
            assert!(
                found.is_some(),
                "version {version} of {} is missing",
                now.version
            );
        }
        assert!(found.is_none_or(|found| *found.text == *text));
    }
}

/// Returns a random change and the resulting text.
fn random_change(rng: &mut SeededRng, texts: &[String]) -> (BoardWrite, String) {
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
    let word = *rng.choose(&WORDS);
    let Some(before) = texts.last().filter(|_| !rng.one_in(9)) else {
        return (overwrite_global(Some(version), word), word.to_owned());
    };
    let mut write = match rng.below(3) {
        0 => append_to_global(word),
        1 => append_line_to_global(word),
        _ => random_splice(rng, version, before, word),
    };
    let after = match &write.change {
        BoardChange::Splice(part) => {
            let mut text = before.clone();
            text.replace_range(part.start..part.start + part.removed, &part.text);
            text
        }
        BoardChange::Add { on_new_line, .. } => {
            let ended = before.is_empty() || before.ends_with('\n');
            let line_end = if *on_new_line && !ended { "\n" } else { "" };
            format!("{before}{line_end}{word}")
        }
        BoardChange::Whole(_) => word.to_owned(),
    };
    if write.expect.is_none() && rng.one_in(3) {
        write.expect = Some(version);
    }
    (write, after)
}

fn random_splice(rng: &mut SeededRng, version: u64, text: &str, word: &str) -> BoardWrite {
    let offsets: Vec<usize> = (0..=text.len())
        .filter(|n| text.is_char_boundary(*n))
        .collect();
    let (one, two) = (*rng.choose(&offsets), *rng.choose(&offsets));
    let (start, end) = (one.min(two), one.max(two));
    // A splice that reaches the end must insert something there: the head cannot determine how the rest ends.
    let word = if end == text.len() && word.is_empty() {
        "。"
    } else {
        word
    };
    splice_global(version, start, end - start, word)
}
