//! Tests of workspace directories: binding a workspace to a directory, directories that are refused, and
//! default workspaces that the first write creates.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{
    DeleteFileParams, ListFilesParams, MakeDirParams, MoveFileParams, ReadFileParams,
    SearchFilesParams, WorkspaceInfo,
};
use polis_ops::port::{WorkspaceFileAccess as _, WorkspaceLocation};
use polis_workspace::machine_registry::MachineRegistry;

use crate::test_workspace::{
    TestDataDirectory, default_location, edit_params, refusal_code, rendered, write_params,
};

#[test]
fn bound_directory_is_created_and_canonicalised() {
    let office = TestDataDirectory::new();
    let base = office.directory.path().canonicalize().unwrap();
    symlink(&base, base.join("link")).unwrap();
    for (asked, bound) in [
        ("a/b/c", "a/b/c"),
        ("link/d", "d"),
        ("a/../e", "e"),
        ("a//b/./f/", "a/b/f"),
    ] {
        let asked = format!("{}/{asked}", base.display());
        // Resolving creates nothing.
        let there = base.join(bound).exists();
        let place = office.block_on(office.files.resolve(&asked)).unwrap();
        assert_eq!(place, base.join(bound).to_str().unwrap());
        assert_eq!(base.join(bound).exists(), there);
        let answer = office.block_on(office.files.bind(&asked)).unwrap();
        assert_eq!(answer, base.join(bound).to_str().unwrap());
        assert!(base.join(bound).is_dir());
        // An existing directory can be bound.
        assert_eq!(office.block_on(office.files.bind(&asked)).unwrap(), answer);
    }
}

#[test]
fn unsuitable_directories_are_refused() {
    let office = TestDataDirectory::new();
    let base = office.directory.path().canonicalize().unwrap();
    std::fs::write(base.join("file"), "x").unwrap();
    symlink(base.join("data"), base.join("to-data")).unwrap();
    symlink(base.join("nowhere"), base.join("dangling")).unwrap();
    let below = |path: &str| base.join(path).to_str().unwrap().to_owned();
    for (asked, expected) in [
        (below("data"), RefusalCode::WORKSPACE_OVERLAPS),
        (below("data/workspaces/x"), RefusalCode::WORKSPACE_OVERLAPS),
        (below(""), RefusalCode::WORKSPACE_OVERLAPS),
        (below("to-data/new"), RefusalCode::WORKSPACE_OVERLAPS),
        (below("new/../data/x"), RefusalCode::INVALID_WORKSPACE),
        (below("file"), RefusalCode::NOT_A_DIRECTORY),
        (below("file/x"), RefusalCode::NOT_A_DIRECTORY),
        (below("dangling"), RefusalCode::INVALID_WORKSPACE),
        (below("dangling/x"), RefusalCode::INVALID_WORKSPACE),
        (below("a\0b"), RefusalCode::INVALID_WORKSPACE),
        ("relative/path".to_owned(), RefusalCode::INVALID_WORKSPACE),
        (String::new(), RefusalCode::INVALID_WORKSPACE),
        ("/".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/etc".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/etc/new".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/usr/bin".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/usr/local".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/proc/self".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/lib/new".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/lib64".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/root".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/home/somebody".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/var".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/tmp/../dev".to_owned(), RefusalCode::INVALID_WORKSPACE),
    ] {
        let early = office.block_on(office.files.resolve(&asked)).unwrap_err();
        let refused = office.block_on(office.files.bind(&asked)).unwrap_err();
        assert_eq!(refused.code, expected, "{asked:?}: {refused}");
        assert_eq!(
            (early.code, rendered(&early).message),
            (refused.code, rendered(&refused).message)
        );
        assert!(!rendered(&refused).message.contains(base.to_str().unwrap()));
    }
    // A sibling with the same name prefix does not overlap.
    office
        .block_on(office.files.bind(&below("data-more")))
        .unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dangling", "data", "data-more", "file", "to-data"]);
    assert_eq!(std::fs::read_dir(base.join("data")).unwrap().count(), 0);
}

#[test]
fn unwritten_workspace_is_empty_and_not_created() {
    let office = TestDataDirectory::new();
    let (files, site) = (&office.files, default_location("agent-001"));
    let path = "f".to_owned();
    assert!(!office.block_on(files.exists(&site)).unwrap());
    let read = ReadFileParams {
        path: path.clone(),
        ..ReadFileParams::default()
    };
    assert_eq!(
        refusal_code(office.block_on(files.read(&site, &read))),
        RefusalCode::FILE_NOT_FOUND
    );
    assert_eq!(
        refusal_code(office.block_on(files.edit(&site, &edit_params("f", "a", "b")))),
        RefusalCode::FILE_NOT_FOUND
    );
    let delete = DeleteFileParams {
        path: path.clone(),
        recursive: true,
    };
    assert_eq!(
        refusal_code(office.block_on(files.delete(&site, &delete))),
        RefusalCode::FILE_NOT_FOUND
    );
    let rename = MoveFileParams {
        from: path,
        to: "g".to_owned(),
        overwrite: false,
    };
    assert_eq!(
        refusal_code(office.block_on(files.rename(&site, &rename))),
        RefusalCode::FILE_NOT_FOUND
    );
    let list = ListFilesParams::default();
    assert!(
        office
            .block_on(files.list(&site, &list))
            .unwrap()
            .files
            .is_empty()
    );
    let dot = ListFilesParams {
        path: Some(".".to_owned()),
        recursive: true,
        ..ListFilesParams::default()
    };
    assert!(
        office
            .block_on(files.list(&site, &dot))
            .unwrap()
            .files
            .is_empty()
    );
    assert_eq!(
        office.block_on(files.info(&site)).unwrap(),
        WorkspaceInfo::default()
    );
    let search = SearchFilesParams {
        pattern: "x".to_owned(),
        ..SearchFilesParams::default()
    };
    assert!(
        office
            .block_on(files.search(&site, &search))
            .unwrap()
            .matches
            .is_empty()
    );
    // Refused by the path first, even if nothing exists there.
    let out = ReadFileParams {
        path: "../x".to_owned(),
        ..ReadFileParams::default()
    };
    assert_eq!(
        refusal_code(office.block_on(files.read(&site, &out))),
        RefusalCode::PATH_TRAVERSAL_BLOCKED
    );
    // A refused write creates no directory.
    for bad in ["../x", "", "a/"] {
        office
            .block_on(files.write(&site, &write_params(bad, "x")))
            .unwrap_err();
    }
    assert!(!office.block_on(files.exists(&site)).unwrap());

    office
        .block_on(files.write(&site, &write_params("a/f", "x")))
        .unwrap();
    assert!(office.block_on(files.exists(&site)).unwrap());
    let directory = office.directory.path().join("data/workspaces/agent-001");
    assert_eq!(files.location(&site), directory.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(directory.join("a/f")).unwrap(), "x");
    for path in [&directory, directory.parent().unwrap()] {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    let other = default_location("agent-002");
    let make = MakeDirParams {
        path: "d".to_owned(),
    };
    office.block_on(files.make_dir(&other, &make)).unwrap();
    assert!(office.block_on(files.exists(&other)).unwrap());
}

#[test]
fn deleted_bound_directory_is_not_recreated() {
    let office = TestDataDirectory::new();
    let path = office.directory.path().join("bound");
    let bound = office
        .block_on(office.files.bind(path.to_str().unwrap()))
        .unwrap();
    let site = WorkspaceLocation {
        bound_directory: Some(bound),
        ..default_location("agent-001")
    };
    let files = &office.files;
    office
        .block_on(files.write(&site, &write_params("f", "x")))
        .unwrap();
    assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "x");
    std::fs::remove_dir_all(&path).unwrap();
    let refused = office
        .block_on(files.write(&site, &write_params("f", "x")))
        .unwrap_err();
    assert_eq!(refused.code, RefusalCode::FILE_NOT_FOUND);
    assert!(!rendered(&refused).message.contains("bound/"), "{refused}");
    assert_eq!(
        refusal_code(office.block_on(files.info(&site))),
        RefusalCode::FILE_NOT_FOUND
    );
    assert!(!path.exists());
    // A restored directory is accepted again.
    std::fs::create_dir(&path).unwrap();
    office
        .block_on(files.write(&site, &write_params("f", "x")))
        .unwrap();
}

#[test]
fn unsuitable_recorded_directory_is_refused_at_use() {
    let office = TestDataDirectory::new();
    let base = office.directory.path().canonicalize().unwrap();
    let below = |path: &str| base.join(path).to_str().unwrap().to_owned();
    std::fs::create_dir_all(base.join("data/workspaces/other")).unwrap();
    let registry = MachineRegistry::in_directory(base.join("state"));
    let registered = office.files.clone().with_registry(registry);
    for (bound, expected) in [
        ("/etc".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/tmp/../etc".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("//etc".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/etc/".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/".to_owned(), RefusalCode::INVALID_WORKSPACE),
        ("/usr".to_owned(), RefusalCode::INVALID_WORKSPACE),
        (below(""), RefusalCode::INVALID_WORKSPACE),
        (below("data"), RefusalCode::WORKSPACE_OVERLAPS),
        (
            below("data/workspaces/other"),
            RefusalCode::WORKSPACE_OVERLAPS,
        ),
        (
            base.to_str().unwrap().to_owned(),
            RefusalCode::WORKSPACE_OVERLAPS,
        ),
    ] {
        let site = WorkspaceLocation {
            bound_directory: Some(bound.clone()),
            ..default_location("agent-001")
        };
        for files in [&office.files, &registered] {
            let list = office.block_on(files.list(&site, &ListFilesParams::default()));
            assert_eq!(refusal_code(list), expected, "{bound}");
            let write = office.block_on(files.write(&site, &write_params("f", "x")));
            assert_eq!(refusal_code(write), expected, "{bound}");
            assert!(!office.block_on(files.exists(&site)).unwrap(), "{bound}");
            // Commands need an existing directory.
            assert_eq!(
                refusal_code(files.prepare_directory(&site)),
                expected,
                "{bound}"
            );
        }
    }
}
