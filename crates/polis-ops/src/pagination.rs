//! Cursor pagination of lists that are loaded completely: truncates a page, and finds the cursor of the next
//! one.

use polis_core::number::saturating_cast;

/// Truncates the list to `limit` entries. Returns the last remaining entry if any were removed.
pub(crate) fn truncate_page<T>(all: &mut Vec<T>, limit: Option<u32>) -> Option<&T> {
    let max_entries = limit.map_or(usize::MAX, |max_entries| {
        saturating_cast::<usize>(max_entries.max(1))
    });
    if all.len() <= max_entries {
        return None;
    }
    all.truncate(max_entries);
    all.last()
}
