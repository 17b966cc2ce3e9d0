//! Architecture tests: ARCHITECTURE.md matches the dependencies between crates and names only files,
//! functions and tests that exist, and unsafe code is confined to one module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

type CrateDependencies = BTreeMap<String, BTreeSet<String>>;

fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn architecture_document() -> String {
    std::fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap()
}

/// Returns the texts between back quotes.
fn quoted_words(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the allowed dependencies: first column, second column.
fn documented_dependencies() -> CrateDependencies {
    let text = architecture_document();
    let mut edges = CrateDependencies::new();
    for line in text.lines().filter(|line| line.starts_with("| `polis-")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = |cell: &str| {
            let names = quoted_words(cell).map(str::to_owned);
            names.collect::<BTreeSet<_>>()
        };
        for name in names(cells[0]) {
            edges.insert(name, names(cells[1]));
        }
    }
    edges
}

/// Returns the real dependencies, without dev-dependencies.
fn actual_dependencies() -> CrateDependencies {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(workspace_root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut edges = CrateDependencies::new();
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
fn crate_dependencies_match_architecture_document() {
    assert_eq!(documented_dependencies(), actual_dependencies());
}

#[test]
fn core_crate_has_no_io_dependencies() {
    let manifest =
        std::fs::read_to_string(workspace_root().join("crates/polis-core/Cargo.toml")).unwrap();
    for edge in ["tokio", "rusqlite", "rustix", "reqwest", "axum", "rand"] {
        assert!(
            !manifest.contains(edge),
            "polis-core must not depend on {edge}"
        );
    }
}

/// Collects every Rust file of the project.
fn collect_rust_files(directory: &std::path::Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect_rust_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_blocks_are_limited_to_the_kernel_module() {
    let mut files = Vec::new();
    collect_rust_files(&workspace_root(), &mut files);
    assert!(files.len() > 100, "too few source files found");
    // Split, so that this file does not match.
    let (lifted, used) = (concat!("unsafe", "_code"), concat!("unsafe", " {"));
    let holders: Vec<String> = files
        .iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains(lifted) || text.contains(used)
        })
        .map(|path| {
            path.strip_prefix(workspace_root())
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    let module = "crates/polis-workspace/src/sandbox/kernel/";
    assert!(!holders.is_empty());
    for holder in holders {
        assert!(holder.starts_with(module), "{holder}");
    }
}

#[test]
fn app_and_request_have_methods_only_in_their_files() {
    let root = workspace_root().join("crates");
    let mut files = Vec::new();
    collect_rust_files(&root, &mut files);
    for (name, home) in [
        ("App", "polis-ops/src/app.rs"),
        ("Request", "polis-ops/src/request.rs"),
    ] {
        let header = format!("impl {name} {{");
        let holders: Vec<String> = files
            .iter()
            .filter(|path| {
                let text = std::fs::read_to_string(path).unwrap();
                text.lines().any(|line| line.trim_start() == header)
            })
            .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        assert_eq!(holders, [home], "methods of {name}");
    }
}

/// Returns whether a word is written like the name of a test: lower case, with at least three underscores.
fn looks_like_a_test_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= 3 && word.chars().all(plain)
}

#[test]
fn tests_named_in_architecture_document_exist() {
    let text = architecture_document();
    let named: BTreeSet<&str> = quoted_words(&text)
        .filter(|word| looks_like_a_test_name(word))
        .collect();
    assert!(named.len() > 30, "too few tests are named: {named:?}");
    let mut files = Vec::new();
    collect_rust_files(&workspace_root().join("crates"), &mut files);
    let sources: String = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for name in named {
        assert!(
            sources.contains(&format!("fn {name}")) || sources.contains(&format!(" {name},")),
            "ARCHITECTURE.md names the test {name}, which does not exist"
        );
    }
}

/// Returns whether a word is written like a path: `task/claim.rs`, `status.rs`, `kernel/`, `bench/run`.
fn looks_like_a_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let has_path_form = word.contains('/') || word.ends_with(".rs");
    has_path_form && !word.starts_with('/') && word.chars().all(plain)
}

/// Returns whether a path names this file or a directory above it. The path may begin in any directory above
/// the file.
fn names_file(path: &str, file: &str) -> bool {
    let path = format!("/{path}");
    if path.ends_with('/') {
        file.contains(&path)
    } else {
        file.ends_with(&path)
    }
}

/// Returns whether a file or directory with this path exists in the repository or in `crates/`. The prefix
/// `polis-` of a crate may be left out.
fn is_path_from_root(path: &str) -> bool {
    let root = workspace_root();
    ["", "crates/", "crates/polis-"]
        .iter()
        .any(|prefix| root.join(format!("{prefix}{path}")).exists())
}

#[test]
fn paths_named_in_architecture_document_exist() {
    let mut files = Vec::new();
    collect_rust_files(&workspace_root().join("crates"), &mut files);
    let files: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let text = architecture_document();
    let mut count = 0;
    for section in text.split("\n#") {
        // A section of the code map has its crates in the heading; its paths begin below their `src`.
        let heading = section.lines().next().unwrap_or_default();
        let sources: Vec<String> = quoted_words(heading)
            .map(|name| format!("/crates/{name}/src/"))
            .collect();
        for path in quoted_words(section).filter(|word| looks_like_a_path(word)) {
            let is_in_section = |file: &String| sources.iter().any(|source| file.contains(source));
            let mut files_of_section = files.iter().filter(|file| is_in_section(file));
            assert!(
                is_path_from_root(path) || files_of_section.any(|file| names_file(path, file)),
                "ARCHITECTURE.md names {path}, which does not exist: {heading}"
            );
            count += 1;
        }
    }
    assert!(count > 150, "only {count} paths found");
}

/// Returns the steps of the walks, written `crate/path.rs:function`: each file and the function in it.
fn walk_steps(text: &str) -> Vec<(String, &str)> {
    let (_, walks) = text.split_once("## Five walks").unwrap();
    let blocks = walks.split("```").skip(1).step_by(2);
    let steps = blocks.flat_map(str::split_whitespace).filter_map(|word| {
        let (path, function) = word.split_once(".rs:")?;
        let (crate_name, path) = path.split_once('/')?;
        let function = function.rsplit("::").next()?.trim_end_matches([',', ';']);
        Some((format!("crates/polis-{crate_name}/src/{path}.rs"), function))
    });
    steps.collect()
}

#[test]
fn functions_named_in_walks_exist() {
    let text = architecture_document();
    let steps = walk_steps(&text);
    assert!(steps.len() > 60, "too few steps found: {steps:?}");
    for (path, function) in steps {
        let source = std::fs::read_to_string(workspace_root().join(&path));
        let source = source.unwrap_or_else(|error| panic!("ARCHITECTURE.md names {path}: {error}"));
        assert!(
            ["(", "<"]
                .iter()
                .any(|next| source.contains(&format!("fn {function}{next}"))),
            "ARCHITECTURE.md names {function} in {path}, which does not define it"
        );
    }
}
