//! LRU cache of board texts, so that an unchanged board is not read from disk again.

use std::collections::HashMap;
use std::sync::Arc;

use polis_core::board::BoardName;

/// Maximum number of cached boards, as the whiteboard design specifies.
const MOST: usize = 50;
/// Maximum total size of the cached texts in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The cached texts, at most one version per board.
#[derive(Debug, Default)]
pub(super) struct Texts {
    entries: HashMap<BoardName, Entry>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    version: u64,
    text: Arc<String>,
    used: u64,
}

impl Texts {
    pub(super) fn get(&mut self, name: &BoardName, version: u64) -> Option<Arc<String>> {
        self.uses += 1;
        let entry = self.entries.get_mut(name)?;
        entry.used = self.uses;
        (entry.version == version).then(|| Arc::clone(&entry.text))
    }

    pub(super) fn put(&mut self, name: &BoardName, version: u64, text: Arc<String>) {
        self.forget(name);
        if text.len() > MOST_BYTES {
            return;
        }
        self.make_room(MOST - 1, MOST_BYTES - text.len());
        self.uses += 1;
        self.bytes += text.len();
        let entry = Entry {
            version,
            text,
            used: self.uses,
        };
        self.entries.insert(name.clone(), entry);
    }

    /// Appends to a cached text if no other reader holds it; else evicts it.
    pub(super) fn extend(&mut self, name: &BoardName, from: u64, to: u64, added: &str) {
        let Some(entry) = self.entries.get_mut(name) else {
            return;
        };
        match Arc::get_mut(&mut entry.text) {
            Some(text) if entry.version == from => {
                text.push_str(added);
                entry.version = to;
                self.uses += 1;
                entry.used = self.uses;
                self.bytes += added.len();
                self.make_room(MOST, MOST_BYTES);
            }
            _ => self.forget(name),
        }
    }

    /// Evicts the least recently used entries until at most `entries` and `bytes` remain.
    fn make_room(&mut self, entries: usize, bytes: usize) {
        while self.entries.len() > entries || self.bytes > bytes {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, name: &BoardName) {
        if let Some(entry) = self.entries.remove(name) {
            self.bytes -= entry.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: usize) -> BoardName {
        BoardName::Bottom(format!("a{n}").parse().unwrap())
    }

    #[test]
    fn the_least_used_goes_first() {
        let mut texts = Texts::default();
        for n in 0..MOST {
            texts.put(&name(n), 1, Arc::new(format!("{n}")));
        }
        assert!(texts.get(&name(0), 1).is_some());
        texts.put(&name(MOST), 1, Arc::new("new".to_owned()));
        assert!(texts.get(&name(0), 1).is_some());
        assert!(texts.get(&name(1), 1).is_none());
        assert!(texts.get(&name(2), 2).is_none(), "another version");
    }

    #[test]
    fn bytes_are_bounded_and_counted() {
        let mut texts = Texts::default();
        for n in 0..10 {
            texts.put(&name(n), 1, Arc::new("x".repeat(10 << 20)));
        }
        assert_eq!(texts.entries.len(), 6);
        texts.extend(&name(9), 1, 2, "yy");
        assert_eq!(
            texts.get(&name(9), 2).map(|t| t.len()),
            Some((10 << 20) + 2)
        );
        let held = texts.get(&name(9), 2);
        texts.extend(&name(9), 2, 3, "z");
        assert!(texts.get(&name(9), 3).is_none());
        drop(held);
        for n in 0..MOST {
            texts.put(&name(n), 1, Arc::new(String::new()));
        }
        for n in 0..MOST {
            texts.extend(&name(n), 1, 2, &"x".repeat(10 << 20));
        }
        assert_eq!(texts.entries.len(), 6);
        let sum: usize = texts.entries.values().map(|e| e.text.len()).sum();
        assert_eq!(texts.bytes, sum);
    }
}
