//! Compares the table in ARCHITECTURE.md with the real dependencies between crates, and checks where unsafe code is
//! allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

type Edges = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the allowed dependencies: first column, second column.
fn documented() -> Edges {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut edges = Edges::new();
    for line in text.lines().filter(|line| line.starts_with("| `polis-")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = |cell: &str| {
            let names = cell.split('`').skip(1).step_by(2);
            names.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        for name in names(cells[0]) {
            edges.insert(name, names(cells[1]));
        }
    }
    edges
}

/// Returns the real dependencies, without dev-dependencies.
fn real() -> Edges {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut edges = Edges::new();
    for package in metadata["packages"].as_array().unwrap() {
        let dependencies = package["dependencies"].as_array().unwrap();
        let ours = dependencies
            .iter()
            .filter(|d| d["kind"].is_null())
            .filter_map(|d| d["name"].as_str())
            .filter(|name| name.starts_with("polis-"));
        let name = package["name"].as_str().unwrap().to_owned();
        edges.insert(name, ours.map(str::to_owned).collect());
    }
    edges
}

#[test]
fn the_crates_depend_on_each_other_as_the_document_says() {
    assert_eq!(documented(), real());
}

#[test]
fn the_rules_stay_pure() {
    let manifest = std::fs::read_to_string(root().join("crates/polis-core/Cargo.toml")).unwrap();
    for edge in ["tokio", "rusqlite", "rustix", "reqwest", "axum", "rand"] {
        assert!(!manifest.contains(edge), "polis-core must not know {edge}");
    }
}

/// Collects every Rust file of the project.
fn sources(directory: &std::path::Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn one_module_is_unsafe_and_no_other() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    assert!(files.len() > 100, "the sources were found");
    // Split, so that this file does not match.
    let (lifted, used) = (concat!("unsafe", "_code"), concat!("unsafe", " {"));
    let holders: Vec<String> = files
        .iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains(lifted) || text.contains(used)
        })
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    let module = "crates/polis-workspace/src/sandbox/kernel/";
    assert!(!holders.is_empty());
    for holder in holders {
        assert!(holder.starts_with(module), "{holder}");
    }
}
