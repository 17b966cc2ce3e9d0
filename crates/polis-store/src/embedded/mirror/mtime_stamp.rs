//! Modification time (mtime) as a version stamp: each version's file is given a distinct mtime, from which
//! the version is recognized without reading the file.

use polis_core::Timestamp;

/// Nanoseconds per millisecond: the number of distinguishable versions.
const DISTINCT_VERSIONS: u64 = 1_000_000;

/// Returns the mtime of a version's file: when the version was created, with the version number in the
/// sub-millisecond digits, so that two versions of the same millisecond differ.
pub(crate) fn version_mtime(at: &Timestamp, version: u64) -> i64 {
    let digits = i64::try_from(version % DISTINCT_VERSIONS).unwrap_or(0);
    at.unix_millis()
        .saturating_mul(1_000_000)
        .saturating_add(digits)
}

/// Whether a modification time could have been assigned to a version up to this one. The log may no longer
/// contain that version.
pub(super) fn may_encode_version(stamp: i64, version: u64) -> bool {
    let digits = stamp.rem_euclid(1_000_000).unsigned_abs();
    (1..=version.min(DISTINCT_VERSIONS)).contains(&digits)
}

/// Timestamp granularities of file systems, in nanoseconds.
const TIMESTAMP_GRANULARITIES: [i64; 5] = [100, 1_000, 10_000_000, 1_000_000_000, 2_000_000_000];

/// Whether a file's mtime is the one it was given. A file system may have truncated it; then it has truncated
/// the ctime too, which programs cannot set.
pub(super) fn is_assigned_mtime(stamp: i64, assigned: i64, changed: i64) -> bool {
    let is_truncated = |grain: &i64| {
        changed.rem_euclid(*grain) == 0 && stamp == assigned - assigned.rem_euclid(*grain)
    };
    stamp == assigned || TIMESTAMP_GRANULARITIES.iter().any(is_truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtime_encodes_version() {
        let at = Timestamp::from_millis(1_700_000_000_123);
        assert_ne!(version_mtime(&at, 7), version_mtime(&at, 8));
        assert!(
            may_encode_version(version_mtime(&at, 7), 7)
                && may_encode_version(version_mtime(&at, 7), 9)
        );
        assert!(!may_encode_version(version_mtime(&at, 8), 7));
        assert!(
            !may_encode_version(1_700_000_000_000_000_000, 7),
            "a whole second"
        );
    }

    #[test]
    fn truncated_mtime_is_recognised() {
        let assigned = 1_700_000_001_123_000_007;
        let whole_second = 1_700_000_001_000_000_000;
        assert!(is_assigned_mtime(
            assigned,
            assigned,
            1_700_000_002_345_678_901
        ));
        assert!(is_assigned_mtime(
            whole_second,
            assigned,
            1_700_000_002_000_000_000
        ));
        assert!(is_assigned_mtime(
            1_700_000_001_123_000_000,
            assigned,
            1_700_000_002_345_678_900
        ));
        assert!(
            !is_assigned_mtime(whole_second, assigned, 1_700_000_002_345_678_901),
            "truncated by another program"
        );
        assert!(!is_assigned_mtime(
            whole_second + 1_000_000_000,
            assigned,
            1_700_000_002_000_000_000
        ));
    }
}
