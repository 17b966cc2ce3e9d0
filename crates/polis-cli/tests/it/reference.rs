//! Checks that the pages in `docs/reference/` match the code.

use std::path::PathBuf;

#[test]
fn the_reference_pages_are_current() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let write = std::env::var_os("POLIS_WRITE_REFERENCE").is_some();
    for (name, text) in polis_cli::reference::pages() {
        let path = directory.join(&name);
        if write {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "docs/reference/{name} is out of date: POLIS_WRITE_REFERENCE=1 cargo test -p polis-cli reference"
        );
    }
}
