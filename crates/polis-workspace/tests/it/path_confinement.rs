//! Tests of path confinement: known path traversal tricks (`..`, absolute paths, symlinks, `/proc`) are
//! refused, and nothing outside of the workspace is read, changed or revealed.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{ListFilesParams, ReadFileParams, SearchFilesParams};
use polis_ops::PortError;
use polis_workspace::files::WorkspaceDir;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::test_workspace::{
    RESOLVERS, TestWorkspace, is_root, refusal_code, report_skipped, write_params,
};

/// Runs every tool on one path. None may succeed.
fn check_all_tools_refuse(ground: &TestWorkspace, path: &str) -> Vec<(&'static str, PortError)> {
    let mut refused = Vec::new();
    let mut keep = |tool, answer: Result<(), PortError>| match answer {
        Ok(()) => panic!("{tool} of {path:?} was done"),
        Err(error) => {
            ground.check_error_reveals_nothing(&error);
            refused.push((tool, error));
        }
    };
    keep("read", ground.read(path).map(|_| ()));
    keep("write", ground.write(path, "x").map(|_| ()));
    keep("edit", ground.edit(path, "secret", "x").map(|_| ()));
    keep("list", ground.list(path).map(|_| ()));
    let search = SearchFilesParams {
        pattern: "secret".to_owned(),
        path: Some(path.to_owned()),
        ..SearchFilesParams::default()
    };
    keep("search", ground.dir.search(&search).map(|_| ()));
    refused
}

#[test]
fn path_tricks_are_refused() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        ground.write("a/b", "x").unwrap();
        let absolute = ground.outside_path("secret.txt");
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
            for (tool, error) in check_all_tools_refuse(&ground, trick) {
                assert_eq!(
                    error.code,
                    RefusalCode::PATH_TRAVERSAL_BLOCKED,
                    "{tool} {trick:?}"
                );
            }
            for (tool, answer) in [
                ("delete", ground.delete(trick, true)),
                ("make_dir", ground.make_dir(trick)),
                ("move from", ground.rename(trick, "new", true)),
                ("move to", ground.rename("a", trick, true)),
            ] {
                assert_eq!(
                    refusal_code(answer),
                    RefusalCode::PATH_TRAVERSAL_BLOCKED,
                    "{tool} {trick:?}"
                );
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
        ground.check_outside_unchanged();
    }
}

#[test]
fn symlinks_leading_outside_are_refused() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        let outside = ground.outside_path("");
        let sibling = format!("{}-other", ground.host_path("").display());
        for (name, target) in [
            ("file", ground.outside_path("secret.txt").to_str().unwrap()),
            ("relative", "../outside/secret.txt"),
            ("up", ".."),
            ("directory", outside.to_str().unwrap()),
            (
                "absolute-inside",
                ground.host_path("real").to_str().unwrap(),
            ),
            ("dangling", "../outside/new.txt"),
            (
                "dangling-absolute",
                ground.outside_path("new.txt").to_str().unwrap(),
            ),
            ("root", "/"),
            ("sibling", &sibling),
            ("proc", "/proc/self/root/etc/passwd"),
        ] {
            symlink(target, ground.host_path(name)).unwrap();
        }
        std::fs::create_dir(ground.host_path("sub")).unwrap();
        symlink("../relative", ground.host_path("sub/twice")).unwrap();
        symlink("../../outside", ground.host_path("sub/dir")).unwrap();
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
            for (tool, error) in check_all_tools_refuse(&ground, path) {
                assert_eq!(
                    error.code,
                    RefusalCode::PATH_TRAVERSAL_BLOCKED,
                    "{tool} {path}: {error}"
                );
            }
        }
        for path in ["directory/secret.txt", "up/secret.txt", "sub/dir/deep"] {
            assert_eq!(
                refusal_code(ground.delete(path, true)),
                RefusalCode::PATH_TRAVERSAL_BLOCKED
            );
            assert_eq!(
                refusal_code(ground.rename(path, "stolen", false)),
                RefusalCode::PATH_TRAVERSAL_BLOCKED
            );
            assert_eq!(
                refusal_code(ground.rename("real", &format!("{path}/new"), false)),
                RefusalCode::PATH_TRAVERSAL_BLOCKED
            );
            assert_eq!(
                refusal_code(ground.make_dir(&format!("{path}/new"))),
                RefusalCode::PATH_TRAVERSAL_BLOCKED
            );
        }
        ground.check_outside_unchanged();

        // The links themselves may be listed, moved and deleted.
        let all = ListFilesParams {
            path: None,
            recursive: true,
            ..ListFilesParams::default()
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
        ground.check_outside_unchanged();
    }
}

#[test]
fn search_does_not_follow_symlinks() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        symlink(ground.outside_path(""), ground.host_path("dir")).unwrap();
        symlink(ground.outside_path("secret.txt"), ground.host_path("file")).unwrap();
        ground.write("mine", "a secret of mine").unwrap();
        // An ignore file that is a link or a pipe is not read.
        symlink(
            ground.outside_path("secret.txt"),
            ground.host_path(".ignore"),
        )
        .unwrap();
        create_fifo(&ground, ".gitignore");
        let ask = SearchFilesParams {
            pattern: "secret".to_owned(),
            all: true,
            ..SearchFilesParams::default()
        };
        assert_eq!(ground.search(&ask), ["mine:1"]);
        assert_eq!(
            ground.search(&SearchFilesParams { all: false, ..ask }),
            ["mine:1"]
        );
    }
}

fn create_fifo(ground: &TestWorkspace, name: &str) {
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, ground.host_path(name), FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    for resolver in RESOLVERS {
        let ground = TestWorkspace::with_resolver(resolver);
        create_fifo(&ground, "pipe");
        let _listener = UnixListener::bind(ground.host_path("socket")).unwrap();
        let mut names = vec!["pipe", "socket"];
        if is_root() {
            for (name, minor) in [("null", 3), ("zero", 5)] {
                let device = rustix::fs::makedev(1, minor);
                let mode = Mode::from_raw_mode(0o666);
                let kind = FileType::CharacterDevice;
                match mknodat(CWD, ground.host_path(name), kind, mode, device) {
                    Ok(()) => names.push(name),
                    Err(errno) => {
                        report_skipped(&format!("no permission to create a device: {errno}"));
                    }
                }
            }
        }
        symlink("pipe", ground.host_path("to-pipe")).unwrap();
        names.push("to-pipe");
        let began = Instant::now();
        for name in names {
            for (tool, error) in check_all_tools_refuse(&ground, name) {
                let fits = match tool {
                    "list" => error.code == RefusalCode::NOT_A_DIRECTORY,
                    _ => error.code == RefusalCode::NOT_A_FILE,
                };
                assert!(fits, "{tool} {name}: {error:?}");
            }
            let inside = format!("{name}/x");
            assert_eq!(
                refusal_code(ground.write(&inside, "x")),
                RefusalCode::NOT_A_DIRECTORY
            );
        }
        ground.write("f", "x").unwrap();
        assert_eq!(
            refusal_code(ground.rename("f", "pipe", true)),
            RefusalCode::NOT_A_FILE
        );
        // Waiting for the other end of the pipe would never return, and waiting for a lock takes 30 seconds.
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "an operation blocked"
        );
        ground.delete("pipe", false).unwrap();
        ground.delete("socket", false).unwrap();
    }
}

#[test]
fn workspace_path_with_a_symlink_is_refused() {
    let ground = TestWorkspace::new();
    let link = ground.outside_path("../link");
    symlink("ws", &link).unwrap();
    let refused = |path: &std::path::Path| WorkspaceDir::open(path).map(|_| ()).unwrap_err().code;
    assert_eq!(refused(&link), RefusalCode::INVALID_WORKSPACE);
    assert_eq!(refused(&link.join("d")), RefusalCode::INVALID_WORKSPACE);
    std::fs::remove_file(&link).unwrap();
    // An open workspace stays the directory that was opened.
    let place = ground.outside_path("../other");
    std::fs::create_dir(&place).unwrap();
    let dir = WorkspaceDir::open(&place).unwrap();
    std::fs::rename(&place, ground.outside_path("../moved")).unwrap();
    symlink("outside", &place).unwrap();
    dir.write(&write_params("g", "x")).unwrap();
    assert!(ground.outside_path("../moved/g").exists());
    assert_eq!(refused(&place), RefusalCode::INVALID_WORKSPACE);
    std::fs::remove_file(&place).unwrap();
    std::fs::remove_dir_all(ground.outside_path("../moved")).unwrap();
    ground.check_outside_unchanged();
}

#[test]
fn proc_magic_links_are_not_followed() {
    // A magic link must not be followed even if it happens to point inside: another one would not.
    let place = std::path::Path::new("/proc");
    for resolver in RESOLVERS {
        let proc = WorkspaceDir::open(place).unwrap().with_resolver(resolver);
        for path in ["self/root/etc/passwd", "self/cwd/Cargo.toml", "self/exe"] {
            let ask = ReadFileParams {
                path: path.to_owned(),
                ..ReadFileParams::default()
            };
            let refused = refusal_code(proc.read(&ask));
            assert!(
                matches!(
                    refused,
                    RefusalCode::PATH_TRAVERSAL_BLOCKED | RefusalCode::NOT_A_FILE
                ),
                "{path}: {refused}"
            );
        }
    }
}
