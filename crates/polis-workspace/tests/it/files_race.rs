//! Somebody swaps directories for links, as fast as they can, while the tools work.
//!
//! The swap is one step (`RENAME_EXCHANGE`), so a check before the open is passed and betrayed again
//! and again. No tool may read, list, write or delete anything outside.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::workspace::file::{SearchFiles, WriteFile};
use polis_workspace::files::Resolver;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::ground::{Ground, SECRET, edit, write};

/// How long each tool is tried with each resolver.
const TIME: Duration = Duration::from_secs(2);

/// Runs the tools while `swap/` is now a directory and now a link to the outside.
fn race(resolver: Resolver) {
    let ground = Ground::with(resolver);
    ground.write("swap/secret.txt", "mine").unwrap();
    ground.write("swap/deep/secret.txt", "mine").unwrap();
    symlink("../outside", ground.at("link")).unwrap();
    ground.write("swapped.txt", "mine").unwrap();
    symlink("../outside/secret.txt", ground.at("filelink")).unwrap();
    let over = AtomicBool::new(false);
    let (swaps, inside, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let until = Instant::now() + TIME;
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
                count(ground.dir.edit(&edit(path, "mine", "mine!")).is_ok());
                count(ground.write(path, "mine").is_ok());
            }
            let fresh = format!("swap/new{}", round % 8);
            count(ground.write(&format!("{fresh}/x.txt"), "mine").is_ok());
            let create = WriteFile {
                create_only: true,
                ..write(&format!("{fresh}/y.txt"), "mine")
            };
            count(ground.dir.write(&create).is_ok());
            if let Ok(entries) = ground.list("swap") {
                // What is outside has another length.
                assert!(entries.iter().all(|e| e.size != SECRET.len() as u64));
            }
            let search = SearchFiles {
                pattern: "secret".to_owned(),
                ..SearchFiles::default()
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
                let _ = renameat_with(CWD, ground.at(a), CWD, ground.at(b), flags);
            };
            while !over.load(Ordering::Relaxed) {
                exchange("swap", "link");
                exchange("swapped.txt", "filelink");
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The swapping ends before a failure is told, or nothing ever would.
        let workers = [scope.spawn(tools), scope.spawn(tools)];
        let ended = workers.map(|worker| worker.join());
        over.store(true, Ordering::Relaxed);
        for worker in ended {
            worker.unwrap();
        }
    });
    ground.check_outside();
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
fn swapped_links_lead_nowhere_with_openat2() {
    assert_eq!(
        Resolver::detect(),
        Resolver::Kernel,
        "this kernel is too old"
    );
    race(Resolver::Kernel);
}

#[test]
fn swapped_links_lead_nowhere_with_the_walk() {
    race(Resolver::Walk);
}

/// A whole tree is deleted while its directories are swapped for links to the outside.
#[test]
fn a_tree_that_is_deleted_takes_nothing_outside_along() {
    let ground = Ground::new();
    let over = AtomicBool::new(false);
    let until = Instant::now() + TIME;
    let mut rounds = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for name in ["tree/a", "tree/b", "tree/a/c"] {
                    let flags = RenameFlags::EXCHANGE;
                    let _ = renameat_with(CWD, ground.at(name), CWD, ground.at("link"), flags);
                }
            }
        });
        while Instant::now() < until {
            let _ = std::fs::remove_file(ground.at("link"));
            let _ = ground.delete("link", true);
            let _ = symlink("../outside", ground.at("link"));
            for path in ["tree/a/c/f", "tree/b/f", "tree/a/g"] {
                let _ = ground.write(path, "x");
            }
            let _ = ground.delete("tree", true);
            rounds += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    ground.check_outside();
    assert!(rounds > 20, "{rounds}");
}

/// Several threads edit one file: every edit counts.
#[test]
fn no_edit_is_lost() {
    let ground = Ground::new();
    let threads = 4;
    let each = 25;
    ground.write("counter", "#0#").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    add_one(&ground);
                }
            });
        }
    });
    assert_eq!(
        ground.read("counter").unwrap().content,
        format!("#{}#", threads * each)
    );
    assert_eq!(std::fs::read_dir(ground.at("")).unwrap().count(), 1);
}

/// Reads, and writes one more if nobody else did meanwhile.
pub(crate) fn add_one(ground: &Ground) {
    loop {
        let read = ground.read("counter").unwrap();
        let number: u64 = read.content.trim_matches('#').parse().unwrap();
        let ask = WriteFile {
            expected_hash: read.hash,
            ..write("counter", &format!("#{}#", number + 1))
        };
        match ground.dir.write(&ask) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code, polis_core::Code::HashMismatch, "{error}"),
        }
    }
}

/// Threads that append by replacing a mark: nothing of anybody is missing at the end.
#[test]
fn edits_of_one_mark_all_count() {
    let ground = Ground::new();
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

/// Of many who create one file, one does.
#[test]
fn one_of_many_creates() {
    let ground = Ground::new();
    for round in 0..50 {
        let path = format!("f{round}");
        let created: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let ask = WriteFile {
                        create_only: true,
                        ..write(&path, &format!("{number}"))
                    };
                    let ground = &ground;
                    scope.spawn(move || usize::from(ground.dir.write(&ask).is_ok()))
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(created, 1);
    }
    assert_eq!(std::fs::read_dir(ground.at("")).unwrap().count(), 50);
}
