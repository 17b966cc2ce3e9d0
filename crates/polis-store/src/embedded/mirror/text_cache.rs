//! LRU cache of board texts, so that an unchanged board is not read from disk again. It has at most one
//! version of each board, and is limited by the number of boards and by their size.

use std::collections::HashMap;
use std::sync::Arc;

use polis_core::board::BoardName;

/// Maximum number of cached boards.
const MAX_CACHED_BOARDS: usize = 50;
/// Maximum total size of the cached texts in bytes.
const MAX_CACHED_BYTES: usize = 64 << 20;

/// The cached texts, at most one version per board.
#[derive(Debug, Default)]
pub(super) struct BoardTextCache {
    entries: HashMap<BoardName, CachedBoardText>,
    bytes: usize,
    use_counter: u64,
}

#[derive(Debug)]
struct CachedBoardText {
    version: u64,
    text: Arc<String>,
    last_use: u64,
}

impl BoardTextCache {
    pub(super) fn get(&mut self, name: &BoardName, version: u64) -> Option<Arc<String>> {
        self.use_counter += 1;
        let entry = self.entries.get_mut(name)?;
        entry.last_use = self.use_counter;
        (entry.version == version).then(|| Arc::clone(&entry.text))
    }

    pub(super) fn insert(&mut self, name: &BoardName, version: u64, text: Arc<String>) {
        self.evict(name);
        if text.len() > MAX_CACHED_BYTES {
            return;
        }
        self.evict_until(MAX_CACHED_BOARDS - 1, MAX_CACHED_BYTES - text.len());
        self.use_counter += 1;
        self.bytes += text.len();
        let entry = CachedBoardText {
            version,
            text,
            last_use: self.use_counter,
        };
        self.entries.insert(name.clone(), entry);
    }

    /// Appends to a cached text if no other reader holds it; else evicts it.
    pub(super) fn append(&mut self, name: &BoardName, from: u64, to: u64, added: &str) {
        let Some(entry) = self.entries.get_mut(name) else {
            return;
        };
        match Arc::get_mut(&mut entry.text) {
            Some(text) if entry.version == from => {
                text.push_str(added);
                entry.version = to;
                self.use_counter += 1;
                entry.last_use = self.use_counter;
                self.bytes += added.len();
                self.evict_until(MAX_CACHED_BOARDS, MAX_CACHED_BYTES);
            }
            _ => self.evict(name),
        }
    }

    /// Evicts the least recently used entries until at most `entries` and `bytes` remain.
    fn evict_until(&mut self, entries: usize, bytes: usize) {
        while self.entries.len() > entries || self.bytes > bytes {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            self.evict(&oldest);
        }
    }

    fn evict(&mut self, name: &BoardName) {
        if let Some(entry) = self.entries.remove(name) {
            self.bytes -= entry.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board_name(n: usize) -> BoardName {
        BoardName::Bottom(format!("a{n}").parse().unwrap())
    }

    #[test]
    fn least_recently_used_is_evicted_first() {
        let mut texts = BoardTextCache::default();
        for n in 0..MAX_CACHED_BOARDS {
            texts.insert(&board_name(n), 1, Arc::new(format!("{n}")));
        }
        assert!(texts.get(&board_name(0), 1).is_some());
        texts.insert(
            &board_name(MAX_CACHED_BOARDS),
            1,
            Arc::new("new".to_owned()),
        );
        assert!(texts.get(&board_name(0), 1).is_some());
        assert!(texts.get(&board_name(1), 1).is_none());
        assert!(texts.get(&board_name(2), 2).is_none(), "another version");
    }

    #[test]
    fn cache_size_is_bounded_and_counted() {
        let mut texts = BoardTextCache::default();
        for n in 0..10 {
            texts.insert(&board_name(n), 1, Arc::new("x".repeat(10 << 20)));
        }
        assert_eq!(texts.entries.len(), 6);
        texts.append(&board_name(9), 1, 2, "yy");
        assert_eq!(
            texts.get(&board_name(9), 2).map(|t| t.len()),
            Some((10 << 20) + 2)
        );
        let shared_text = texts.get(&board_name(9), 2);
        texts.append(&board_name(9), 2, 3, "z");
        assert!(texts.get(&board_name(9), 3).is_none());
        drop(shared_text);
        for n in 0..MAX_CACHED_BOARDS {
            texts.insert(&board_name(n), 1, Arc::new(String::new()));
        }
        for n in 0..MAX_CACHED_BOARDS {
            texts.append(&board_name(n), 1, 2, &"x".repeat(10 << 20));
        }
        assert_eq!(texts.entries.len(), 6);
        let sum: usize = texts.entries.values().map(|e| e.text.len()).sum();
        assert_eq!(texts.bytes, sum);
    }
}
