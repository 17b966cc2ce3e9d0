//! Directories and what is in them: deleting, moving, listing, summing up, and who it belongs to.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use polis_core::Code;
use polis_core::workspace::file::{EntryType, ListFiles, SearchFiles};
use polis_ops::PortError;
use polis_workspace::files::{FileLimits, Resolver, WorkspaceDir};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::ground::{Ground, RESOLVERS, code, edit, is_root, limits, skipped, write};

#[test]
fn directories_are_deleted_empty_or_whole() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        ground.write("d/e/f.txt", "x").unwrap();
        std::os::unix::fs::symlink(ground.outside(""), ground.at("d/out")).unwrap();
        std::os::unix::fs::symlink(ground.outside(""), ground.at("out")).unwrap();
        assert_eq!(code(ground.delete("d", false)), Code::DirectoryNotEmpty);
        ground.delete("d", true).unwrap();
        ground.delete("out", true).unwrap();
        ground.make_dir("e").unwrap();
        // What a killed writer left is not seen, and not in the way.
        std::fs::write(ground.at("e/.polis-tmp-0123456789abcdef"), "half").unwrap();
        assert_eq!(ground.names("e"), [""; 0]);
        ground.delete("e", false).unwrap();
        assert_eq!(ground.names("."), [""; 0]);
        ground.check_outside();
    }
}

#[test]
fn a_very_deep_tree_is_listed_summed_up_and_deleted() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        // Deeper than there may be open files, and than a path can say.
        let depth = 3_000;
        ground.make_dir("deep").unwrap();
        let open = |dir: &OwnedFd, name: &str| {
            use rustix::fs::{Mode, OFlags, openat};
            openat(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
        };
        let mut dir = std::fs::File::open(ground.at("deep")).unwrap().into();
        for _ in 0..depth {
            mkdirat(&dir, "d", Mode::from_raw_mode(0o755)).unwrap();
            dir = open(&dir, "d");
        }
        assert_eq!(ground.dir.info().unwrap().dir_count, depth + 1);
        let all = ListFiles {
            path: None,
            recursive: true,
            ..ListFiles::default()
        };
        // What no path can name is left out, and the answer says so.
        let listed = ground.dir.list(&all).unwrap();
        assert!(listed.truncated);
        assert!(listed.files.iter().all(|file| file.name.len() <= 4_095));
        assert!(listed.files.len() > 2_000, "{}", listed.files.len());
        ground.delete("deep", true).unwrap();
        assert_eq!(ground.dir.info().unwrap().dir_count, 0);
    }
}

#[test]
fn pages_of_a_listing_have_every_entry_once_in_order() {
    let ground = Ground::new();
    let mut expected: Vec<String> = Vec::new();
    for name in 0..1_500 {
        let name = format!("d{}/f{name:04}", name % 7);
        std::fs::create_dir_all(ground.at(name.split('/').next().unwrap())).unwrap();
        std::fs::write(ground.at(&name), "x").unwrap();
        expected.push(name);
    }
    expected.extend((0..7).map(|number| format!("d{number}")));
    expected.sort();
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let ask = ListFiles {
            recursive: true,
            limit: Some(100),
            cursor,
            ..ListFiles::default()
        };
        let page = ground.dir.list(&ask).unwrap();
        assert!(page.files.len() <= 100);
        assert_eq!(page.truncated, page.next.is_some());
        found.extend(page.files.into_iter().map(|file| file.name));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
}

/// A chain of directories, and others beside each of them.
fn make_branching_chain(top: &Path, levels: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here: OwnedFd = std::fs::File::open(top).unwrap().into();
    for _ in 0..levels {
        for name in ["p", "d", "q", "r"] {
            mkdirat(&here, name, Mode::from_raw_mode(0o755)).unwrap();
        }
        here = openat(&here, "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn chain_that_branches_at_every_level_is_summed_up_in_part() {
    for (resolver, levels, is_whole) in [
        (Resolver::Kernel, 1_000, true),
        (Resolver::Walk, 200, true),
        // The paths of all these directories are kept until their last entry is visited.
        (Resolver::Kernel, 10_000, false),
    ] {
        let ground = Ground::with(resolver);
        make_branching_chain(&ground.at(""), levels);
        let info = ground.dir.info().unwrap();
        let count = u64::try_from(4 * levels).unwrap();
        assert_eq!(info.truncated, !is_whole, "{info:?}");
        assert_eq!(info.dir_count == count, is_whole, "{info:?}");
        // What removes the ground needs a descriptor for each level.
        ground.delete("d", true).unwrap();
    }
}

#[test]
fn edits_and_walks_at_once_all_get_their_turn() {
    let ground = Ground::new();
    make_branching_chain(&ground.at(""), 2_000);
    let dir = WorkspaceDir::open(&ground.at(""))
        .unwrap()
        .with_limits(FileLimits {
            quota: Some(1 << 30),
            ..limits()
        });
    let large = format!("{}0\n", "x".repeat(2 * 1024 * 1024));
    ground.write("large", &large).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let dir = &dir;
            scope.spawn(move || {
                let (old, new) = (format!("{number}\n"), format!("{}\n", number + 1));
                // Each edit waits for the one before it.
                while dir.edit(&edit("large", &old, &new)).is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            });
            scope.spawn(move || dir.info().unwrap());
            scope.spawn(move || dir.write(&write(&format!("f{number}"), "x")).unwrap());
        }
    });
    let end = ground.read("large").unwrap().content;
    assert!(end.ends_with("x8\n"));
    ground.delete("d", true).unwrap();
}

#[test]
fn data_of_a_project_is_not_reached_through_links() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        for directory in ["sub/.agent-workspace/deep", ".agent-workspace/deep", "real"] {
            std::fs::create_dir_all(ground.at(directory)).unwrap();
        }
        for directory in ["sub/.agent-workspace", ".agent-workspace"] {
            for file in ["polis.toml", "deep/polis.toml"] {
                std::fs::write(ground.at(directory).join(file), "needle").unwrap();
            }
        }
        std::fs::write(ground.at("plain"), "needle").unwrap();
        for (link, target) in [
            ("data", ".agent-workspace"),
            ("slash", ".agent-workspace/"),
            ("nested", "sub/.agent-workspace"),
            ("real/up", "../real/./../.agent-workspace"),
            ("twice", "data"),
            ("deep", "twice/deep"),
            ("file", ".agent-workspace/polis.toml"),
            ("file-deep", "deep/polis.toml"),
            ("file-new", ".agent-workspace/new"),
            ("absent", "real/.agent-workspace"),
            ("fine", "real"),
        ] {
            std::os::unix::fs::symlink(target, ground.at(link)).unwrap();
        }
        let refused = |answer: Result<(), PortError>, path: &str| {
            let error = answer.unwrap_err();
            ground.check_silent(&error);
            assert_eq!(error.code, Code::InvalidInput, "{path}: {error}");
            assert!(error.message.contains("reserved"), "{path}: {error}");
        };
        // A link on the way.
        for path in [
            "data/polis.toml",
            "data/deep/polis.toml",
            "data/new",
            "slash/polis.toml",
            "nested/polis.toml",
            "real/up/polis.toml",
            "twice/polis.toml",
            "twice/deep/polis.toml",
            "deep/polis.toml",
            "absent/new",
            "fine/up/polis.toml",
        ] {
            refused(ground.read(path).map(|_| ()), path);
            refused(ground.write(path, "x").map(|_| ()), path);
            refused(ground.edit(path, "needle", "x").map(|_| ()), path);
            refused(ground.delete(path, true), path);
            refused(ground.make_dir(path), path);
            refused(ground.make_dir(&format!("{path}/more")), path);
            refused(ground.rename(path, "taken", true), path);
            refused(ground.rename("plain", path, true), path);
            refused(ground.dir.search(&needles(path)).map(|_| ()), path);
            refused(ground.list(path).map(|_| ()), path);
        }
        // A link at the end.
        for path in [
            "data", "slash", "nested", "real/up", "twice", "deep", "absent",
        ] {
            refused(ground.list(path).map(|_| ()), path);
            refused(ground.read(path).map(|_| ()), path);
            refused(ground.make_dir(path), path);
            refused(ground.dir.search(&needles(path)).map(|_| ()), path);
            let new = format!("{path}/new");
            refused(ground.write(&new, "x").map(|_| ()), &new);
        }
        for path in ["file", "file-deep", "file-new", "data", "absent"] {
            refused(ground.write(path, "x").map(|_| ()), path);
            refused(ground.edit(path, "needle", "x").map(|_| ()), path);
            refused(ground.read(path).map(|_| ()), path);
        }
        for directory in ["sub/.agent-workspace", ".agent-workspace"] {
            let mut names: Vec<_> = std::fs::read_dir(ground.at(directory))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["deep", "polis.toml"]);
            let content = std::fs::read_to_string(ground.at(directory).join("polis.toml"));
            assert_eq!(content.unwrap(), "needle");
        }
        assert!(!ground.at("real/.agent-workspace").exists());
        // Sums follow no links: plain, the links, real, sub.
        let info = ground.dir.info().unwrap();
        assert_eq!((info.file_count, info.dir_count), (12, 2));
        // Other links still work, and a link itself can be moved and deleted.
        ground.write("fine/new", "x").unwrap();
        assert_eq!(ground.read("real/new").unwrap().content, "x");
        ground.rename("data", "moved", false).unwrap();
        ground.delete("moved", false).unwrap();
        assert!(ground.at(".agent-workspace/polis.toml").exists());
    }
}

#[test]
fn path_through_a_link_may_be_only_so_deep() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        ground.make_dir("real").unwrap();
        std::os::unix::fs::symlink("real", ground.at("link")).unwrap();
        let deep = |levels: usize| vec!["d"; levels].join("/");
        std::fs::create_dir_all(ground.at(&format!("real/{}", deep(1_000)))).unwrap();
        ground
            .write(&format!("real/{}/f", deep(1_000)), "x")
            .unwrap();
        ground.write(&format!("link/{}/f", deep(200)), "x").unwrap();
        let too_deep = format!("link/{}/f", deep(1_000));
        assert_eq!(code(ground.read(&too_deep)), Code::InvalidInput);
    }
}

fn needles(path: &str) -> SearchFiles {
    SearchFiles {
        pattern: "needle".to_owned(),
        path: Some(path.to_owned()),
        all: true,
        ..SearchFiles::default()
    }
}

#[test]
fn data_of_a_project_is_neither_made_nor_seen() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        std::fs::create_dir_all(ground.at("sub/.agent-workspace/deep")).unwrap();
        std::fs::create_dir_all(ground.at(".agent-workspace")).unwrap();
        std::fs::write(ground.at("sub/.agent-workspace/polis.toml"), "needle").unwrap();
        std::fs::write(ground.at("plain"), "needle").unwrap();
        for path in [
            ".agent-workspace/polis.toml",
            "sub/.agent-workspace/polis.toml",
            "sub/.agent-workspace",
            "./sub//.agent-workspace/x",
        ] {
            assert_eq!(code(ground.read(path)), Code::InvalidInput, "{path}");
            assert_eq!(code(ground.write(path, "x")), Code::InvalidInput, "{path}");
            assert_eq!(code(ground.make_dir(path)), Code::InvalidInput, "{path}");
            assert_eq!(
                code(ground.delete(path, true)),
                Code::InvalidInput,
                "{path}"
            );
            assert_eq!(code(ground.rename("plain", path, true)), Code::InvalidInput);
            assert_eq!(code(ground.rename(path, "taken", true)), Code::InvalidInput);
        }
        let all = ListFiles {
            recursive: true,
            ..ListFiles::default()
        };
        let listed = ground.dir.list(&all).unwrap().files;
        let listed: Vec<_> = listed.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(listed, ["plain", "sub"]);
        let ask = SearchFiles {
            pattern: "needle".to_owned(),
            all: true,
            ..Default::default()
        };
        let found = ground.dir.search(&ask).unwrap().matches;
        let found: Vec<_> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(found, ["plain"]);
    }
}

#[test]
fn moving_replaces_nothing_unless_asked() {
    let ground = Ground::new();
    ground.write("a", "1").unwrap();
    ground.write("b", "2").unwrap();
    assert_eq!(code(ground.rename("a", "b", false)), Code::FileExists);
    assert_eq!(code(ground.rename("a", "a", false)), Code::FileExists);
    ground.rename("a", "a", true).unwrap();
    ground.rename("a", "b", true).unwrap();
    assert_eq!(ground.read("b").unwrap().content, "1");
    ground.rename("b", "x/y/z", false).unwrap();
    assert_eq!(ground.names("."), ["x"]);
    assert_eq!(code(ground.rename("x", "x/y/w", false)), Code::InvalidInput);
    std::os::unix::fs::symlink("x/y", ground.at("inner")).unwrap();
    assert_eq!(
        code(ground.rename("x", "inner/w", false)),
        Code::InvalidInput
    );
    ground.make_dir("empty").unwrap();
    assert_eq!(
        code(ground.rename("x/y/z", "empty", true)),
        Code::IsADirectory
    );
    assert_eq!(
        code(ground.rename("empty", "x/y/z", true)),
        Code::NotADirectory
    );
    assert_eq!(
        code(ground.rename("empty", "x", true)),
        Code::DirectoryNotEmpty
    );
    ground.rename("x", "empty", true).unwrap();
    assert_eq!(ground.read("empty/y/z").unwrap().content, "1");
    // Two names of one file: afterwards there is one.
    std::fs::hard_link(ground.at("empty/y/z"), ground.at("twin")).unwrap();
    ground.rename("twin", "empty/y/z", true).unwrap();
    assert_eq!(ground.names("."), ["empty", "inner"]);
    assert_eq!(ground.read("empty/y/z").unwrap().content, "1");
    assert_eq!(code(ground.rename(".", "q", false)), Code::InvalidInput);
    assert_eq!(code(ground.rename("empty", ".", true)), Code::InvalidInput);
}

#[test]
fn a_listing_is_sorted_and_tells_what_things_are() {
    let ground = Ground::new();
    ground.write("b/in.txt", "12345").unwrap();
    ground.write("a", "1").unwrap();
    ground.write(".hidden", "").unwrap();
    ground.make_dir("c/").unwrap();
    ground.make_dir("c").unwrap();
    ground.make_dir("").unwrap();
    std::os::unix::fs::symlink("a", ground.at("d")).unwrap();
    let fifo = ground.at("e");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"z\xff");
    std::fs::write(ground.at("").join(odd), "xy").unwrap();
    std::fs::write(ground.at(".polis-tmp-00000000000000aa"), "half").unwrap();
    let entries = ground.list("").unwrap();
    let entries: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind, entry.size))
        .collect();
    assert_eq!(
        entries,
        [
            (".hidden", EntryType::File, 0),
            ("a", EntryType::File, 1),
            ("b", EntryType::Directory, 0),
            ("c", EntryType::Directory, 0),
            ("d", EntryType::Symlink, 0),
            ("e", EntryType::Other, 0),
            ("z\u{fffd}", EntryType::File, 2),
        ]
    );
    let all = ListFiles {
        path: None,
        recursive: true,
        ..ListFiles::default()
    };
    let names: Vec<_> = ground.dir.list(&all).unwrap().files;
    let names: Vec<_> = names.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        names,
        [".hidden", "a", "b", "b/in.txt", "c", "d", "e", "z\u{fffd}"]
    );
    let info = ground.dir.info().unwrap();
    assert_eq!(
        (info.file_count, info.dir_count, info.total_size),
        (6, 2, 8)
    );
    assert!(info.last_modified.is_some());
}

#[test]
fn the_time_of_the_last_change_is_that_of_the_newest_thing() {
    let ground = Ground::new();
    assert_eq!(ground.dir.info().unwrap().last_modified, None);
    ground.write("d/f", "x").unwrap();
    let at = |seconds: u64| {
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(seconds * 1_000 + 7)
    };
    for (path, seconds) in [("", 10), ("d", 20), ("d/f", 1_771_113_600)] {
        let file = std::fs::File::open(ground.at(path)).unwrap();
        file.set_modified(at(seconds)).unwrap();
    }
    let changed = ground.dir.info().unwrap().last_modified.unwrap();
    assert_eq!(changed.as_str(), "2026-02-15T00:00:00.007Z");
}

#[test]
fn a_quota_is_kept() {
    let ground = Ground::new();
    let dir = WorkspaceDir::open(&ground.at(""))
        .unwrap()
        .with_limits(FileLimits {
            quota: Some(10),
            ..limits()
        });
    dir.write(&write("a", "12345")).unwrap();
    dir.write(&write("b", "1234")).unwrap();
    assert_eq!(code(dir.write(&write("c/d", "12"))), Code::QuotaExceeded);
    assert_eq!(code(dir.write(&write("b", "123456"))), Code::QuotaExceeded);
    assert_eq!(ground.names("."), ["a", "b"]);
    dir.write(&write("b", "12345")).unwrap();
    dir.edit(&edit("b", "12345", "1")).unwrap();
    assert_eq!(
        code(dir.edit(&edit("a", "1", "123456"))),
        Code::QuotaExceeded
    );
    dir.write(&write("c", "1234")).unwrap();
    // Who is over the quota already may still make files smaller.
    std::fs::write(ground.at("big"), vec![b'x'; 100]).unwrap();
    dir.write(&write("big", &"x".repeat(50))).unwrap();
    assert_eq!(code(dir.write(&write("new", "x"))), Code::QuotaExceeded);
}

#[test]
fn new_things_belong_to_the_owner_of_the_workspace() {
    let ground = Ground::new();
    if !is_root() {
        return skipped("only root can give files away");
    }
    std::os::unix::fs::chown(ground.at(""), Some(12_345), Some(23_456)).unwrap();
    let dir = WorkspaceDir::open(&ground.at("")).unwrap();
    dir.write(&write("d/f", "x")).unwrap();
    let owner = |path: &str| {
        let found = ground.at(path).metadata().unwrap();
        (found.uid(), found.gid())
    };
    assert_eq!(owner("d"), (12_345, 23_456));
    assert_eq!(owner("d/f"), (12_345, 23_456));
    // One that belongs to somebody else keeps its owner.
    std::os::unix::fs::chown(ground.at("d/f"), Some(777), Some(778)).unwrap();
    dir.write(&write("d/f", "y")).unwrap();
    assert_eq!(owner("d/f"), (777, 778));
    dir.edit(&edit("d/f", "y", "z")).unwrap();
    assert_eq!(owner("d/f"), (777, 778));
}
