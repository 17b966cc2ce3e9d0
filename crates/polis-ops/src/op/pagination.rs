//! Pagination of lists that are loaded completely.

/// Truncates the list to `limit` entries. Returns the last remaining entry if any were removed.
pub(super) fn page<T>(all: &mut Vec<T>, limit: Option<u32>) -> Option<&T> {
    let most = limit.map_or(usize::MAX, |most| {
        usize::try_from(most.max(1)).unwrap_or(usize::MAX)
    });
    if all.len() <= most {
        return None;
    }
    all.truncate(most);
    all.last()
}
