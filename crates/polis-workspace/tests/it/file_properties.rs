//! Property tests of workspace files: confinement, round trips, isolation, listings and counts. `s001` and
//! `s002` in the names are requirements 001 and 002 (docs/requirements.md), which number the properties.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{FileEntryType, ListFilesParams, ReadFileParams};
use polis_ops::port::WorkspaceFileAccess as _;
use proptest::prelude::*;

use crate::test_workspace::{
    RESOLVERS, TestDataDirectory, TestWorkspace, default_location, refusal_code, write_params,
};

/// A valid file name.
fn any_file_name() -> impl Strategy<Value = String> {
    let characters = "[^/\\\\\0]{1,20}";
    characters
        .prop_filter("not a name", |name: &String| name != "." && name != "..")
        .prop_filter("a drive letter", |name: &String| {
            !(name.len() == 2 && name.ends_with(':'))
        })
}

fn any_path() -> impl Strategy<Value = String> {
    proptest::collection::vec(any_file_name(), 1..4).prop_map(|names| names.join("/"))
}

/// A path that leads out, by a `..` component or because it is absolute.
fn any_escaping_path() -> impl Strategy<Value = String> {
    let with_dots = (
        proptest::collection::vec(any_file_name(), 0..3),
        proptest::collection::vec(any_file_name(), 0..3),
    )
        .prop_map(|(mut before, after)| {
            before.push("..".to_owned());
            before.extend(after);
            before.join("/")
        });
    prop_oneof![with_dots, any_path().prop_map(|path| format!("/{path}"))]
}

fn any_content() -> impl Strategy<Value = String> {
    prop_oneof![".{0,200}", "(?s).{0,50}", Just(String::new())]
}

/// Files by path, none of which is a parent directory of another.
fn any_file_tree() -> impl Strategy<Value = BTreeMap<String, String>> {
    let short = proptest::collection::vec("[a-d]{1,2}", 1..4).prop_map(|names| names.join("/"));
    proptest::collection::btree_map(short, "[a-z]{0,20}", 0..12).prop_map(|files| {
        let directories: BTreeSet<String> = files
            .keys()
            .flat_map(|path| parent_directories(path))
            .collect();
        let plain = |path: &String| !directories.contains(path);
        files.into_iter().filter(|(path, _)| plain(path)).collect()
    })
}

/// Returns the parent directories of a path.
fn parent_directories(path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.map(|at| path.get(..at).unwrap().to_owned()).collect()
}

/// Checks that every operation on a path is refused, and that nothing was created.
fn check_all_operations_blocked(ground: &TestWorkspace, path: &str) -> Result<(), TestCaseError> {
    for code in [
        refusal_code(ground.read(path)),
        refusal_code(ground.write(path, "x")),
        refusal_code(ground.edit(path, "a", "b")),
        refusal_code(ground.list(path)),
        refusal_code(ground.delete(path, true)),
        refusal_code(ground.make_dir(path)),
        refusal_code(ground.rename(path, "x", false)),
        refusal_code(ground.rename("x", path, false)),
    ] {
        prop_assert_eq!(code, RefusalCode::PATH_TRAVERSAL_BLOCKED);
    }
    prop_assert!(ground.file_names(".").is_empty());
    ground.check_outside_unchanged();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn s001_property_1_escaping_path_is_refused(path in any_escaping_path()) {
        check_all_operations_blocked(&TestWorkspace::new(), &path)?;
    }

    #[test]
    fn s001_property_2_written_file_reads_back_equal(path in any_path(), content in any_content()) {
        for resolver in RESOLVERS {
            let ground = TestWorkspace::with_resolver(resolver);
            let written = ground.write(&path, &content).unwrap();
            let read = ground.read(&path).unwrap();
            prop_assert_eq!(&read.content, &content);
            prop_assert_eq!(read.hash, Some(written.hash));
            prop_assert_eq!(read.size, content.len() as u64);
        }
    }

    #[test]
    fn s001_property_3_workspaces_are_isolated(path in any_path(), a in "[a-z]{1,9}", b in "[a-z]{1,9}") {
        prop_assume!(a != b);
        let office = TestDataDirectory::new();
        let (files, a, b) = (&office.files, default_location(&a), default_location(&b));
        office.block_on(files.write(&a, &write_params(&path, "of a"))).unwrap();
        let read = |site, path: &str| {
            let ask = ReadFileParams { path: path.to_owned(), ..ReadFileParams::default() };
            office.block_on(files.read(site, &ask))
        };
        prop_assert_eq!(refusal_code(read(&b, &path)), RefusalCode::FILE_NOT_FOUND);
        for way in [format!("../{}/{path}", a.owner), files.location(&a)] {
            prop_assert_eq!(refusal_code(read(&b, &way)), RefusalCode::PATH_TRAVERSAL_BLOCKED);
            prop_assert_eq!(
                refusal_code(office.block_on(files.write(&b, &write_params(&way, "of b")))),
                RefusalCode::PATH_TRAVERSAL_BLOCKED
            );
        }
        office.block_on(files.write(&b, &write_params(&path, "of b"))).unwrap();
        prop_assert_eq!(read(&a, &path).unwrap().content, "of a");
    }

    #[test]
    fn s001_property_4_listings_are_complete(tree in any_file_tree()) {
        let ground = TestWorkspace::new();
        for (path, content) in &tree {
            ground.write(path, content).unwrap();
        }
        // Each directory lists exactly its entries, with types and sizes.
        let mut directories: BTreeSet<String> = tree.keys().flat_map(|path| parent_directories(path)).collect();
        directories.insert(String::new());
        for directory in &directories {
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let mut expected = BTreeMap::new();
            for (path, content) in &tree {
                if let Some(rest) = path.strip_prefix(&prefix) {
                    match rest.split_once('/') {
                        Some((name, _)) => expected.insert(name.to_owned(), (FileEntryType::Directory, 0)),
                        None => expected.insert(rest.to_owned(), (FileEntryType::File, content.len() as u64)),
                    };
                }
            }
            let listed = ground.list(directory).unwrap();
            let sorted = listed.is_sorted_by(|a, b| a.name < b.name);
            prop_assert!(sorted);
            let listed: BTreeMap<_, _> =
                listed.into_iter().map(|entry| (entry.name, (entry.kind, entry.size))).collect();
            prop_assert_eq!(listed, expected);
        }
        let all = ListFilesParams { path: None, recursive: true, ..ListFilesParams::default() };
        let all = ground.dir.list(&all).unwrap().files;
        prop_assert_eq!(all.len(), tree.len() + directories.len() - 1);
    }

    #[test]
    fn s001_property_8_binding_creates_the_directory(path in proptest::collection::vec("[a-z]{1,8}", 1..4)) {
        let office = TestDataDirectory::new();
        let base = office.directory.path().canonicalize().unwrap();
        let wanted = base.join("w").join(path.join("/"));
        prop_assert!(!wanted.exists());
        let bound = office.block_on(office.files.bind(wanted.to_str().unwrap())).unwrap();
        prop_assert!(wanted.is_dir());
        prop_assert_eq!(bound, wanted.to_str().unwrap());
    }

    #[test]
    fn s001_property_9_workspace_info_is_accurate(tree in any_file_tree(), gone in any::<proptest::sample::Index>()) {
        for resolver in RESOLVERS {
            let ground = TestWorkspace::with_resolver(resolver);
            let mut left = tree.clone();
            for (path, content) in &tree {
                ground.write(path, content).unwrap();
            }
            let directories: BTreeSet<String> = tree.keys().flat_map(|path| parent_directories(path)).collect();
            if !tree.is_empty() {
                let path = gone.get(&tree.keys().cloned().collect::<Vec<_>>()).clone();
                ground.delete(&path, false).unwrap();
                left.remove(&path);
            }
            let info = ground.dir.info().unwrap();
            prop_assert_eq!(info.file_count, left.len() as u64);
            prop_assert_eq!(info.dir_count, directories.len() as u64);
            prop_assert_eq!(info.total_size, left.values().map(|content| content.len() as u64).sum::<u64>());
            prop_assert_eq!(info.last_modified.is_some(), info.file_count + info.dir_count > 0);
        }
    }

    #[test]
    fn s002_property_1_nothing_is_created_before_the_first_write(agent in "[a-z0-9][a-z0-9._-]{0,20}", path in any_path()) {
        let office = TestDataDirectory::new();
        let (files, site) = (&office.files, default_location(&agent));
        let ask = ReadFileParams { path, ..ReadFileParams::default() };
        prop_assert_eq!(refusal_code(office.block_on(files.read(&site, &ask))), RefusalCode::FILE_NOT_FOUND);
        office.block_on(files.list(&site, &ListFilesParams::default())).unwrap();
        office.block_on(files.info(&site)).unwrap();
        prop_assert!(!office.block_on(files.exists(&site)).unwrap());
        let data = office.directory.path().join("data");
        prop_assert_eq!(std::fs::read_dir(data).unwrap().count(), 0);
    }

    #[test]
    fn s002_property_2_first_write_creates_the_workspace(agent in "[a-z0-9][a-z0-9._-]{0,20}", path in any_path()) {
        let office = TestDataDirectory::new();
        let (files, site) = (&office.files, default_location(&agent));
        prop_assert!(!office.block_on(files.exists(&site)).unwrap());
        office.block_on(files.write(&site, &write_params(&path, "x"))).unwrap();
        prop_assert!(office.block_on(files.exists(&site)).unwrap());
        let directory = office.directory.path().join("data/workspaces").join(&agent);
        prop_assert!(directory.join(&path).is_file());
    }

    #[test]
    fn s002_property_3_written_file_reads_back_equal(path in any_path(), first in any_content(), second in any_content()) {
        let office = TestDataDirectory::new();
        let (files, site) = (&office.files, default_location("agent-001"));
        for content in [first, second] {
            office.block_on(files.write(&site, &write_params(&path, &content))).unwrap();
            let ask = ReadFileParams { path: path.clone(), ..ReadFileParams::default() };
            let read = office.block_on(files.read(&site, &ask)).unwrap();
            prop_assert_eq!(read.content, content);
        }
    }

    #[test]
    fn s002_property_4_unwritten_workspace_lists_empty(agent in "[a-z0-9][a-z0-9._-]{0,20}", recursive in any::<bool>()) {
        let office = TestDataDirectory::new();
        for path in [None, Some(String::new()), Some(".".to_owned()), Some("./".to_owned())] {
            let list = office.block_on(office.files.list(&default_location(&agent), &ListFilesParams { path, recursive, ..ListFilesParams::default() })).unwrap();
            prop_assert!(list.files.is_empty() && !list.truncated);
        }
    }

    #[test]
    fn s002_property_5_escaping_path_is_refused(path in any_escaping_path()) {
        let office = TestDataDirectory::new();
        let (files, site) = (&office.files, default_location("agent-001"));
        // Whether or not the directory exists.
        for _ in 0..2 {
            let ask = ReadFileParams { path: path.clone(), ..ReadFileParams::default() };
            prop_assert_eq!(refusal_code(office.block_on(files.read(&site, &ask))), RefusalCode::PATH_TRAVERSAL_BLOCKED);
            prop_assert_eq!(refusal_code(office.block_on(files.write(&site, &write_params(&path, "x")))), RefusalCode::PATH_TRAVERSAL_BLOCKED);
            let ask = ListFilesParams { path: Some(path.clone()), recursive: true, ..ListFilesParams::default() };
            prop_assert_eq!(refusal_code(office.block_on(files.list(&site, &ask))), RefusalCode::PATH_TRAVERSAL_BLOCKED);
            std::fs::create_dir_all(office.directory.path().join("data/workspaces/agent-001")).unwrap();
        }
    }

    #[test]
    fn s002_property_7_directories_of_agents_are_distinct(a in "[a-zA-Z0-9][a-z0-9._-]{0,20}", b in "[a-zA-Z0-9][a-z0-9._-]{0,20}") {
        prop_assume!(a != b);
        let office = TestDataDirectory::new();
        let (one, other) = (office.files.directory_path(&default_location(&a)), office.files.directory_path(&default_location(&b)));
        prop_assert_ne!(&one, &other);
        prop_assert!(!one.starts_with(&other) && !other.starts_with(&one));
    }

    #[test]
    fn s002_property_9_parent_directories_are_created(names in proptest::collection::vec(any_file_name(), 1..8)) {
        for resolver in RESOLVERS {
            let ground = TestWorkspace::with_resolver(resolver);
            let path = names.join("/");
            ground.write(&path, "x").unwrap();
            for directory in parent_directories(&path) {
                prop_assert!(ground.host_path(&directory).is_dir());
            }
            prop_assert!(ground.host_path(&path).is_file());
            prop_assert_eq!(ground.dir.info().unwrap().dir_count, names.len() as u64 - 1);
        }
    }

    #[test]
    fn s002_property_10_workspace_info_counts_existing_files(tree in any_file_tree()) {
        let office = TestDataDirectory::new();
        let (files, site) = (&office.files, default_location("agent-001"));
        for (path, content) in &tree {
            office.block_on(files.write(&site, &write_params(path, content))).unwrap();
        }
        let info = office.block_on(files.info(&site)).unwrap();
        let directory = office.files.directory_path(&site);
        let (mut found, mut ahead) = (0, vec![directory]);
        while let Some(directory) = ahead.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    ahead.push(entry.path());
                } else {
                    found += 1;
                }
            }
        }
        prop_assert_eq!(info.file_count, found);
        prop_assert_eq!(info.file_count, tree.len() as u64);
    }
}
