//! Which directories can be a workspace, and default ones that are made by the first write.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use polis_core::Code;
use polis_core::workspace::file::{
    DeleteFile, ListFiles, MakeDir, MoveFile, ReadFile, SearchFiles, WorkspaceInfo,
};
use polis_ops::port::{Files as _, Site};
use polis_workspace::registry::MachineRegistry;

use crate::ground::{Office, code, edit, site, write};

#[test]
fn a_directory_is_made_and_canonical() {
    let office = Office::new();
    let base = office.directory.path().canonicalize().unwrap();
    symlink(&base, base.join("link")).unwrap();
    for (asked, bound) in [
        ("a/b/c", "a/b/c"),
        ("link/d", "d"),
        ("a/../e", "e"),
        ("a//b/./f/", "a/b/f"),
    ] {
        let asked = format!("{}/{asked}", base.display());
        // Asking where it would be makes nothing.
        let there = base.join(bound).exists();
        let place = office.wait(office.files.resolve(&asked)).unwrap();
        assert_eq!(place, base.join(bound).to_str().unwrap());
        assert_eq!(base.join(bound).exists(), there);
        let answer = office.wait(office.files.bind(&asked)).unwrap();
        assert_eq!(answer, base.join(bound).to_str().unwrap());
        assert!(base.join(bound).is_dir());
        // Binding what is there is fine.
        assert_eq!(office.wait(office.files.bind(&asked)).unwrap(), answer);
    }
}

#[test]
fn directories_that_cannot_be_workspaces_are_refused() {
    let office = Office::new();
    let base = office.directory.path().canonicalize().unwrap();
    std::fs::write(base.join("file"), "x").unwrap();
    symlink(base.join("data"), base.join("to-data")).unwrap();
    symlink(base.join("nowhere"), base.join("dangling")).unwrap();
    let below = |path: &str| base.join(path).to_str().unwrap().to_owned();
    for (asked, expected) in [
        (below("data"), Code::WorkspaceOverlaps),
        (below("data/workspaces/x"), Code::WorkspaceOverlaps),
        (below(""), Code::WorkspaceOverlaps),
        (below("to-data/new"), Code::WorkspaceOverlaps),
        (below("new/../data/x"), Code::InvalidWorkspace),
        (below("file"), Code::NotADirectory),
        (below("file/x"), Code::NotADirectory),
        (below("dangling"), Code::InvalidWorkspace),
        (below("dangling/x"), Code::InvalidWorkspace),
        (below("a\0b"), Code::InvalidWorkspace),
        ("relative/path".to_owned(), Code::InvalidWorkspace),
        (String::new(), Code::InvalidWorkspace),
        ("/".to_owned(), Code::InvalidWorkspace),
        ("/etc".to_owned(), Code::InvalidWorkspace),
        ("/etc/new".to_owned(), Code::InvalidWorkspace),
        ("/usr/bin".to_owned(), Code::InvalidWorkspace),
        ("/usr/local".to_owned(), Code::InvalidWorkspace),
        ("/proc/self".to_owned(), Code::InvalidWorkspace),
        ("/lib/new".to_owned(), Code::InvalidWorkspace),
        ("/lib64".to_owned(), Code::InvalidWorkspace),
        ("/root".to_owned(), Code::InvalidWorkspace),
        ("/home/somebody".to_owned(), Code::InvalidWorkspace),
        ("/var".to_owned(), Code::InvalidWorkspace),
        ("/tmp/../dev".to_owned(), Code::InvalidWorkspace),
    ] {
        let early = office.wait(office.files.resolve(&asked)).unwrap_err();
        let refused = office.wait(office.files.bind(&asked)).unwrap_err();
        assert_eq!(refused.code, expected, "{asked:?}: {refused}");
        assert_eq!(
            (early.code, early.message),
            (refused.code, refused.message.clone())
        );
        assert!(!refused.message.contains(base.to_str().unwrap()));
    }
    // A neighbour whose name begins the same is no overlap.
    office.wait(office.files.bind(&below("data-more"))).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dangling", "data", "data-more", "file", "to-data"]);
    assert_eq!(std::fs::read_dir(base.join("data")).unwrap().count(), 0);
}

#[test]
fn a_workspace_never_written_to_is_empty() {
    let office = Office::new();
    let (files, site) = (&office.files, site("agent-001"));
    let path = "f".to_owned();
    assert!(!office.wait(files.exists(&site)).unwrap());
    let read = ReadFile {
        path: path.clone(),
        ..ReadFile::default()
    };
    assert_eq!(
        code(office.wait(files.read(&site, &read))),
        Code::FileNotFound
    );
    assert_eq!(
        code(office.wait(files.edit(&site, &edit("f", "a", "b")))),
        Code::FileNotFound
    );
    let delete = DeleteFile {
        path: path.clone(),
        recursive: true,
    };
    assert_eq!(
        code(office.wait(files.delete(&site, &delete))),
        Code::FileNotFound
    );
    let rename = MoveFile {
        from: path,
        to: "g".to_owned(),
        overwrite: false,
    };
    assert_eq!(
        code(office.wait(files.rename(&site, &rename))),
        Code::FileNotFound
    );
    let list = ListFiles::default();
    assert!(
        office
            .wait(files.list(&site, &list))
            .unwrap()
            .files
            .is_empty()
    );
    let dot = ListFiles {
        path: Some(".".to_owned()),
        recursive: true,
        ..ListFiles::default()
    };
    assert!(
        office
            .wait(files.list(&site, &dot))
            .unwrap()
            .files
            .is_empty()
    );
    assert_eq!(
        office.wait(files.info(&site)).unwrap(),
        WorkspaceInfo::default()
    );
    let search = SearchFiles {
        pattern: "x".to_owned(),
        ..SearchFiles::default()
    };
    assert!(
        office
            .wait(files.search(&site, &search))
            .unwrap()
            .matches
            .is_empty()
    );
    // Refused by the path first, also where nothing is.
    let out = ReadFile {
        path: "../x".to_owned(),
        ..ReadFile::default()
    };
    assert_eq!(
        code(office.wait(files.read(&site, &out))),
        Code::PathTraversalBlocked
    );
    // What is refused makes no directory.
    for bad in ["../x", "", "a/"] {
        office
            .wait(files.write(&site, &write(bad, "x")))
            .unwrap_err();
    }
    assert!(!office.wait(files.exists(&site)).unwrap());

    office.wait(files.write(&site, &write("a/f", "x"))).unwrap();
    assert!(office.wait(files.exists(&site)).unwrap());
    let directory = office.directory.path().join("data/workspaces/agent-001");
    assert_eq!(files.location(&site), directory.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(directory.join("a/f")).unwrap(), "x");
    for path in [&directory, directory.parent().unwrap()] {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    let other = self::site("agent-002");
    let make = MakeDir {
        path: "d".to_owned(),
    };
    office.wait(files.make_dir(&other, &make)).unwrap();
    assert!(office.wait(files.exists(&other)).unwrap());
}

#[test]
fn a_bound_directory_that_is_gone_is_not_made_again() {
    let office = Office::new();
    let path = office.directory.path().join("bound");
    let bound = office
        .wait(office.files.bind(path.to_str().unwrap()))
        .unwrap();
    let site = Site {
        bound: Some(bound),
        ..site("agent-001")
    };
    let files = &office.files;
    office.wait(files.write(&site, &write("f", "x"))).unwrap();
    assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "x");
    std::fs::remove_dir_all(&path).unwrap();
    let refused = office
        .wait(files.write(&site, &write("f", "x")))
        .unwrap_err();
    assert_eq!(refused.code, Code::FileNotFound);
    assert!(!refused.message.contains("bound/"), "{refused}");
    assert_eq!(code(office.wait(files.info(&site))), Code::FileNotFound);
    assert!(!path.exists());
    // One that is put back is noticed.
    std::fs::create_dir(&path).unwrap();
    office.wait(files.write(&site, &write("f", "x"))).unwrap();
}

#[test]
fn recorded_directory_that_cannot_be_bound_is_refused_at_use() {
    let office = Office::new();
    let base = office.directory.path().canonicalize().unwrap();
    let below = |path: &str| base.join(path).to_str().unwrap().to_owned();
    std::fs::create_dir_all(base.join("data/workspaces/other")).unwrap();
    let registry = MachineRegistry::at(base.join("state"));
    let registered = office.files.clone().with_registry(registry);
    for (bound, expected) in [
        ("/etc".to_owned(), Code::InvalidWorkspace),
        ("/tmp/../etc".to_owned(), Code::InvalidWorkspace),
        ("//etc".to_owned(), Code::InvalidWorkspace),
        ("/etc/".to_owned(), Code::InvalidWorkspace),
        ("/".to_owned(), Code::InvalidWorkspace),
        ("/usr".to_owned(), Code::InvalidWorkspace),
        (below(""), Code::InvalidWorkspace),
        (below("data"), Code::WorkspaceOverlaps),
        (below("data/workspaces/other"), Code::WorkspaceOverlaps),
        (base.to_str().unwrap().to_owned(), Code::WorkspaceOverlaps),
    ] {
        let site = Site {
            bound: Some(bound.clone()),
            ..site("agent-001")
        };
        for files in [&office.files, &registered] {
            let list = office.wait(files.list(&site, &ListFiles::default()));
            assert_eq!(code(list), expected, "{bound}");
            let write = office.wait(files.write(&site, &write("f", "x")));
            assert_eq!(code(write), expected, "{bound}");
            assert!(!office.wait(files.exists(&site)).unwrap(), "{bound}");
            // What commands run in.
            assert_eq!(code(files.prepare(&site)), expected, "{bound}");
        }
    }
}
