//! Ways out that people and models have tried: each is refused, and nothing outside is read,
//! changed or told.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use polis_core::Code;
use polis_core::workspace::file::{ListFiles, ReadFile, SearchFiles};
use polis_ops::PortError;
use polis_workspace::files::WorkspaceDir;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::ground::{Ground, RESOLVERS, code, is_root, skipped, write};

/// Every tool on one path. None may succeed.
fn refusals(ground: &Ground, path: &str) -> Vec<(&'static str, PortError)> {
    let mut refused = Vec::new();
    let mut keep = |tool, answer: Result<(), PortError>| match answer {
        Ok(()) => panic!("{tool} of {path:?} was done"),
        Err(error) => {
            ground.check_silent(&error);
            refused.push((tool, error));
        }
    };
    keep("read", ground.read(path).map(|_| ()));
    keep("write", ground.write(path, "x").map(|_| ()));
    keep("edit", ground.edit(path, "secret", "x").map(|_| ()));
    keep("list", ground.list(path).map(|_| ()));
    let search = SearchFiles {
        pattern: "secret".to_owned(),
        path: Some(path.to_owned()),
        ..SearchFiles::default()
    };
    keep("search", ground.dir.search(&search).map(|_| ()));
    refused
}

#[test]
fn path_tricks_are_refused() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        ground.write("a/b", "x").unwrap();
        let absolute = ground.outside("secret.txt");
        let tricks = [
            "../secret.txt",
            "../outside/secret.txt",
            "a/../../secret.txt",
            "a/b/../../../secret.txt",
            "./../secret.txt",
            ".//..//secret.txt",
            "..",
            "../",
            "a/..",
            "/etc/passwd",
            "//etc/passwd",
            absolute.to_str().unwrap(),
            "..\\secret.txt",
            "a\\..\\..\\secret.txt",
            "C:\\Windows",
            "C:/Windows",
            "\\\\server\\share",
            "a\0/../../secret.txt",
            "secret.txt\0.png",
        ];
        for trick in tricks {
            for (tool, error) in refusals(&ground, trick) {
                assert_eq!(error.code, Code::PathTraversalBlocked, "{tool} {trick:?}");
            }
            for (tool, answer) in [
                ("delete", ground.delete(trick, true)),
                ("make_dir", ground.make_dir(trick)),
                ("move from", ground.rename(trick, "new", true)),
                ("move to", ground.rename("a", trick, true)),
            ] {
                assert_eq!(code(answer), Code::PathTraversalBlocked, "{tool} {trick:?}");
            }
        }
        for fine in [
            "a..b.txt",
            "[...slug].tsx",
            "...",
            "~",
            "$HOME",
            "%2e%2e",
            "-rf",
            "a b\n",
            "．．",
        ] {
            ground.write(fine, "x").unwrap();
            assert_eq!(ground.read(fine).unwrap().content, "x", "{fine:?}");
        }
        ground.check_outside();
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        let outside = ground.outside("");
        let sibling = format!("{}-other", ground.at("").display());
        for (name, target) in [
            ("file", ground.outside("secret.txt").to_str().unwrap()),
            ("relative", "../outside/secret.txt"),
            ("up", ".."),
            ("directory", outside.to_str().unwrap()),
            ("absolute-inside", ground.at("real").to_str().unwrap()),
            ("dangling", "../outside/new.txt"),
            (
                "dangling-absolute",
                ground.outside("new.txt").to_str().unwrap(),
            ),
            ("root", "/"),
            ("sibling", &sibling),
            ("proc", "/proc/self/root/etc/passwd"),
        ] {
            symlink(target, ground.at(name)).unwrap();
        }
        std::fs::create_dir(ground.at("sub")).unwrap();
        symlink("../relative", ground.at("sub/twice")).unwrap();
        symlink("../../outside", ground.at("sub/dir")).unwrap();
        ground.write("real", "x").unwrap();
        for path in [
            "file",
            "relative",
            "up",
            "up/secret.txt",
            "up/outside/secret.txt",
            "directory",
            "directory/secret.txt",
            "directory/new.txt",
            "directory/new/new.txt",
            "absolute-inside",
            "dangling",
            "dangling-absolute",
            "root/etc/passwd",
            "sibling",
            "proc",
            "sub/twice",
            "sub/dir/secret.txt",
            "sub/dir/deep/secret.txt",
        ] {
            for (tool, error) in refusals(&ground, path) {
                assert_eq!(
                    error.code,
                    Code::PathTraversalBlocked,
                    "{tool} {path}: {error}"
                );
            }
        }
        for path in ["directory/secret.txt", "up/secret.txt", "sub/dir/deep"] {
            assert_eq!(code(ground.delete(path, true)), Code::PathTraversalBlocked);
            assert_eq!(
                code(ground.rename(path, "stolen", false)),
                Code::PathTraversalBlocked
            );
            assert_eq!(
                code(ground.rename("real", &format!("{path}/new"), false)),
                Code::PathTraversalBlocked
            );
            assert_eq!(
                code(ground.make_dir(&format!("{path}/new"))),
                Code::PathTraversalBlocked
            );
        }
        ground.check_outside();

        // As links they may be seen, moved and deleted.
        let all = ListFiles {
            path: None,
            recursive: true,
            ..ListFiles::default()
        };
        let listed = ground.dir.list(&all).unwrap().files;
        assert_eq!(listed.len(), 14, "links are not followed");
        assert_eq!(ground.dir.info().unwrap().total_size, 1);
        ground.rename("directory", "sub/moved", false).unwrap();
        ground.rename("real", "file", true).unwrap();
        for name in ["up", "root", "dangling"] {
            ground.delete(name, true).unwrap();
        }
        ground.delete("sub", true).unwrap();
        ground.check_outside();
    }
}

#[test]
fn a_search_does_not_follow_links() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        symlink(ground.outside(""), ground.at("dir")).unwrap();
        symlink(ground.outside("secret.txt"), ground.at("file")).unwrap();
        ground.write("mine", "a secret of mine").unwrap();
        // An ignore file that is a link, or a pipe, is not read.
        symlink(ground.outside("secret.txt"), ground.at(".ignore")).unwrap();
        fifo(&ground, ".gitignore");
        let ask = SearchFiles {
            pattern: "secret".to_owned(),
            all: true,
            ..SearchFiles::default()
        };
        assert_eq!(ground.search(&ask), ["mine:1"]);
        assert_eq!(
            ground.search(&SearchFiles { all: false, ..ask }),
            ["mine:1"]
        );
    }
}

fn fifo(ground: &Ground, name: &str) {
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, ground.at(name), FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    for resolver in RESOLVERS {
        let ground = Ground::with(resolver);
        fifo(&ground, "pipe");
        let _listener = UnixListener::bind(ground.at("socket")).unwrap();
        let mut names = vec!["pipe", "socket"];
        if is_root() {
            for (name, minor) in [("null", 3), ("zero", 5)] {
                let device = rustix::fs::makedev(1, minor);
                let mode = Mode::from_raw_mode(0o666);
                let kind = FileType::CharacterDevice;
                match mknodat(CWD, ground.at(name), kind, mode, device) {
                    Ok(()) => names.push(name),
                    Err(errno) => skipped(&format!("no right to make a device: {errno}")),
                }
            }
        }
        symlink("pipe", ground.at("to-pipe")).unwrap();
        names.push("to-pipe");
        let began = Instant::now();
        for name in names {
            for (tool, error) in refusals(&ground, name) {
                let fits = match tool {
                    "list" => error.code == Code::NotADirectory,
                    _ => error.code == Code::NotAFile,
                };
                assert!(fits, "{tool} {name}: {error:?}");
            }
            let inside = format!("{name}/x");
            assert_eq!(code(ground.write(&inside, "x")), Code::NotADirectory);
        }
        ground.write("f", "x").unwrap();
        assert_eq!(code(ground.rename("f", "pipe", true)), Code::NotAFile);
        // Waiting for the pipe's other end would never be over, and for a lock not before 30 seconds.
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "something waited"
        );
        ground.delete("pipe", false).unwrap();
        ground.delete("socket", false).unwrap();
    }
}

#[test]
fn workspace_whose_path_has_a_link_is_refused() {
    let ground = Ground::new();
    let link = ground.outside("../link");
    symlink("ws", &link).unwrap();
    let refused = |path: &std::path::Path| WorkspaceDir::open(path).map(|_| ()).unwrap_err().code;
    assert_eq!(refused(&link), Code::InvalidWorkspace);
    assert_eq!(refused(&link.join("d")), Code::InvalidWorkspace);
    std::fs::remove_file(&link).unwrap();
    // One that is open stays the directory that was opened.
    let place = ground.outside("../other");
    std::fs::create_dir(&place).unwrap();
    let dir = WorkspaceDir::open(&place).unwrap();
    std::fs::rename(&place, ground.outside("../moved")).unwrap();
    symlink("outside", &place).unwrap();
    dir.write(&write("g", "x")).unwrap();
    assert!(ground.outside("../moved/g").exists());
    assert_eq!(refused(&place), Code::InvalidWorkspace);
    std::fs::remove_file(&place).unwrap();
    std::fs::remove_dir_all(ground.outside("../moved")).unwrap();
    ground.check_outside();
}

#[test]
fn the_way_through_proc_is_closed() {
    // A magic link must not be followed even if it happens to lead inside: another would not.
    let place = std::path::Path::new("/proc");
    for resolver in RESOLVERS {
        let proc = WorkspaceDir::open(place).unwrap().with_resolver(resolver);
        for path in ["self/root/etc/passwd", "self/cwd/Cargo.toml", "self/exe"] {
            let ask = ReadFile {
                path: path.to_owned(),
                ..ReadFile::default()
            };
            let refused = code(proc.read(&ask));
            assert!(
                matches!(refused, Code::PathTraversalBlocked | Code::NotAFile),
                "{path}: {refused}"
            );
        }
    }
}
