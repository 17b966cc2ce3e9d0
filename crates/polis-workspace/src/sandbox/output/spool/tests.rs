//! Tests of spool files: created late, bounded, private, and the oldest removed first.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;

fn test_spool_directory(directory: &Path) -> SpoolDirectory {
    SpoolDirectory {
        directory: directory.into(),
        file_quota: 100,
        directory_quota: 250,
    }
}

fn spool_bytes(spool_directory: &SpoolDirectory, bytes: &[u8]) -> Option<SpoolFile> {
    let mut spool = OutputSpool::new(spool_directory.clone());
    spool.push(bytes);
    spool.start_file();
    spool.finish()
}

fn file_names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Sets the modification time of a file `hours` into the past.
fn set_age_hours(path: &Path, hours: u64) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - hours * 3_600);
    OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(then)
        .unwrap();
}

#[test]
fn spool_creates_no_file_before_start() {
    let scratch = tempfile::tempdir().unwrap();
    let mut spool = OutputSpool::new(test_spool_directory(&scratch.path().join("a/b")));
    spool.push(b"kept");
    assert_eq!(file_names(scratch.path()), [""; 0]);
    spool.start_file();
    spool.push(b", written");
    spool.start_file();
    let spooled = spool.finish().unwrap();
    let path = scratch.path().join("a/b").join(&spooled.name);
    assert_eq!(fs::read(&path).unwrap(), b"kept, written");
    assert_eq!((spooled.bytes, spooled.is_truncated), (13, false));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&scratch.path().join("a/b")), 0o700);

    let mut never = OutputSpool::new(test_spool_directory(&scratch.path().join("c")));
    never.push(b"kept");
    assert_eq!(never.finish(), None);
    assert!(!scratch.path().join("c").exists());
}

#[test]
fn spool_file_stops_at_its_quota() {
    let scratch = tempfile::tempdir().unwrap();
    for (sizes, bytes, cut) in [
        (&[100][..], 100, false),
        (&[101], 100, true),
        (&[60, 40], 100, false),
        (&[60, 41], 100, true),
        (&[60, 41, 1], 100, true),
        (&[250, 250], 100, true),
    ] {
        let mut spool = OutputSpool::new(test_spool_directory(scratch.path()));
        for size in sizes {
            spool.push(&vec![b'x'; *size]);
            spool.start_file();
        }
        let spooled = spool.finish().unwrap();
        assert_eq!(
            (spooled.bytes, spooled.is_truncated),
            (bytes, cut),
            "{sizes:?}"
        );
        let length = fs::metadata(scratch.path().join(&spooled.name))
            .unwrap()
            .len();
        assert_eq!(length, bytes, "{sizes:?}");
    }
}

#[test]
fn spool_without_creatable_directory_writes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "in the way").unwrap();
    assert_eq!(spool_bytes(&test_spool_directory(&file), b"output"), None);
    assert_eq!(
        spool_bytes(&test_spool_directory(&file.join("below")), b"output"),
        None
    );
    assert_eq!(fs::read(&file).unwrap(), b"in the way");
}

#[test]
fn full_disk_truncates_the_spool_file() {
    // Every write to it fails as on a full disk.
    let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut spool = OutputSpool {
        directory: test_spool_directory(Path::new("/nowhere")),
        state: SpoolState::Writing {
            file,
            spooled: SpoolFile {
                name: "output-0-0.txt".into(),
                bytes: 7,
                is_truncated: false,
            },
        },
    };
    spool.push(b"more");
    spool.push(b"and more");
    let spooled = spool.finish().unwrap();
    assert_eq!((spooled.bytes, spooled.is_truncated), (7, true));
}

#[test]
fn empty_spool_file_is_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let nothing = SpoolDirectory {
        file_quota: 0,
        ..test_spool_directory(scratch.path())
    };
    assert_eq!(spool_bytes(&nothing, b"output"), None);
    assert_eq!(file_names(scratch.path()), [""; 0]);
}

#[test]
fn oldest_spool_files_are_removed_first() {
    let scratch = tempfile::tempdir().unwrap();
    let spool_directory = test_spool_directory(scratch.path());
    fs::write(scratch.path().join("notes.txt"), [b'n'; 1_000]).unwrap();
    let first = spool_bytes(&spool_directory, &[b'1'; 90]).unwrap().name;
    let second = spool_bytes(&spool_directory, &[b'2'; 90]).unwrap().name;
    set_age_hours(&scratch.path().join(&first), 1);
    set_age_hours(&scratch.path().join(&second), 2);
    // 90 + 90 + 70 is just within 250.
    let third = spool_bytes(&spool_directory, &[b'3'; 70]).unwrap().name;
    assert_eq!(file_names(scratch.path()).len(), 4);
    // One byte more exceeds the quota: the second file is the oldest.
    let fourth = spool_bytes(&spool_directory, b"4").unwrap().name;
    let mut expected = vec!["notes.txt".into(), first, third, fourth];
    expected.sort();
    assert_eq!(file_names(scratch.path()), expected);
}

#[test]
fn newest_spool_file_is_kept_over_quota() {
    let scratch = tempfile::tempdir().unwrap();
    let tiny = SpoolDirectory {
        directory_quota: 0,
        ..test_spool_directory(scratch.path())
    };
    let first = spool_bytes(&tiny, b"first").unwrap().name;
    assert_eq!(file_names(scratch.path()), [first]);
    let second = spool_bytes(&tiny, b"second").unwrap().name;
    assert_eq!(file_names(scratch.path()), [second]);
}

#[test]
fn spool_file_being_written_is_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let tiny = SpoolDirectory {
        directory_quota: 0,
        ..test_spool_directory(scratch.path())
    };
    let mut running = OutputSpool::new(tiny.clone());
    running.push(b"first");
    running.start_file();
    let other = spool_bytes(&tiny, b"other").unwrap().name;
    assert_eq!(file_names(scratch.path()).len(), 2);
    running.push(b", second");
    let running = running.finish().unwrap().name;
    assert_ne!(running, other);
    assert_eq!(file_names(scratch.path()), std::slice::from_ref(&running));
    assert_eq!(
        fs::read(scratch.path().join(running)).unwrap(),
        b"first, second"
    );
}

#[test]
fn existing_spool_names_are_skipped() {
    let scratch = tempfile::tempdir().unwrap();
    let name = |number: u64| format!("{SPOOL_PREFIX}{}-{number}{SPOOL_SUFFIX}", process::id());
    let file_name = spool_bytes(&test_spool_directory(scratch.path()), b"x")
        .unwrap()
        .name;
    let number: u64 = file_name
        .trim_end_matches(SPOOL_SUFFIX)
        .rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap();
    assert_eq!(file_name, name(number));
    for existing in number + 1..number + 50 {
        fs::write(scratch.path().join(name(existing)), "old").unwrap();
    }
    let next = spool_bytes(&test_spool_directory(scratch.path()), b"new")
        .unwrap()
        .name;
    assert_eq!(fs::read(scratch.path().join(next)).unwrap(), b"new");
    assert_eq!(
        fs::read(scratch.path().join(name(number + 49))).unwrap(),
        b"old"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn spool_file_is_a_prefix_of_the_output(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..8),
        start in 0_usize..8,
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let mut spool = OutputSpool::new(test_spool_directory(scratch.path()));
        for (number, piece) in pieces.iter().enumerate() {
            spool.push(piece);
            if number == start {
                spool.start_file();
            }
        }
        let whole = pieces.concat();
        match spool.finish() {
            None => prop_assert!(start >= pieces.len() || whole.is_empty()),
            Some(spooled) => {
                let written = fs::read(scratch.path().join(spooled.name)).unwrap();
                prop_assert_eq!(&written, &whole[..whole.len().min(100)]);
                prop_assert_eq!(spooled.bytes, written.len() as u64);
                prop_assert_eq!(spooled.is_truncated, whole.len() > 100);
            }
        }
    }
}
