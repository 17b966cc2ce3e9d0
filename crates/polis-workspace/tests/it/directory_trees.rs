//! Tests of directory trees: deletion, moves, listing with pagination, counting, quotas, ownership, and the
//! reserved data directory `.agent-workspace`.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{FileEntryType, ListFilesParams, SearchFilesParams};
use polis_ops::PortError;
use polis_workspace::files::{FileLimits, PathResolver, WorkspaceDir};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::test_workspace::{
    RESOLVERS, TestWorkspace, edit_params, is_root, refusal_code, rendered, report_skipped,
    test_limits, write_params,
};

#[test]
fn directory_is_deleted_if_empty_or_recursively() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        ground.write("d/e/f.txt", "x").unwrap();
        std::os::unix::fs::symlink(ground.outside_path(""), ground.host_path("d/out")).unwrap();
        std::os::unix::fs::symlink(ground.outside_path(""), ground.host_path("out")).unwrap();
        assert_eq!(
            refusal_code(ground.delete("d", false)),
            RefusalCode::DIRECTORY_NOT_EMPTY
        );
        ground.delete("d", true).unwrap();
        ground.delete("out", true).unwrap();
        ground.make_dir("e").unwrap();
        // Leftovers of a killed writer are invisible and do not block the deletion.
        std::fs::write(ground.host_path("e/.polis-tmp-0123456789abcdef"), "half").unwrap();
        assert_eq!(ground.file_names("e"), [""; 0]);
        ground.delete("e", false).unwrap();
        assert_eq!(ground.file_names("."), [""; 0]);
        ground.check_outside_unchanged();
    }
}

#[test]
fn very_deep_tree_is_listed_counted_and_deleted() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        // Deeper than the limits of open files and of path lengths.
        let depth = 3_000;
        ground.make_dir("deep").unwrap();
        let open = |dir: &OwnedFd, name: &str| {
            use rustix::fs::{Mode, OFlags, openat};
            openat(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
        };
        let mut dir = std::fs::File::open(ground.host_path("deep"))
            .unwrap()
            .into();
        for _ in 0..depth {
            mkdirat(&dir, "d", Mode::from_raw_mode(0o755)).unwrap();
            dir = open(&dir, "d");
        }
        assert_eq!(ground.dir.info().unwrap().dir_count, depth + 1);
        let all = ListFilesParams {
            path: None,
            recursive: true,
            ..ListFilesParams::default()
        };
        // Entries beyond the maximum path length are omitted, and the result says so.
        let listed = ground.dir.list(&all).unwrap();
        assert!(listed.truncated);
        assert!(listed.files.iter().all(|file| file.name.len() <= 4_095));
        assert!(listed.files.len() > 2_000, "{}", listed.files.len());
        ground.delete("deep", true).unwrap();
        assert_eq!(ground.dir.info().unwrap().dir_count, 0);
    }
}

#[test]
fn listing_pages_contain_every_entry_once_in_order() {
    let ground = TestWorkspace::new();
    let mut expected: Vec<String> = Vec::new();
    for name in 0..1_500 {
        let name = format!("d{}/f{name:04}", name % 7);
        std::fs::create_dir_all(ground.host_path(name.split('/').next().unwrap())).unwrap();
        std::fs::write(ground.host_path(&name), "x").unwrap();
        expected.push(name);
    }
    expected.extend((0..7).map(|number| format!("d{number}")));
    expected.sort();
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let ask = ListFilesParams {
            recursive: true,
            limit: Some(100),
            cursor,
            ..ListFilesParams::default()
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

/// Creates a chain of directories, each with siblings.
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
fn branching_chain_beyond_the_limit_is_counted_partially() {
    for (resolver, levels, is_whole) in [
        (PathResolver::Openat2, 1_000, true),
        (PathResolver::ComponentWalk, 200, true),
        // The paths of all these directories are kept until their last entry is visited.
        (PathResolver::Openat2, 10_000, false),
    ] {
        let ground = TestWorkspace::with_resolver(resolver);
        make_branching_chain(&ground.host_path(""), levels);
        let info = ground.dir.info().unwrap();
        let count = u64::try_from(4 * levels).unwrap();
        assert_eq!(info.truncated, !is_whole, "{info:?}");
        assert_eq!(info.dir_count == count, is_whole, "{info:?}");
        // The removal of the test directory needs a descriptor for each level.
        ground.delete("d", true).unwrap();
    }
}

#[test]
fn concurrent_edits_and_walks_all_complete() {
    let ground = TestWorkspace::new();
    make_branching_chain(&ground.host_path(""), 2_000);
    let dir = WorkspaceDir::open(&ground.host_path(""))
        .unwrap()
        .with_limits(FileLimits {
            quota_bytes: Some(1 << 30),
            ..test_limits()
        });
    let large = format!("{}0\n", "x".repeat(2 * 1024 * 1024));
    ground.write("large", &large).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let dir = &dir;
            scope.spawn(move || {
                let (old, new) = (format!("{number}\n"), format!("{}\n", number + 1));
                // Large edits run one after the other.
                while dir.edit(&edit_params("large", &old, &new)).is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            });
            scope.spawn(move || dir.info().unwrap());
            scope.spawn(move || {
                dir.write(&write_params(&format!("f{number}"), "x"))
                    .unwrap()
            });
        }
    });
    let end = ground.read("large").unwrap().content;
    assert!(end.ends_with("x8\n"));
    ground.delete("d", true).unwrap();
}

#[test]
fn data_directory_is_not_reachable_through_symlinks() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        for directory in ["sub/.agent-workspace/deep", ".agent-workspace/deep", "real"] {
            std::fs::create_dir_all(ground.host_path(directory)).unwrap();
        }
        for directory in ["sub/.agent-workspace", ".agent-workspace"] {
            for file in ["polis.toml", "deep/polis.toml"] {
                std::fs::write(ground.host_path(directory).join(file), "needle").unwrap();
            }
        }
        std::fs::write(ground.host_path("plain"), "needle").unwrap();
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
            std::os::unix::fs::symlink(target, ground.host_path(link)).unwrap();
        }
        let refused = |answer: Result<(), PortError>, path: &str| {
            let error = answer.unwrap_err();
            ground.check_error_reveals_nothing(&error);
            assert_eq!(error.code, RefusalCode::INVALID_INPUT, "{path}: {error}");
            assert!(
                rendered(&error).message.contains("reserved"),
                "{path}: {error}"
            );
        };
        // A link in the middle of the path.
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
            refused(ground.dir.search(&needle_search(path)).map(|_| ()), path);
            refused(ground.list(path).map(|_| ()), path);
        }
        // A link at the end of the path.
        for path in [
            "data", "slash", "nested", "real/up", "twice", "deep", "absent",
        ] {
            refused(ground.list(path).map(|_| ()), path);
            refused(ground.read(path).map(|_| ()), path);
            refused(ground.make_dir(path), path);
            refused(ground.dir.search(&needle_search(path)).map(|_| ()), path);
            let new = format!("{path}/new");
            refused(ground.write(&new, "x").map(|_| ()), &new);
        }
        for path in ["file", "file-deep", "file-new", "data", "absent"] {
            refused(ground.write(path, "x").map(|_| ()), path);
            refused(ground.edit(path, "needle", "x").map(|_| ()), path);
            refused(ground.read(path).map(|_| ()), path);
        }
        for directory in ["sub/.agent-workspace", ".agent-workspace"] {
            let mut names: Vec<_> = std::fs::read_dir(ground.host_path(directory))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["deep", "polis.toml"]);
            let content = std::fs::read_to_string(ground.host_path(directory).join("polis.toml"));
            assert_eq!(content.unwrap(), "needle");
        }
        assert!(!ground.host_path("real/.agent-workspace").exists());
        // Counting follows no links: plain, the links, real, sub.
        let info = ground.dir.info().unwrap();
        assert_eq!((info.file_count, info.dir_count), (12, 2));
        // Other links still work, and a link itself can be moved and deleted.
        ground.write("fine/new", "x").unwrap();
        assert_eq!(ground.read("real/new").unwrap().content, "x");
        ground.rename("data", "moved", false).unwrap();
        ground.delete("moved", false).unwrap();
        assert!(ground.host_path(".agent-workspace/polis.toml").exists());
    }
}

#[test]
fn path_depth_through_a_symlink_is_limited() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        ground.make_dir("real").unwrap();
        std::os::unix::fs::symlink("real", ground.host_path("link")).unwrap();
        let deep = |levels: usize| vec!["d"; levels].join("/");
        std::fs::create_dir_all(ground.host_path(&format!("real/{}", deep(1_000)))).unwrap();
        ground
            .write(&format!("real/{}/f", deep(1_000)), "x")
            .unwrap();
        ground.write(&format!("link/{}/f", deep(200)), "x").unwrap();
        let too_deep = format!("link/{}/f", deep(1_000));
        assert_eq!(
            refusal_code(ground.read(&too_deep)),
            RefusalCode::INVALID_INPUT
        );
    }
}

fn needle_search(path: &str) -> SearchFilesParams {
    SearchFilesParams {
        pattern: "needle".to_owned(),
        path: Some(path.to_owned()),
        all: true,
        ..SearchFilesParams::default()
    }
}

#[test]
fn data_directory_is_neither_created_nor_listed() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        std::fs::create_dir_all(ground.host_path("sub/.agent-workspace/deep")).unwrap();
        std::fs::create_dir_all(ground.host_path(".agent-workspace")).unwrap();
        std::fs::write(
            ground.host_path("sub/.agent-workspace/polis.toml"),
            "needle",
        )
        .unwrap();
        std::fs::write(ground.host_path("plain"), "needle").unwrap();
        for path in [
            ".agent-workspace/polis.toml",
            "sub/.agent-workspace/polis.toml",
            "sub/.agent-workspace",
            "./sub//.agent-workspace/x",
        ] {
            assert_eq!(
                refusal_code(ground.read(path)),
                RefusalCode::INVALID_INPUT,
                "{path}"
            );
            assert_eq!(
                refusal_code(ground.write(path, "x")),
                RefusalCode::INVALID_INPUT,
                "{path}"
            );
            assert_eq!(
                refusal_code(ground.make_dir(path)),
                RefusalCode::INVALID_INPUT,
                "{path}"
            );
            assert_eq!(
                refusal_code(ground.delete(path, true)),
                RefusalCode::INVALID_INPUT,
                "{path}"
            );
            assert_eq!(
                refusal_code(ground.rename("plain", path, true)),
                RefusalCode::INVALID_INPUT
            );
            assert_eq!(
                refusal_code(ground.rename(path, "taken", true)),
                RefusalCode::INVALID_INPUT
            );
        }
        let all = ListFilesParams {
            recursive: true,
            ..ListFilesParams::default()
        };
        let listed = ground.dir.list(&all).unwrap().files;
        let listed: Vec<_> = listed.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(listed, ["plain", "sub"]);
        let ask = SearchFilesParams {
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
fn move_replaces_nothing_without_overwrite() {
    let ground = TestWorkspace::new();
    ground.write("a", "1").unwrap();
    ground.write("b", "2").unwrap();
    assert_eq!(
        refusal_code(ground.rename("a", "b", false)),
        RefusalCode::FILE_EXISTS
    );
    assert_eq!(
        refusal_code(ground.rename("a", "a", false)),
        RefusalCode::FILE_EXISTS
    );
    ground.rename("a", "a", true).unwrap();
    ground.rename("a", "b", true).unwrap();
    assert_eq!(ground.read("b").unwrap().content, "1");
    ground.rename("b", "x/y/z", false).unwrap();
    assert_eq!(ground.file_names("."), ["x"]);
    assert_eq!(
        refusal_code(ground.rename("x", "x/y/w", false)),
        RefusalCode::INVALID_INPUT
    );
    std::os::unix::fs::symlink("x/y", ground.host_path("inner")).unwrap();
    assert_eq!(
        refusal_code(ground.rename("x", "inner/w", false)),
        RefusalCode::INVALID_INPUT
    );
    ground.make_dir("empty").unwrap();
    assert_eq!(
        refusal_code(ground.rename("x/y/z", "empty", true)),
        RefusalCode::IS_A_DIRECTORY
    );
    assert_eq!(
        refusal_code(ground.rename("empty", "x/y/z", true)),
        RefusalCode::NOT_A_DIRECTORY
    );
    assert_eq!(
        refusal_code(ground.rename("empty", "x", true)),
        RefusalCode::DIRECTORY_NOT_EMPTY
    );
    ground.rename("x", "empty", true).unwrap();
    assert_eq!(ground.read("empty/y/z").unwrap().content, "1");
    // Two names of one file: one is left.
    std::fs::hard_link(ground.host_path("empty/y/z"), ground.host_path("twin")).unwrap();
    ground.rename("twin", "empty/y/z", true).unwrap();
    assert_eq!(ground.file_names("."), ["empty", "inner"]);
    assert_eq!(ground.read("empty/y/z").unwrap().content, "1");
    assert_eq!(
        refusal_code(ground.rename(".", "q", false)),
        RefusalCode::INVALID_INPUT
    );
    assert_eq!(
        refusal_code(ground.rename("empty", ".", true)),
        RefusalCode::INVALID_INPUT
    );
}

#[test]
fn listing_is_sorted_and_has_entry_types() {
    let ground = TestWorkspace::new();
    ground.write("b/in.txt", "12345").unwrap();
    ground.write("a", "1").unwrap();
    ground.write(".hidden", "").unwrap();
    ground.make_dir("c/").unwrap();
    ground.make_dir("c").unwrap();
    ground.make_dir("").unwrap();
    std::os::unix::fs::symlink("a", ground.host_path("d")).unwrap();
    let fifo = ground.host_path("e");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"z\xff");
    std::fs::write(ground.host_path("").join(odd), "xy").unwrap();
    std::fs::write(ground.host_path(".polis-tmp-00000000000000aa"), "half").unwrap();
    let entries = ground.list("").unwrap();
    let entries: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind, entry.size))
        .collect();
    assert_eq!(
        entries,
        [
            (".hidden", FileEntryType::File, 0),
            ("a", FileEntryType::File, 1),
            ("b", FileEntryType::Directory, 0),
            ("c", FileEntryType::Directory, 0),
            ("d", FileEntryType::Symlink, 0),
            ("e", FileEntryType::Other, 0),
            ("z\u{fffd}", FileEntryType::File, 2),
        ]
    );
    let all = ListFilesParams {
        path: None,
        recursive: true,
        ..ListFilesParams::default()
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
fn last_modified_is_the_time_of_the_newest_entry() {
    let ground = TestWorkspace::new();
    assert_eq!(ground.dir.info().unwrap().last_modified, None);
    ground.write("d/f", "x").unwrap();
    let at = |seconds: u64| {
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(seconds * 1_000 + 7)
    };
    for (path, seconds) in [("", 10), ("d", 20), ("d/f", 1_771_113_600)] {
        let file = std::fs::File::open(ground.host_path(path)).unwrap();
        file.set_modified(at(seconds)).unwrap();
    }
    let changed = ground.dir.info().unwrap().last_modified.unwrap();
    assert_eq!(changed.as_str(), "2026-02-15T00:00:00.007Z");
}

#[test]
fn quota_is_enforced() {
    let ground = TestWorkspace::new();
    let dir = WorkspaceDir::open(&ground.host_path(""))
        .unwrap()
        .with_limits(FileLimits {
            quota_bytes: Some(10),
            ..test_limits()
        });
    dir.write(&write_params("a", "12345")).unwrap();
    dir.write(&write_params("b", "1234")).unwrap();
    assert_eq!(
        refusal_code(dir.write(&write_params("c/d", "12"))),
        RefusalCode::QUOTA_EXCEEDED
    );
    assert_eq!(
        refusal_code(dir.write(&write_params("b", "123456"))),
        RefusalCode::QUOTA_EXCEEDED
    );
    assert_eq!(ground.file_names("."), ["a", "b"]);
    dir.write(&write_params("b", "12345")).unwrap();
    dir.edit(&edit_params("b", "12345", "1")).unwrap();
    assert_eq!(
        refusal_code(dir.edit(&edit_params("a", "1", "123456"))),
        RefusalCode::QUOTA_EXCEEDED
    );
    dir.write(&write_params("c", "1234")).unwrap();
    // Over the quota, files can still be made smaller.
    std::fs::write(ground.host_path("big"), vec![b'x'; 100]).unwrap();
    dir.write(&write_params("big", &"x".repeat(50))).unwrap();
    assert_eq!(
        refusal_code(dir.write(&write_params("new", "x"))),
        RefusalCode::QUOTA_EXCEEDED
    );
}

#[test]
fn new_files_belong_to_the_owner_of_the_workspace() {
    let ground = TestWorkspace::new();
    if !is_root() {
        return report_skipped("only root can change file owners");
    }
    std::os::unix::fs::chown(ground.host_path(""), Some(12_345), Some(23_456)).unwrap();
    let dir = WorkspaceDir::open(&ground.host_path("")).unwrap();
    dir.write(&write_params("d/f", "x")).unwrap();
    let owner = |path: &str| {
        let found = ground.host_path(path).metadata().unwrap();
        (found.uid(), found.gid())
    };
    assert_eq!(owner("d"), (12_345, 23_456));
    assert_eq!(owner("d/f"), (12_345, 23_456));
    // A file of another owner keeps its owner.
    std::os::unix::fs::chown(ground.host_path("d/f"), Some(777), Some(778)).unwrap();
    dir.write(&write_params("d/f", "y")).unwrap();
    assert_eq!(owner("d/f"), (777, 778));
    dir.edit(&edit_params("d/f", "y", "z")).unwrap();
    assert_eq!(owner("d/f"), (777, 778));
}
