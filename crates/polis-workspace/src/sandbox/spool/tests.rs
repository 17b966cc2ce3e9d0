//! Files of whole outputs: made late, bounded, private, and the oldest removed.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;

fn place(directory: &Path) -> SpoolPlace {
    SpoolPlace {
        directory: directory.into(),
        file_quota: 100,
        directory_quota: 250,
    }
}

fn write(place: &SpoolPlace, bytes: &[u8]) -> Option<Spooled> {
    let mut spool = Spool::new(place.clone());
    spool.push(bytes);
    spool.start();
    spool.finish()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Makes a file look `hours` old.
fn age(path: &Path, hours: u64) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - hours * 3_600);
    OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(then)
        .unwrap();
}

#[test]
fn no_file_before_it_is_started() {
    let scratch = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(place(&scratch.path().join("a/b")));
    spool.push(b"kept");
    assert_eq!(names(scratch.path()), [""; 0]);
    spool.start();
    spool.push(b", written");
    spool.start();
    let spooled = spool.finish().unwrap();
    let path = scratch.path().join("a/b").join(&spooled.name);
    assert_eq!(fs::read(&path).unwrap(), b"kept, written");
    assert_eq!((spooled.bytes, spooled.cut), (13, false));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&scratch.path().join("a/b")), 0o700);

    let mut never = Spool::new(place(&scratch.path().join("c")));
    never.push(b"kept");
    assert_eq!(never.finish(), None);
    assert!(!scratch.path().join("c").exists());
}

#[test]
fn a_file_stops_at_its_quota() {
    let scratch = tempfile::tempdir().unwrap();
    for (sizes, bytes, cut) in [
        (&[100][..], 100, false),
        (&[101], 100, true),
        (&[60, 40], 100, false),
        (&[60, 41], 100, true),
        (&[60, 41, 1], 100, true),
        (&[250, 250], 100, true),
    ] {
        let mut spool = Spool::new(place(scratch.path()));
        for size in sizes {
            spool.push(&vec![b'x'; *size]);
            spool.start();
        }
        let spooled = spool.finish().unwrap();
        assert_eq!((spooled.bytes, spooled.cut), (bytes, cut), "{sizes:?}");
        let length = fs::metadata(scratch.path().join(&spooled.name))
            .unwrap()
            .len();
        assert_eq!(length, bytes, "{sizes:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_done_without() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "in the way").unwrap();
    assert_eq!(write(&place(&file), b"output"), None);
    assert_eq!(write(&place(&file.join("below")), b"output"), None);
    assert_eq!(fs::read(&file).unwrap(), b"in the way");
}

#[test]
fn a_disk_that_is_full_cuts_the_file() {
    // Every write to it fails as on a full disk.
    let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut spool = Spool {
        place: place(Path::new("/nowhere")),
        state: State::Writing {
            file,
            spooled: Spooled {
                name: "output-0-0.txt".into(),
                bytes: 7,
                cut: false,
            },
        },
    };
    spool.push(b"more");
    spool.push(b"and more");
    let spooled = spool.finish().unwrap();
    assert_eq!((spooled.bytes, spooled.cut), (7, true));
}

#[test]
fn a_file_that_got_nothing_is_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let nothing = SpoolPlace {
        file_quota: 0,
        ..place(scratch.path())
    };
    assert_eq!(write(&nothing, b"output"), None);
    assert_eq!(names(scratch.path()), [""; 0]);
}

#[test]
fn the_oldest_files_make_room() {
    let scratch = tempfile::tempdir().unwrap();
    let place = place(scratch.path());
    fs::write(scratch.path().join("notes.txt"), [b'n'; 1_000]).unwrap();
    let first = write(&place, &[b'1'; 90]).unwrap().name;
    let second = write(&place, &[b'2'; 90]).unwrap().name;
    age(&scratch.path().join(&first), 1);
    age(&scratch.path().join(&second), 2);
    // 90 + 90 + 70 is just within 250.
    let third = write(&place, &[b'3'; 70]).unwrap().name;
    assert_eq!(names(scratch.path()).len(), 4);
    // One byte more is not: the second is the oldest.
    let fourth = write(&place, b"4").unwrap().name;
    let mut expected = vec!["notes.txt".into(), first, third, fourth];
    expected.sort();
    assert_eq!(names(scratch.path()), expected);
}

#[test]
fn the_newest_file_stays_whatever_the_quota() {
    let scratch = tempfile::tempdir().unwrap();
    let tiny = SpoolPlace {
        directory_quota: 0,
        ..place(scratch.path())
    };
    let first = write(&tiny, b"first").unwrap().name;
    assert_eq!(names(scratch.path()), [first]);
    let second = write(&tiny, b"second").unwrap().name;
    assert_eq!(names(scratch.path()), [second]);
}

#[test]
fn a_file_that_is_being_written_is_not_old() {
    let scratch = tempfile::tempdir().unwrap();
    let tiny = SpoolPlace {
        directory_quota: 0,
        ..place(scratch.path())
    };
    let mut running = Spool::new(tiny.clone());
    running.push(b"first");
    running.start();
    let other = write(&tiny, b"other").unwrap().name;
    assert_eq!(names(scratch.path()).len(), 2);
    running.push(b", second");
    let running = running.finish().unwrap().name;
    assert_ne!(running, other);
    assert_eq!(names(scratch.path()), std::slice::from_ref(&running));
    assert_eq!(
        fs::read(scratch.path().join(running)).unwrap(),
        b"first, second"
    );
}

#[test]
fn names_left_by_another_process_are_passed_over() {
    let scratch = tempfile::tempdir().unwrap();
    let name = |number: u64| format!("{PREFIX}{}-{number}{SUFFIX}", process::id());
    let made = write(&place(scratch.path()), b"x").unwrap().name;
    let number: u64 = made
        .trim_end_matches(SUFFIX)
        .rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap();
    assert_eq!(made, name(number));
    for taken in number + 1..number + 50 {
        fs::write(scratch.path().join(name(taken)), "old").unwrap();
    }
    let next = write(&place(scratch.path()), b"new").unwrap().name;
    assert_eq!(fs::read(scratch.path().join(next)).unwrap(), b"new");
    assert_eq!(
        fs::read(scratch.path().join(name(number + 49))).unwrap(),
        b"old"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_file_is_the_beginning_of_all_output(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..8),
        start in 0_usize..8,
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(place(scratch.path()));
        for (number, piece) in pieces.iter().enumerate() {
            spool.push(piece);
            if number == start {
                spool.start();
            }
        }
        let whole = pieces.concat();
        match spool.finish() {
            None => prop_assert!(start >= pieces.len() || whole.is_empty()),
            Some(spooled) => {
                let written = fs::read(scratch.path().join(spooled.name)).unwrap();
                prop_assert_eq!(&written, &whole[..whole.len().min(100)]);
                prop_assert_eq!(spooled.bytes, written.len() as u64);
                prop_assert_eq!(spooled.cut, whole.len() > 100);
            }
        }
    }
}
