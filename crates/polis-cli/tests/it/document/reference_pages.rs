//! Tests that documents match the code: the generated pages in `docs/reference/`, the record kinds in
//! `docs/spec/store.md`, and the event kinds in `docs/spec/events.md`.

use std::path::{Path, PathBuf};

use polis_core::EventKind;
use polis_core::record::RecordKind;

#[test]
fn reference_pages_match_the_code() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let write = std::env::var_os("POLIS_WRITE_REFERENCE").is_some();
    for (name, text) in polis_cli::reference::reference_pages() {
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

/// Returns the record kinds in the table of docs/spec/store.md: the first cell of each row, in order.
fn documented_record_kinds() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec/store.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, records) = text.split_once("\n## Generic records\n").unwrap();
    let (records, _) = records.split_once("\n## ").unwrap();
    let rows = records
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| row.split_once('`'));
    rows.map(|(kind, _)| kind.to_owned()).collect()
}

#[test]
fn store_specification_lists_every_record_kind() {
    let kinds: Vec<&str> = RecordKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(documented_record_kinds(), kinds);
}

/// Returns the event kinds in the table of docs/spec/events.md: the second cell of each row, sorted.
fn documented_event_kinds() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec/events.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, kinds) = text.split_once("\n## Kinds\n").unwrap();
    let (kinds, _) = kinds.split_once("\n## ").unwrap();
    let rows = kinds.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").nth(1));
    let mut found: Vec<String> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn event_specification_lists_every_event_kind() {
    let mut kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(documented_event_kinds(), kinds);
}
