//! The modification time (mtime) that encodes a version: each version's file is given a distinct mtime, from
//! which the version can be recognised.

use polis_core::Timestamp;

/// Nanoseconds per millisecond: the number of distinguishable versions.
const VERSIONS: u64 = 1_000_000;

/// Returns the mtime of a version's file: when the version was created, with the version number in the
/// sub-millisecond digits, so that two versions of the same millisecond differ.
pub(crate) fn stamp(at: &Timestamp, version: u64) -> i64 {
    let digits = i64::try_from(version % VERSIONS).unwrap_or(0);
    at.millis()
        .unwrap_or(0)
        .saturating_mul(1_000_000)
        .saturating_add(digits)
}

/// Whether a modification time could have been assigned to a version up to this one. The log may no longer
/// contain that version.
pub(super) fn is_like(stamp: i64, version: u64) -> bool {
    let digits = stamp.rem_euclid(1_000_000).unsigned_abs();
    (1..=version.min(VERSIONS)).contains(&digits)
}

/// Timestamp granularities of file systems, in nanoseconds.
const GRAINS: [i64; 5] = [100, 1_000, 10_000_000, 1_000_000_000, 2_000_000_000];

/// Whether a file's mtime is the one it was given. A file system may have truncated it; then it has truncated
/// the ctime too, which programs cannot set.
pub(super) fn is_given(stamp: i64, given: i64, changed: i64) -> bool {
    let cut =
        |grain: &i64| changed.rem_euclid(*grain) == 0 && stamp == given - given.rem_euclid(*grain);
    stamp == given || GRAINS.iter().any(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_tells_its_version() {
        let at = Timestamp::from_millis(1_700_000_000_123);
        assert_ne!(stamp(&at, 7), stamp(&at, 8));
        assert!(is_like(stamp(&at, 7), 7) && is_like(stamp(&at, 7), 9));
        assert!(!is_like(stamp(&at, 8), 7));
        assert!(!is_like(1_700_000_000_000_000_000, 7), "a whole second");
    }

    #[test]
    fn a_stamp_that_was_cut_is_known_again() {
        let given = 1_700_000_001_123_000_007;
        let whole = 1_700_000_001_000_000_000;
        assert!(is_given(given, given, 1_700_000_002_345_678_901));
        assert!(is_given(whole, given, 1_700_000_002_000_000_000));
        assert!(is_given(
            1_700_000_001_123_000_000,
            given,
            1_700_000_002_345_678_900
        ));
        assert!(
            !is_given(whole, given, 1_700_000_002_345_678_901),
            "cut by somebody"
        );
        assert!(!is_given(
            whole + 1_000_000_000,
            given,
            1_700_000_002_000_000_000
        ));
    }
}
