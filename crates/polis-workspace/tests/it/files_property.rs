//! The properties of the source documents that concern files, each by its name there: `s001` is
//! the document of task workspaces, `s002` that of default workspaces.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::Code;
use polis_core::workspace::file::{EntryType, ListFiles, ReadFile};
use polis_ops::port::Files as _;
use proptest::prelude::*;

use crate::ground::{Ground, Office, RESOLVERS, code, site, write};

/// A name that any file may have.
fn name() -> impl Strategy<Value = String> {
    let characters = "[^/\\\\\0]{1,20}";
    characters
        .prop_filter("not a name", |name: &String| name != "." && name != "..")
        .prop_filter("a drive letter", |name: &String| {
            !(name.len() == 2 && name.ends_with(':'))
        })
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

/// A path that leads out, by a component `..` or by being absolute.
fn leading_out() -> impl Strategy<Value = String> {
    let with_dots = (
        proptest::collection::vec(name(), 0..3),
        proptest::collection::vec(name(), 0..3),
    )
        .prop_map(|(mut before, after)| {
            before.push("..".to_owned());
            before.extend(after);
            before.join("/")
        });
    prop_oneof![with_dots, path().prop_map(|path| format!("/{path}"))]
}

fn content() -> impl Strategy<Value = String> {
    prop_oneof![".{0,200}", "(?s).{0,50}", Just(String::new())]
}

/// Files by path, none of which is a directory of another.
fn tree() -> impl Strategy<Value = BTreeMap<String, String>> {
    let short = proptest::collection::vec("[a-d]{1,2}", 1..4).prop_map(|names| names.join("/"));
    proptest::collection::btree_map(short, "[a-z]{0,20}", 0..12).prop_map(|files| {
        let directories: BTreeSet<String> = files.keys().flat_map(|path| above(path)).collect();
        let plain = |path: &String| !directories.contains(path);
        files.into_iter().filter(|(path, _)| plain(path)).collect()
    })
}

/// The directories on the way to a path.
fn above(path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.map(|at| path.get(..at).unwrap().to_owned()).collect()
}

/// Every operation on a path is refused, and nothing is there afterwards.
fn check_blocked(ground: &Ground, path: &str) -> Result<(), TestCaseError> {
    for code in [
        code(ground.read(path)),
        code(ground.write(path, "x")),
        code(ground.edit(path, "a", "b")),
        code(ground.list(path)),
        code(ground.delete(path, true)),
        code(ground.make_dir(path)),
        code(ground.rename(path, "x", false)),
        code(ground.rename("x", path, false)),
    ] {
        prop_assert_eq!(code, Code::PathTraversalBlocked);
    }
    prop_assert!(ground.names(".").is_empty());
    ground.check_outside();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn s001_property_1_paths_are_checked(path in leading_out()) {
        check_blocked(&Ground::new(), &path)?;
    }

    #[test]
    fn s001_property_2_files_make_the_round_trip(path in path(), content in content()) {
        for resolver in RESOLVERS {
            let ground = Ground::with(resolver);
            let written = ground.write(&path, &content).unwrap();
            let read = ground.read(&path).unwrap();
            prop_assert_eq!(&read.content, &content);
            prop_assert_eq!(read.hash, Some(written.hash));
            prop_assert_eq!(read.size, content.len() as u64);
        }
    }

    #[test]
    fn s001_property_3_workspaces_are_isolated(path in path(), a in "[a-z]{1,9}", b in "[a-z]{1,9}") {
        prop_assume!(a != b);
        let office = Office::new();
        let (files, a, b) = (&office.files, site(&a), site(&b));
        office.wait(files.write(&a, &write(&path, "of a"))).unwrap();
        let read = |site, path: &str| {
            let ask = ReadFile { path: path.to_owned(), ..ReadFile::default() };
            office.wait(files.read(site, &ask))
        };
        prop_assert_eq!(code(read(&b, &path)), Code::FileNotFound);
        for way in [format!("../{}/{path}", a.workspace), files.location(&a)] {
            prop_assert_eq!(code(read(&b, &way)), Code::PathTraversalBlocked);
            prop_assert_eq!(
                code(office.wait(files.write(&b, &write(&way, "of b")))),
                Code::PathTraversalBlocked
            );
        }
        office.wait(files.write(&b, &write(&path, "of b"))).unwrap();
        prop_assert_eq!(read(&a, &path).unwrap().content, "of a");
    }

    #[test]
    fn s001_property_4_listings_are_complete(tree in tree()) {
        let ground = Ground::new();
        for (path, content) in &tree {
            ground.write(path, content).unwrap();
        }
        // Each directory lists exactly what is in it, with types and sizes.
        let mut directories: BTreeSet<String> = tree.keys().flat_map(|path| above(path)).collect();
        directories.insert(String::new());
        for directory in &directories {
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let mut expected = BTreeMap::new();
            for (path, content) in &tree {
                if let Some(rest) = path.strip_prefix(&prefix) {
                    match rest.split_once('/') {
                        Some((name, _)) => expected.insert(name.to_owned(), (EntryType::Directory, 0)),
                        None => expected.insert(rest.to_owned(), (EntryType::File, content.len() as u64)),
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
        let all = ListFiles { path: None, recursive: true, ..ListFiles::default() };
        let all = ground.dir.list(&all).unwrap().files;
        prop_assert_eq!(all.len(), tree.len() + directories.len() - 1);
    }

    #[test]
    fn s001_property_8_binding_makes_the_directory(path in proptest::collection::vec("[a-z]{1,8}", 1..4)) {
        let office = Office::new();
        let base = office.directory.path().canonicalize().unwrap();
        let wanted = base.join("w").join(path.join("/"));
        prop_assert!(!wanted.exists());
        let bound = office.wait(office.files.bind(wanted.to_str().unwrap())).unwrap();
        prop_assert!(wanted.is_dir());
        prop_assert_eq!(bound, wanted.to_str().unwrap());
    }

    #[test]
    fn s001_property_9_the_summary_is_accurate(tree in tree(), gone in any::<proptest::sample::Index>()) {
        for resolver in RESOLVERS {
            let ground = Ground::with(resolver);
            let mut left = tree.clone();
            for (path, content) in &tree {
                ground.write(path, content).unwrap();
            }
            let directories: BTreeSet<String> = tree.keys().flat_map(|path| above(path)).collect();
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
    fn s002_property_1_nothing_is_made_before_the_first_write(agent in "[a-z0-9][a-z0-9._-]{0,20}", path in path()) {
        let office = Office::new();
        let (files, site) = (&office.files, site(&agent));
        let ask = ReadFile { path, ..ReadFile::default() };
        prop_assert_eq!(code(office.wait(files.read(&site, &ask))), Code::FileNotFound);
        office.wait(files.list(&site, &ListFiles::default())).unwrap();
        office.wait(files.info(&site)).unwrap();
        prop_assert!(!office.wait(files.exists(&site)).unwrap());
        let data = office.directory.path().join("data");
        prop_assert_eq!(std::fs::read_dir(data).unwrap().count(), 0);
    }

    #[test]
    fn s002_property_2_the_first_write_makes_it(agent in "[a-z0-9][a-z0-9._-]{0,20}", path in path()) {
        let office = Office::new();
        let (files, site) = (&office.files, site(&agent));
        prop_assert!(!office.wait(files.exists(&site)).unwrap());
        office.wait(files.write(&site, &write(&path, "x"))).unwrap();
        prop_assert!(office.wait(files.exists(&site)).unwrap());
        let directory = office.directory.path().join("data/workspaces").join(&agent);
        prop_assert!(directory.join(&path).is_file());
    }

    #[test]
    fn s002_property_3_files_make_the_round_trip(path in path(), first in content(), second in content()) {
        let office = Office::new();
        let (files, site) = (&office.files, site("agent-001"));
        for content in [first, second] {
            office.wait(files.write(&site, &write(&path, &content))).unwrap();
            let ask = ReadFile { path: path.clone(), ..ReadFile::default() };
            let read = office.wait(files.read(&site, &ask)).unwrap();
            prop_assert_eq!(read.content, content);
        }
    }

    #[test]
    fn s002_property_4_a_workspace_never_written_to_lists_empty(agent in "[a-z0-9][a-z0-9._-]{0,20}", recursive in any::<bool>()) {
        let office = Office::new();
        for path in [None, Some(String::new()), Some(".".to_owned()), Some("./".to_owned())] {
            let list = office.wait(office.files.list(&site(&agent), &ListFiles { path, recursive, ..ListFiles::default() })).unwrap();
            prop_assert!(list.files.is_empty() && !list.truncated);
        }
    }

    #[test]
    fn s002_property_5_ways_out_are_blocked(path in leading_out()) {
        let office = Office::new();
        let (files, site) = (&office.files, site("agent-001"));
        // Whether the directory is there or not.
        for _ in 0..2 {
            let ask = ReadFile { path: path.clone(), ..ReadFile::default() };
            prop_assert_eq!(code(office.wait(files.read(&site, &ask))), Code::PathTraversalBlocked);
            prop_assert_eq!(code(office.wait(files.write(&site, &write(&path, "x")))), Code::PathTraversalBlocked);
            let ask = ListFiles { path: Some(path.clone()), recursive: true, ..ListFiles::default() };
            prop_assert_eq!(code(office.wait(files.list(&site, &ask))), Code::PathTraversalBlocked);
            std::fs::create_dir_all(office.directory.path().join("data/workspaces/agent-001")).unwrap();
        }
    }

    #[test]
    fn s002_property_7_directories_are_different(a in "[a-zA-Z0-9][a-z0-9._-]{0,20}", b in "[a-zA-Z0-9][a-z0-9._-]{0,20}") {
        prop_assume!(a != b);
        let office = Office::new();
        let (one, other) = (office.files.directory(&site(&a)), office.files.directory(&site(&b)));
        prop_assert_ne!(&one, &other);
        prop_assert!(!one.starts_with(&other) && !other.starts_with(&one));
    }

    #[test]
    fn s002_property_9_directories_on_the_way_are_made(names in proptest::collection::vec(name(), 1..8)) {
        for resolver in RESOLVERS {
            let ground = Ground::with(resolver);
            let path = names.join("/");
            ground.write(&path, "x").unwrap();
            for directory in above(&path) {
                prop_assert!(ground.at(&directory).is_dir());
            }
            prop_assert!(ground.at(&path).is_file());
            prop_assert_eq!(ground.dir.info().unwrap().dir_count, names.len() as u64 - 1);
        }
    }

    #[test]
    fn s002_property_10_the_summary_counts_what_is_there(tree in tree()) {
        let office = Office::new();
        let (files, site) = (&office.files, site("agent-001"));
        for (path, content) in &tree {
            office.wait(files.write(&site, &write(path, content))).unwrap();
        }
        let info = office.wait(files.info(&site)).unwrap();
        let directory = office.files.directory(&site);
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
