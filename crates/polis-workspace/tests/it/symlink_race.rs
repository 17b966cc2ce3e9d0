//! Race tests of the file tools: directories are swapped for symbolic links as fast as possible while the
//! tools work (TOCTOU), and several threads edit the same file.
//!
//! The swap is atomic (`RENAME_EXCHANGE`), so a check before the open would pass and be outdated again and
//! again. No tool may read, list, write or delete anything outside.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::workspace::file_tools::{SearchFilesParams, WriteFileParams};
use polis_workspace::files::PathResolver;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::test_workspace::{SECRET, TestWorkspace, edit_params, write_params};

/// How long each tool is tested with each resolver.
const RACE_DURATION: Duration = Duration::from_secs(2);

/// Runs the tools while `swap/` alternates between a directory and a link to the outside.
fn run_race(resolver: PathResolver) {
    let ground = TestWorkspace::with_resolver(resolver);
    ground.write("swap/secret.txt", "mine").unwrap();
    ground.write("swap/deep/secret.txt", "mine").unwrap();
    symlink("../outside", ground.host_path("link")).unwrap();
    ground.write("swapped.txt", "mine").unwrap();
    symlink("../outside/secret.txt", ground.host_path("filelink")).unwrap();
    let over = AtomicBool::new(false);
    let (swaps, inside, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let until = Instant::now() + RACE_DURATION;
    let count = |done: bool| {
        let counter = if done { &inside } else { &refused };
        counter.fetch_add(1, Ordering::Relaxed);
    };
    let tools = || {
        let mut round = 0_u64;
        while Instant::now() < until {
            round += 1;
            for path in ["swap/secret.txt", "swap/deep/secret.txt", "swapped.txt"] {
                let read = ground.read(path);
                if let Ok(read) = &read {
                    assert!(!read.content.contains(SECRET), "{path} was read outside");
                }
                count(read.is_ok());
                count(ground.dir.edit(&edit_params(path, "mine", "mine!")).is_ok());
                count(ground.write(path, "mine").is_ok());
            }
            let fresh = format!("swap/new{}", round % 8);
            count(ground.write(&format!("{fresh}/x.txt"), "mine").is_ok());
            let create = WriteFileParams {
                create_only: true,
                ..write_params(&format!("{fresh}/y.txt"), "mine")
            };
            count(ground.dir.write(&create).is_ok());
            if let Ok(entries) = ground.list("swap") {
                // Files outside have another length.
                assert!(entries.iter().all(|e| e.size != SECRET.len() as u64));
            }
            let search = SearchFilesParams {
                pattern: "secret".to_owned(),
                ..SearchFilesParams::default()
            };
            if let Ok(found) = ground.dir.search(&search) {
                assert!(found.matches.is_empty(), "{found:?}");
            }
            let _ = ground.dir.info();
            count(ground.rename("swap/new1", "swap/new2/moved", false).is_ok());
            count(ground.delete(&fresh, true).is_ok());
            count(ground.delete("swap/deep", true).is_ok());
            let _ = ground.write("swap/deep/secret.txt", "mine");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = |a: &str, b: &str| {
                let flags = RenameFlags::EXCHANGE;
                let _ = renameat_with(CWD, ground.host_path(a), CWD, ground.host_path(b), flags);
            };
            while !over.load(Ordering::Relaxed) {
                exchange("swap", "link");
                exchange("swapped.txt", "filelink");
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The swapping thread stops before a failure is reported; otherwise the test would never end.
        let workers = [scope.spawn(tools), scope.spawn(tools)];
        let ended = workers.map(|worker| worker.join());
        over.store(true, Ordering::Relaxed);
        for worker in ended {
            worker.unwrap();
        }
    });
    ground.check_outside_unchanged();
    let (swaps, inside, refused) = (
        swaps.into_inner(),
        inside.into_inner(),
        refused.into_inner(),
    );
    assert!(
        swaps > 100 && inside > 10 && refused > 10,
        "no race: {swaps} swaps, {inside} done, {refused} refused"
    );
}

#[test]
fn swapped_symlinks_never_escape_with_openat2() {
    assert_eq!(
        PathResolver::detect(),
        PathResolver::Openat2,
        "this kernel is too old"
    );
    run_race(PathResolver::Openat2);
}

#[test]
fn swapped_symlinks_never_escape_with_the_walk() {
    run_race(PathResolver::ComponentWalk);
}

/// A tree is deleted while its directories are swapped for links to the outside.
#[test]
fn tree_deletion_during_swaps_deletes_nothing_outside() {
    let ground = TestWorkspace::new();
    let over = AtomicBool::new(false);
    let until = Instant::now() + RACE_DURATION;
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for name in ["tree/a", "tree/b", "tree/a/c"] {
                    let flags = RenameFlags::EXCHANGE;
                    let _ = renameat_with(
                        CWD,
                        ground.host_path(name),
                        CWD,
                        ground.host_path("link"),
                        flags,
                    );
                }
            }
        });
        while Instant::now() < until {
            let _ = std::fs::remove_file(ground.host_path("link"));
            let _ = ground.delete("link", true);
            let _ = symlink("../outside", ground.host_path("link"));
            for path in ["tree/a/c/f", "tree/b/f", "tree/a/g"] {
                let _ = ground.write(path, "x");
            }
            let _ = ground.delete("tree", true);
            rounds += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    ground.check_outside_unchanged();
    assert!(rounds > 20, "{rounds}");
}

/// Several threads edit one file: every edit takes effect.
#[test]
fn concurrent_increments_are_all_applied() {
    let ground = TestWorkspace::new();
    let threads = 4;
    let each = 25;
    ground.write("counter", "#0#").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    increment_counter(&ground);
                }
            });
        }
    });
    assert_eq!(
        ground.read("counter").unwrap().content,
        format!("#{}#", threads * each)
    );
    assert_eq!(std::fs::read_dir(ground.host_path("")).unwrap().count(), 1);
}

/// Reads a number and writes its successor; retries if another writer was faster.
pub(crate) fn increment_counter(ground: &TestWorkspace) {
    loop {
        let read = ground.read("counter").unwrap();
        let number: u64 = read.content.trim_matches('#').parse().unwrap();
        let ask = WriteFileParams {
            expected_hash: read.hash,
            ..write_params("counter", &format!("#{}#", number + 1))
        };
        match ground.dir.write(&ask) {
            Ok(_) => return,
            Err(error) => assert_eq!(
                error.code,
                polis_core::RefusalCode::HASH_MISMATCH,
                "{error}"
            ),
        }
    }
}

/// Threads append by replacing a marker: no text is missing at the end.
#[test]
fn concurrent_edits_of_one_marker_all_take_effect() {
    let ground = TestWorkspace::new();
    ground.write("list", "END").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let ground = &ground;
            scope.spawn(move || {
                for number in 0..20 {
                    let line = format!("{thread}.{number}\nEND");
                    ground.edit("list", "END", &line).unwrap();
                }
            });
        }
    });
    let content = ground.read("list").unwrap().content;
    assert_eq!(content.lines().count(), 81);
    for thread in 0..4 {
        for number in 0..20 {
            assert!(content.contains(&format!("{thread}.{number}\n")));
        }
    }
}

/// If many threads create one file, exactly one succeeds.
#[test]
fn concurrent_create_only_writes_have_one_winner() {
    let ground = TestWorkspace::new();
    for round in 0..50 {
        let path = format!("f{round}");
        let created: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let ask = WriteFileParams {
                        create_only: true,
                        ..write_params(&path, &format!("{number}"))
                    };
                    let ground = &ground;
                    scope.spawn(move || usize::from(ground.dir.write(&ask).is_ok()))
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(created, 1);
    }
    assert_eq!(std::fs::read_dir(ground.host_path("")).unwrap().count(), 50);
}
