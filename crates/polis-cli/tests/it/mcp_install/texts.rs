//! Tests of hand-written configuration files: everything that is not ours is preserved exactly, and unreadable files
//! are left alone.

use serde_json::{Value, json};

use super::{Desk, names, read};
use crate::board::POLIS;

/// A client, its file, the text, and the exact parts that must be in it afterwards.
const KEPT: [(&str, &str, &str, &[&str]); 14] = [
    // Comments, a trailing comma and irregular whitespace, for a client that accepts them.
    (
        "vscode",
        ".vscode/mcp.json",
        "// mine\n{\n  /* a */ \"inputs\" : [ ], // b\n  \"servers\": {\n    \"x\": { \"url\": \"http://e/*\" },\n  },\n}\n",
        &[
            "// mine\n{\n  /* a */ \"inputs\" : [ ], // b\n  \"servers\": {\n    \"x\": { \"url\": \"http://e/*\" },\n    \"polis\": {\n      \"type\"",
        ],
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}} // end\n",
        &[
            "{\"mcpServers\": {\"x\": {\"command\": \"x\"}, \"polis\"",
            "}} // end\n",
        ],
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\n\t\"theme\": \"dark\" // c\n}\n",
        &["{\n\t\"theme\": \"dark\", // c\n\t\"mcpServers\": {\n\t\t\"polis\""],
    ),
    (
        "opencode",
        "opencode.jsonc",
        "{\r\n  // 注释\r\n  \"model\": \"m\",\r\n}\r\n",
        &[
            "{\r\n  // 注释\r\n  \"model\": \"m\",\r\n  \"mcp\": {\r\n    \"polis\": {\r\n      \"type\": \"local\",\r\n",
            "\r\n  },\r\n}\r\n",
        ],
    ),
    (
        "opencode",
        ".opencode/opencode.json",
        "{\"mcp\": {\"servers\": {\"x\": {\"type\": \"local\"}}}}",
        &["{\"mcp\": {\"servers\": {\"x\": {\"type\": \"local\"}, \"polis\": {"],
    ),
    // Byte order marks, empty files, non-ASCII text, duplicate keys.
    (
        "claude",
        ".mcp.json",
        "\u{feff}{\"mcpServers\":{}}",
        &["\u{feff}{\"mcpServers\":{\"polis\""],
    ),
    ("claude", ".mcp.json", "", &["{\n  \"mcpServers\""]),
    (
        "vscode",
        ".vscode/mcp.json",
        "\n \t\n",
        &["\n \t\n{\n  \"servers\""],
    ),
    (
        "claude",
        ".mcp.json",
        "{\"键\": \"值 😀 \\u00e9\", \"n\": 1.50, \"big\": 12345678901234567890123}",
        &[
            "{\"键\": \"值 😀 \\u00e9\", \"n\": 1.50, \"big\": 12345678901234567890123, \"mcpServers\"",
        ],
    ),
    (
        "claude",
        ".mcp.json",
        "{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {\"b\": {}}}",
        &["{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {\"b\": {}, \"polis\""],
    ),
    (
        "codex",
        ".codex/config.toml",
        "\u{feff}# mine\r\nmodel = 'x' # why\r\n[mcp_servers.x]\r\ncommand = 'x'\r\n",
        &[
            "\u{feff}# mine\r\nmodel = 'x' # why\r\n[mcp_servers.x]\r\ncommand = 'x'\r\n\r\n[mcp_servers.polis]\r\ncommand = ",
        ],
    ),
    (
        "codex",
        ".codex/config.toml",
        "[projects.\"/a b\"]\ntrust_level = \"trusted\"\n# end",
        &["[projects.\"/a b\"]\ntrust_level = \"trusted\"\n# end\n\n[mcp_servers.polis]\n"],
    ),
    (
        "codex",
        ".codex/config.toml",
        "\n# nothing\n",
        &["\n# nothing\n\n[mcp_servers.polis]\n"],
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\n    \"mcpServers\": {\n    },\n    \"z\": 1\n}",
        &[
            "{\n    \"mcpServers\": {\n        \"polis\": {\n            \"command\"",
            "\n        }\n    },\n    \"z\": 1\n}",
        ],
    ),
];

#[test]
fn the_rest_of_a_file_stays_to_the_letter() {
    for (client, file, before, parts) in KEPT {
        let desk = Desk::new();
        let path = desk.put(file, before);
        let done = desk.ok(&["install", client]);
        assert_eq!(done["file"], path.to_str().unwrap(), "{before:?}");
        assert_eq!(done["changed"], true);
        let after = read(&path);
        for part in parts {
            assert!(after.contains(part), "{part:?} is not in {after:?}");
        }
        assert!(after.contains(POLIS));
        let backup = done["backup"].as_str().unwrap();
        assert_eq!(read(backup), before, "the copy is what there was");
        assert_eq!(backup, format!("{}.polis-backup", path.display()));
        assert_eq!(
            desk.ok(&["install", client])["changed"],
            false,
            "{before:?}"
        );
        assert_eq!(read(&path), after);
        assert_eq!(
            desk.ok(&["uninstall", client])["changed"],
            true,
            "{after:?}"
        );
        assert!(!read(&path).contains("polis"), "{before:?}");
    }
}

#[test]
fn a_goose_that_is_set_up_stays_set_up() {
    let desk = Desk::new();
    let file = desk.home.path().join(".config/goose/config.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "GOOSE_PROVIDER: openai # mine\nextensions:\n  # the usual\n  developer:\n    enabled: true\n    args: []\nZ: 用\n";
    std::fs::write(&file, before).unwrap();
    desk.ok(&["install", "goose"]);
    let after = read(&file);
    let (above, below) = before.split_once("  # the usual").unwrap();
    assert!(
        after.starts_with(above) && after.ends_with(&format!("  # the usual{below}")),
        "{after}"
    );
    assert_eq!(desk.ok(&["install", "goose"])["changed"], false);
    desk.ok(&["uninstall", "goose"]);
    assert_eq!(read(&file), before);
}

#[test]
fn what_cannot_be_read_is_refused_and_left_alone() {
    let deep = "[".repeat(100_000);
    for (client, file, content, line) in [
        ("claude", ".mcp.json", "{\n\"a\": }", "line 2"),
        ("claude", ".mcp.json", "{\n// c\n}", "line 2: comments"),
        ("claude", ".mcp.json", "{\"a\": 1,\n}", "line 1: a comma"),
        ("claude", ".mcp.json", "{\"a\": \"b}", "line 1"),
        ("claude", ".mcp.json", "[]", "not an object"),
        (
            "claude",
            ".mcp.json",
            "{\"mcpServers\": []}",
            "\"mcpServers\" is not an object",
        ),
        (
            "claude",
            ".mcp.json",
            "{\"mcpServers\": null}",
            "\"mcpServers\" is not an object",
        ),
        ("claude", ".mcp.json", deep.as_str(), "line 1"),
        ("claude", ".mcp.json", "{} trailing", "line 1"),
        (
            "gemini",
            ".gemini/settings.json",
            "\u{feff}{}",
            "byte order mark",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "{\"a\": [1,]}",
            "a comma",
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "{ /* never closed",
            "line 1: a comment",
        ),
        ("vscode", ".vscode/mcp.json", "{'a': 1}", "line 1"),
        (
            "vscode",
            ".vscode/mcp.json",
            "{\"servers\": {\"polis\": 3}}",
            "starts something else",
        ),
        ("codex", ".codex/config.toml", "a = 1\nb =\n", "line 2"),
        ("codex", ".codex/config.toml", "a = 1\na = 2\n", "line 2"),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = 1\n",
            "is not a table",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = { x = { command = 'x' } }\n",
            "in braces",
        ),
        (
            "opencode",
            "opencode.json",
            "{\"mcp\": {\"polis\": {\"type\": \"remote\", \"url\": \"http://x\"}}}",
            "starts something else",
        ),
    ] {
        let desk = Desk::new();
        let path = desk.put(file, content);
        let refused = desk.run(&["install", client]).refusal(2, "invalid_config");
        assert!(refused.message.contains(line), "{line}: {refused:?}");
        assert!(refused.message.starts_with(file), "{refused:?}");
        assert!(refused.hint.contains("--print"), "{refused:?}");
        assert_eq!(read(&path), content);
        assert_eq!(
            names(path.parent().unwrap())
                .iter()
                .filter(|n| n.contains("polis"))
                .count(),
            0
        );
        assert_eq!(desk.agents(), [""; 0], "nothing is half done");
    }
    let desk = Desk::new();
    let path = desk.put(".mcp.json", b"{\"a\": \"\xff\"}");
    desk.run(&["install", "claude"]).refusal(2, "not_text");
    assert_eq!(std::fs::read(&path).unwrap(), b"{\"a\": \"\xff\"}");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    desk.run(&["install", "claude"])
        .refusal(2, "file_too_large");
    for text in [
        "a: [\n",
        "a: 1\na: 2\n",
        "- a\n",
        "extensions: 3\n",
        "a: 1\n---\nb: 2\n",
    ] {
        let file = desk.home.path().join("goose/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let mut command = desk.command(&["install", "goose"]);
        command.env("XDG_CONFIG_HOME", desk.home.path());
        let refused =
            crate::board::Answer::of(command.output().unwrap()).refusal(2, "invalid_config");
        assert!(
            refused
                .message
                .starts_with("$XDG_CONFIG_HOME/goose/config.yaml"),
            "{refused:?}"
        );
        assert_eq!(read(&file), text);
    }
    assert_eq!(desk.agents(), [""; 0]);
}

#[test]
fn another_agent_or_directory_changes_our_entry_and_nothing_else() {
    let desk = Desk::new();
    let old = "{\n  // servers\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"/old/polis\", // moved\n      \"env\": {\"A\": \"1\"},\n      \
               \"args\": [\"mcp\", \"--agent\", \"x\", \"--dir\", \"/old\"]\n    },\n    \"polis2\": {\"command\": \"polis\"}\n  }\n}\n";
    let path = desk.put(".vscode/mcp.json", old);
    let done = desk.ok(&["install", "vscode", "--agent", "y"]);
    let args = serde_json::to_string(&desk.arguments("y"))
        .unwrap()
        .replace("\",\"", "\", \"");
    let new = old
        .replace(
            "[\"mcp\", \"--agent\", \"x\", \"--dir\", \"/old\"]",
            &format!("{args},\n      \"type\": \"stdio\""),
        )
        .replace("/old/polis", POLIS);
    assert_eq!(read(&path), new);
    assert_eq!(done["entry"]["env"], json!({"A": "1"}));
    assert_eq!(read(done["backup"].as_str().unwrap()), old);

    let table = "[mcp_servers.polis]\nargs = ['mcp'] # a\ncommand = 'polis'\ntool_timeout_sec = 5\n[mcp_servers.polis.env]\nA = '1'\n";
    let path = desk.put(".codex/config.toml", table);
    let done = desk.ok(&["install", "codex"]);
    let new = table
        .replace(
            "['mcp']",
            &serde_json::to_string(&desk.arguments("codex"))
                .unwrap()
                .replace("\",\"", "\", \""),
        )
        .replace("'polis'", &format!("{POLIS:?}"));
    assert_eq!(read(&path), new);
    assert_eq!(done["entry"]["tool_timeout_sec"], 5, "its user's to change");
}

#[test]
fn a_large_file_is_no_matter() {
    let desk = Desk::new();
    let history: Vec<Value> = (0..100_000)
        .map(|n| json!({"n": n, "text": "用 ".repeat(10)}))
        .collect();
    let before =
        serde_json::to_string_pretty(&json!({"history": history, "mcpServers": {}, "z": null}))
            .unwrap();
    assert!(before.len() > 5 << 20);
    let path = desk.home.path().join(".claude.json");
    std::fs::write(&path, &before).unwrap();
    desk.ok(&["install", "claude", "--scope", "user"]);
    let after = read(&path);
    let at = before.find("\"mcpServers\": {").unwrap() + "\"mcpServers\": {".len();
    assert_eq!(
        (&after[..at], &after[after.len() - (before.len() - at)..]),
        (&before[..at], &before[at..])
    );
    desk.ok(&["uninstall", "claude", "--scope", "user"]);
    assert_eq!(read(&path), before);
}

#[test]
fn allow_tools_is_written_into_a_new_entry_and_one_that_exists() {
    for (client, file, wanted) in [
        (
            "codex",
            ".codex/config.toml",
            "default_tools_approval_mode = \"approve\"",
        ),
        ("gemini", ".gemini/settings.json", "\"trust\": true"),
    ] {
        let desk = Desk::new();
        desk.ok(&["install", client]);
        let path = desk.project().join(file);
        let plain = read(&path);
        assert!(!plain.contains(wanted), "{plain}");
        // Adds the field to an existing entry and keeps the rest.
        let done = desk.ok(&["install", client, "--allow-tools"]);
        assert_eq!(done["changed"], true, "{done}");
        let allowed = read(&path);
        assert!(allowed.contains(wanted), "{allowed}");
        // In JSON the preceding member gets a comma.
        let kept = |line: &&str| allowed.contains(line.trim_end());
        assert!(plain.lines().all(|line| kept(&line)), "{plain}\n{allowed}");
        // A later installation neither duplicates the field nor removes it.
        for flags in [
            &["install", client, "--allow-tools"][..],
            &["install", client],
        ] {
            let done = desk.ok(flags);
            assert_eq!(done["changed"], false, "{done}");
        }
        // Written with a new entry, and removed with it.
        desk.ok(&["uninstall", client]);
        assert!(!read(&path).contains(wanted), "{}", read(&path));
        desk.ok(&["install", client, "--allow-tools"]);
        assert!(read(&path).contains(wanted), "{}", read(&path));
        // A different value is overwritten only with `--allow-tools`.
        let other = read(&path).replace("\"approve\"", "\"prompt\"");
        let other = other.replace("\"trust\": true", "\"trust\": false");
        std::fs::write(&path, other).unwrap();
        desk.ok(&["install", client]);
        assert!(!read(&path).contains(wanted), "{}", read(&path));
        desk.ok(&["install", client, "--allow-tools"]);
        assert!(read(&path).contains(wanted), "{}", read(&path));
    }
}

#[test]
fn allow_tools_is_refused_where_the_entry_has_no_such_value() {
    for client in ["claude", "cursor", "vscode", "opencode", "goose"] {
        let desk = Desk::new();
        let answer = desk.run(&["install", client, "--allow-tools"]);
        let refused = answer.refusal(2, "invalid_input");
        assert!(
            refused.hint.contains("leave --allow-tools out"),
            "{refused:?}"
        );
        assert_eq!(names(&desk.project()), [".agent-workspace"]);
        assert_eq!(desk.agents(), [""; 0]);
    }
}
