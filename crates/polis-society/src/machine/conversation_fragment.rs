//! Conversation entries as JSON text, ready to be stored.
//!
//! The text is assembled with commas instead of as a list of values for speed: an entry contains a whole
//! message, and a conversation grows to hundreds of kilobytes. Each entry is serialized once, when it is
//! added; a commit, and each repetition of it after a conflict, only copies bytes. The text cannot break the
//! JSON of a turn, because it can only be extended by an entry that serde serialized.

use polis_core::society::turn::ConversationEntry;

/// Entries of a turn as JSON, separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFragment(String);

impl ConversationFragment {
    /// Returns whether it contains no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, entry: &ConversationEntry) {
        // Our own types always serialize; if not, the entry would be stored as an empty note.
        let json =
            serde_json::to_string(entry).unwrap_or_else(|_| "{\"told\":{\"m\":null}}".to_owned());
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&json);
    }

    /// Returns the stored form of a turn with these entries, added at this time (milliseconds).
    pub fn to_turn_json(&self, at: i64) -> String {
        format!("{{\"at\":{at},\"of\":[{}]}}", self.0)
    }
}
