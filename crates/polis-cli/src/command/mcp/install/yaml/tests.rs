//! Tests of the YAML editor: exact texts before and after an edit.

use serde_json::json;

use super::*;
use crate::command::mcp::install::entry_edit::ConfigFormat;

const ENTRY_PATH: [&str; 2] = ["extensions", "polis"];

fn sample_fields() -> Vec<EntryField> {
    vec![
        ("type", json!("stdio")),
        ("cmd", json!("p")),
        ("args", json!(["mcp", "a\"b"])),
        ("timeout", json!(300)),
    ]
}

fn set_sample_fields(text: &str) -> Result<String, EditError> {
    ConfigFormat::Yaml.set_fields(text, &ENTRY_PATH, &sample_fields())
}

const SAMPLE_ENTRY: &str = "  polis:\n    type: \"stdio\"\n    cmd: \"p\"\n    args:\n      - \"mcp\"\n      - \"a\\\"b\"\n    timeout: 300\n";

#[test]
fn new_entry_is_inserted_below_its_key() {
    let flow = "polis: {type: \"stdio\", cmd: \"p\", args: [\"mcp\", \"a\\\"b\"], timeout: 300}";
    for (before, after) in [
        (String::new(), format!("extensions:\n{SAMPLE_ENTRY}")),
        (
            "# only\n".to_owned(),
            format!("# only\nextensions:\n{SAMPLE_ENTRY}"),
        ),
        (
            "A: 1 # one".to_owned(),
            format!("A: 1 # one\nextensions:\n{SAMPLE_ENTRY}"),
        ),
        (
            "---\nA: 1\n".to_owned(),
            format!("---\nA: 1\nextensions:\n{SAMPLE_ENTRY}"),
        ),
        (
            "A: 用\nextensions: # here\n  # about dev\n  developer:\n    enabled: true\nZ: 1\n"
                .to_owned(),
            format!(
                "A: 用\nextensions: # here\n{SAMPLE_ENTRY}  # about dev\n  developer:\n    enabled: true\nZ: 1\n"
            ),
        ),
        (
            "extensions:\nZ: 1\n".to_owned(),
            format!("extensions:\n{SAMPLE_ENTRY}Z: 1\n"),
        ),
        (
            "extensions: {} # none\nZ: 1\n".to_owned(),
            format!("extensions: # none\n{SAMPLE_ENTRY}Z: 1\n"),
        ),
        (
            "extensions: ~\n".to_owned(),
            format!("extensions:\n{SAMPLE_ENTRY}"),
        ),
        (
            "extensions: {a: {b: [1]}}\n".to_owned(),
            format!("extensions: {{{flow}, a: {{b: [1]}}}}\n"),
        ),
        (
            "\u{feff}extensions:\r\n    a: 1\r\n".to_owned(),
            format!(
                "\u{feff}extensions:\r\n{}    a: 1\r\n",
                SAMPLE_ENTRY
                    .replace("\n", "\r\n")
                    .replace("  polis", "    polis")
                    .replace("    type", "      type")
                    .replace("    cmd", "      cmd")
                    .replace("    args", "      args")
                    .replace("      - ", "        - ")
                    .replace("    timeout", "      timeout")
            ),
        ),
        (
            "extensions:\n  a: |\n    text\n     more\n".to_owned(),
            format!("extensions:\n{SAMPLE_ENTRY}  a: |\n    text\n     more\n"),
        ),
    ] {
        let done =
            set_sample_fields(&before).unwrap_or_else(|error| panic!("{before:?}: {error:?}"));
        assert_eq!(done, after, "{before:?}");
        assert_eq!(
            set_sample_fields(&done).unwrap(),
            done,
            "a second time changes nothing"
        );
    }
}

#[test]
fn existing_entry_keeps_foreign_fields() {
    for (before, after) in [
        (
            "extensions:\n  polis:\n    cmd: old # why\n    env_keys: [A]\n    args:\n    - mcp\n    - 'it''s'  # last\n    # end\n    timeout: 30\n    type: stdio\n  b: 1\n",
            "extensions:\n  polis:\n    cmd: \"p\" # why\n    env_keys: [A]\n    args:\n    - \"mcp\"\n    - \"a\\\"b\"\n    # end\n    timeout: 300\n    type: stdio\n  b: 1\n",
        ),
        (
            "extensions:\n  polis:\n    cmd: \"q\\\" x\" # why\n    args: []\n",
            "extensions:\n  polis:\n    timeout: 300\n    type: \"stdio\"\n    cmd: \"p\" # why\n    args: [\"mcp\", \"a\\\"b\"]\n",
        ),
        (
            "extensions: {b: 1, polis: {cmd: q, args: [x], 'type': stdio, timeout: 300}}\n",
            "extensions: {b: 1, polis: {cmd: \"p\", args: [\"mcp\", \"a\\\"b\"], 'type': stdio, timeout: 300}}\n",
        ),
    ] {
        assert_eq!(set_sample_fields(before).unwrap(), after, "{before:?}");
    }
}

#[test]
fn removal_deletes_whole_lines() {
    let remove = |text: &str| ConfigFormat::Yaml.remove_entry(text, &ENTRY_PATH).unwrap();
    for (before, after) in [
        ("a: 1\n".to_owned(), "a: 1\n"),
        (format!("extensions:\n{SAMPLE_ENTRY}"), "extensions: {}\n"),
        (format!("extensions: # here\n{SAMPLE_ENTRY}Z: 1\n"), "extensions: {} # here\nZ: 1\n"),
        (format!("extensions:\n{SAMPLE_ENTRY}  # about b\n  b: 1\n"), "extensions:\n  # about b\n  b: 1\n"),
        (format!("extensions:\n  b: 1\n{SAMPLE_ENTRY}\n# tail\nZ: 1\n"), "extensions:\n  b: 1\n\n# tail\nZ: 1\n"),
        (format!("extensions:\r\n  b: 1\r\n{}", SAMPLE_ENTRY.replace('\n', "\r\n")), "extensions:\r\n  b: 1\r\n"),
        ("extensions: {polis: {a: [1]}, b: 1}\n".to_owned(), "extensions: {b: 1}\n"),
        ("extensions: {b: 1, polis: {a: [1]}}\n".to_owned(), "extensions: {b: 1}\n"),
        ("extensions: {polis: {}}\n".to_owned(), "extensions: {}\n"),
        (
            "extensions:\n  polis:\n    a: |\n      text\n\n      more\n    b: {c: [1,\n      2]}\n\n  d: 1\n".to_owned(),
            "extensions:\n\n  d: 1\n",
        ),
    ] {
        assert_eq!(remove(&before), after, "{before:?}");
    }
}

#[test]
fn invalid_or_uneditable_text_is_refused() {
    for (text, line) in [
        ("a: 1\nb: [\n", Some(3)),
        ("a: 1\na: 2\n", Some(2)),
        ("a: 1\n---\nb: 1\n", Some(3)),
        ("- a\n", Some(1)),
        ("text\n", Some(1)),
        ("\nextensions: 3\n", Some(2)),
        ("extensions: [a]\n", Some(1)),
        ("extensions:\n  polis: 3\n", Some(2)),
        ("b: &b {c: 1}\nextensions: *b\n", Some(2)),
        ("a: 1\n...\n", None),
        ("{}\n", None),
        ("extensions:\n  polis:\n    cmd: |\n      q\n", None),
        ("a:\n\t- b\n", Some(2)),
    ] {
        let result = set_sample_fields(text).map_err(|error| error.line);
        assert_eq!(result, Err(line), "{text:?}");
    }
    assert!(set_sample_fields(&"- ".repeat(200_000)).is_err());
    assert!(set_sample_fields(&"{a: ".repeat(200_000)).is_err());
}
