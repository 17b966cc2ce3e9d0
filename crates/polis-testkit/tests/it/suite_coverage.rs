//! Checks that every suite function is listed in its macro in `suites.rs`; an unlisted one would never run.

use std::path::Path;

const SUITE_MACROS: &str = include_str!("../../src/suites.rs");

#[test]
fn suite_functions_are_all_listed_in_macros() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = vec![
        src.join("task_cases.rs"),
        src.join("messaging.rs"),
        src.join("linearizability/client_history.rs"),
    ];
    for entry in std::fs::read_dir(src.join("conformance")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            sources.push(path);
        }
    }
    let mut functions = 0;
    for path in sources {
        let source = std::fs::read_to_string(&path).unwrap();
        for rest in source.split("\npub async fn ").skip(1) {
            let name = rest.split('(').next().unwrap();
            functions += 1;
            assert!(
                SUITE_MACROS.lines().any(|line| line.trim() == name),
                "{name} of {} is not listed in any macro",
                path.display()
            );
        }
    }
    assert!(functions > 100, "only {functions} functions were found");
}
