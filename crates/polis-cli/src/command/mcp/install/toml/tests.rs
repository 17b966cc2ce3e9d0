//! Tests of the TOML editor: exact texts before and after an edit.

use serde_json::json;

use super::*;
use crate::command::mcp::install::edit::Format;

const KEYS: [&str; 2] = ["mcp_servers", "polis"];

fn fields() -> Vec<Field> {
    vec![("command", json!("p")), ("args", json!(["mcp", "a\"b"]))]
}

fn put(text: &str) -> Result<String, Fault> {
    Format::Toml.put(text, &KEYS, &fields())
}

const TABLE: &str = "[mcp_servers.polis]\ncommand = \"p\"\nargs = [\"mcp\", \"a\\\"b\"]\n";

#[test]
fn a_new_table_goes_to_the_end() {
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
        let done = put(before).unwrap();
        assert_eq!(done, format!("{before}{gap}{TABLE}"));
        assert_eq!(put(&done).unwrap(), done, "a second time changes nothing");
    }
    let windows = put("a = 1\r\n").unwrap();
    assert_eq!(
        windows,
        format!("a = 1\r\n\r\n{}", TABLE.replace('\n', "\r\n"))
    );
}

#[test]
fn an_entry_keeps_what_is_not_ours() {
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
    ] {
        assert_eq!(put(before).unwrap(), after);
    }
}

#[test]
fn taking_out_takes_whole_lines() {
    let remove = |text: &str| Format::Toml.remove(text, &KEYS).unwrap();
    for (before, after) in [
        ("a = 1\n", "a = 1\n"),
        (TABLE, ""),
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
        assert_eq!(remove(&put(before).unwrap()), before);
    }
    assert!(
        Format::Toml
            .remove("mcp_servers = { a = { b = 1 }, polis = { c = 1 } }", &KEYS)
            .is_err()
    );
}

#[test]
fn what_cannot_be_read_or_changed_is_refused() {
    for (text, line) in [
        ("a = 1\nb = \n", Some(2)),
        ("a = 1\na = 2\n", Some(2)),
        ("[mcp_servers]\n[mcp_servers]\n", Some(2)),
        ("\nmcp_servers = 3\n", Some(2)),
        ("mcp_servers = { a = {} }\n", Some(1)),
        ("[mcp_servers]\npolis = 3\n", Some(2)),
        ("[[mcp_servers]]\n", Some(1)),
        ("{}", Some(1)),
    ] {
        assert_eq!(put(text).unwrap_err().line, line, "{text:?}");
    }
    assert!(put(&format!("a = {}", "[".repeat(1_000_000))).is_err());
    assert!(put(&format!("{}a = 1", "a.".repeat(100_000))).is_err());
}
