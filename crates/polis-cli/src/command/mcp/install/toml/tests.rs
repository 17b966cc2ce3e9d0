//! Tests of the TOML editor: exact texts before and after an edit.

use serde_json::json;

use super::*;
use crate::command::mcp::install::entry_edit::ConfigFormat;

const ENTRY_PATH: [&str; 2] = ["mcp_servers", "polis"];

fn sample_fields() -> Vec<EntryField> {
    vec![("command", json!("p")), ("args", json!(["mcp", "a\"b"]))]
}

fn set_sample_fields(text: &str) -> Result<String, EditError> {
    ConfigFormat::Toml.set_fields(text, &ENTRY_PATH, &sample_fields())
}

const SAMPLE_TABLE: &str = "[mcp_servers.polis]\ncommand = \"p\"\nargs = [\"mcp\", \"a\\\"b\"]\n";

#[test]
fn new_table_is_appended() {
    for (before, gap) in [
        ("", ""),
        ("\u{feff}", ""),
        ("model = 'x' # mine\n", "\n"),
        ("[mcp_servers.a]\ncommand = 'x'", "\n\n"),
        ("mcp_servers.a.command = 'x'\n[b]\n", "\n"),
        (
            "[[list]]\na = 1979-05-27T07:32:00Z\nb = 0xff\nc = [1.5, inf]\n# end\n",
            "\n",
        ),
        ("[mcp_servers]\n", "\n"),
    ] {
        let done = set_sample_fields(before).unwrap();
        assert_eq!(done, format!("{before}{gap}{SAMPLE_TABLE}"));
        assert_eq!(
            set_sample_fields(&done).unwrap(),
            done,
            "a second time changes nothing"
        );
    }
    let windows = set_sample_fields("a = 1\r\n").unwrap();
    assert_eq!(
        windows,
        format!("a = 1\r\n\r\n{}", SAMPLE_TABLE.replace('\n', "\r\n"))
    );
}

#[test]
fn existing_entry_keeps_foreign_fields() {
    for (before, after) in [
        (
            "[ mcp_servers . \"polis\" ] # ours\nargs = [\n  'mcp', # old\n]\nstartup_timeout_sec = 20\ncommand = '''q''' # here\n[mcp_servers.polis.env]\nA = '1'\n",
            "[ mcp_servers . \"polis\" ] # ours\nargs = [\"mcp\", \"a\\\"b\"]\nstartup_timeout_sec = 20\ncommand = \"p\" # here\n[mcp_servers.polis.env]\nA = '1'\n",
        ),
        (
            "[mcp_servers]\npolis = { command = 'q', args = [], enabled = false } # x\n",
            "[mcp_servers]\npolis = { command = \"p\", args = [\"mcp\", \"a\\\"b\"], enabled = false } # x\n",
        ),
        (
            "mcp_servers.polis.command = 'q'\nmcp_servers.polis.args = []\n",
            "mcp_servers.polis.command = \"p\"\nmcp_servers.polis.args = [\"mcp\", \"a\\\"b\"]\n",
        ),
        // The writer of the parser's crate would write both headers alike, and move `x.b`.
        (
            "x.a = 1\ny = 2\nx.b = 3\n[ mcp_servers.'polis' ]\ncommand = 'q'\n[mcp_servers.polis.env]\n",
            "x.a = 1\ny = 2\nx.b = 3\n[ mcp_servers.'polis' ]\nargs = [\"mcp\", \"a\\\"b\"]\ncommand = \"p\"\n[mcp_servers.polis.env]\n",
        ),
        // Mixed line endings stay, also if the last line has none.
        (
            "a = \"\"\"\r\n\n\"\"\"\n[mcp_servers.polis]\r\ncommand = 'p'\nargs = []\r\n# end",
            "a = \"\"\"\r\n\n\"\"\"\n[mcp_servers.polis]\r\ncommand = 'p'\nargs = [\"mcp\", \"a\\\"b\"]\r\n# end",
        ),
    ] {
        assert_eq!(set_sample_fields(before).unwrap(), after);
    }
}

#[test]
fn removal_deletes_whole_lines() {
    let remove = |text: &str| ConfigFormat::Toml.remove_entry(text, &ENTRY_PATH).unwrap();
    for (before, after) in [
        ("a = 1\n", "a = 1\n"),
        (SAMPLE_TABLE, ""),
        (
            "a = 1\n\n[mcp_servers.polis]\ncommand = 'p'\n\n[b]\nc = 1\n",
            "a = 1\n\n[b]\nc = 1\n",
        ),
        (
            "[mcp_servers.polis]\ncommand = 'p'\nargs = [\n  'mcp',\n]\n# about b\n[b]\n\n[mcp_servers.polis.env]\nA = '1'\n[mcp_servers.polis.tools.x]\ny = 1\n[c]\n",
            "# about b\n[b]\n\n[c]\n",
        ),
        (
            "[mcp_servers]\na.command = 'x'\npolis.command = 'p'\npolis.args = []\n",
            "[mcp_servers]\na.command = 'x'\n",
        ),
        (
            "[mcp_servers]\npolis = { command = 'p' }\n[x]\n",
            "[mcp_servers]\n[x]\n",
        ),
        (
            "[[mcp_servers.polis.l]]\na = 1\n[[mcp_servers.polis.l]]\na = 2\n[z]\n",
            "[z]\n",
        ),
        (
            "# about me\n\n[mcp_servers.polis] # ours\ncommand = 'p'\n\n# about b\n[b]\n",
            "# about me\n\n# about b\n[b]\n",
        ),
        (
            "a = 1\n# end\n\n[mcp_servers.polis]\n# in it\n",
            "a = 1\n# end\n\n# in it\n",
        ),
        (
            "\u{feff}x = 1\r\n\r\n[mcp_servers.polis]\r\ncommand = 'p'\r\n",
            "\u{feff}x = 1\r\n",
        ),
    ] {
        assert_eq!(remove(before), after, "{before:?}");
    }
    for before in [
        "",
        "a = 1\n",
        "a = 1\r\n# b\r\n",
        "[mcp_servers.a]\ncommand = 'x'\n",
    ] {
        assert_eq!(remove(&set_sample_fields(before).unwrap()), before);
    }
    assert!(
        ConfigFormat::Toml
            .remove_entry(
                "mcp_servers = { a = { b = 1 }, polis = { c = 1 } }",
                &ENTRY_PATH
            )
            .is_err()
    );
}

#[test]
fn invalid_or_uneditable_text_is_refused() {
    for (text, line) in [
        ("a = 1\nb = \n", Some(2)),
        ("a = 1\na = 2\n", Some(2)),
        ("[mcp_servers]\n[mcp_servers]\n", Some(2)),
        ("\nmcp_servers = 3\n", Some(2)),
        ("mcp_servers = { a = {} }\n", Some(1)),
        ("[mcp_servers]\npolis = 3\n", Some(2)),
        ("[[mcp_servers]]\n", Some(1)),
        ("{}", Some(1)),
        // Nowhere to insert a line.
        ("[mcp_servers]\npolis = { args = [] }\n", None),
        ("mcp_servers.polis.args = []\n", None),
        ("[mcp_servers.polis.env]\n", None),
    ] {
        assert_eq!(set_sample_fields(text).unwrap_err().line, line, "{text:?}");
    }
    assert!(set_sample_fields(&format!("a = {}", "[".repeat(1_000_000))).is_err());
    assert!(set_sample_fields(&format!("{}a = 1", "a.".repeat(100_000))).is_err());
}
