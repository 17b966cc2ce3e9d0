//! Tests of edits in hand-written client configuration files: everything that is not ours is preserved
//! exactly, and unparsable files are left unchanged.

use serde_json::{Value, json};

use super::{TestProjectWithHome, file_names, read_text};
use crate::harness::test_project::POLIS_EXE;

/// A client, its file, the text, and the exact parts that must be in it afterwards.
const PRESERVED_FILES: [(&str, &str, &str, &[&str]); 14] = [
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
fn install_preserves_the_rest_of_the_file() {
    for (client, file, before, parts) in PRESERVED_FILES {
        let setup = TestProjectWithHome::new();
        let path = setup.write_project_file(file, before);
        let done = setup.run_mcp_ok(&["install", client]);
        assert_eq!(done["file"], path.to_str().unwrap(), "{before:?}");
        assert_eq!(done["changed"], true);
        let after = read_text(&path);
        for part in parts {
            assert!(after.contains(part), "{part:?} is not in {after:?}");
        }
        assert!(after.contains(POLIS_EXE));
        let backup = done["backup"].as_str().unwrap();
        assert_eq!(
            read_text(backup),
            before,
            "the backup has the previous text"
        );
        assert_eq!(backup, format!("{}.polis-backup", path.display()));
        assert_eq!(
            setup.run_mcp_ok(&["install", client])["changed"],
            false,
            "{before:?}"
        );
        assert_eq!(read_text(&path), after);
        assert_eq!(
            setup.run_mcp_ok(&["uninstall", client])["changed"],
            true,
            "{after:?}"
        );
        assert!(!read_text(&path).contains("polis"), "{before:?}");
    }
}

#[test]
fn install_preserves_an_existing_goose_configuration() {
    let setup = TestProjectWithHome::new();
    let file = setup.home.path().join(".config/goose/config.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "GOOSE_PROVIDER: openai # mine\nextensions:\n  # the usual\n  developer:\n    enabled: true\n    args: []\nZ: 用\n";
    std::fs::write(&file, before).unwrap();
    setup.run_mcp_ok(&["install", "goose"]);
    let after = read_text(&file);
    let (above, below) = before.split_once("  # the usual").unwrap();
    assert!(
        after.starts_with(above) && after.ends_with(&format!("  # the usual{below}")),
        "{after}"
    );
    assert_eq!(setup.run_mcp_ok(&["install", "goose"])["changed"], false);
    setup.run_mcp_ok(&["uninstall", "goose"]);
    assert_eq!(read_text(&file), before);
}

#[test]
fn install_into_an_unparsable_file_is_refused() {
    let deep = "[".repeat(100_000);
    for (client, file, content, line) in [
        ("claude", ".mcp.json", "{\n\"a\": }", "line 2"),
        ("claude", ".mcp.json", "{\n// c\n}", "line 2: comments"),
        (
            "claude",
            ".mcp.json",
            "{\"a\": 1,\n}",
            "line 1: a trailing comma",
        ),
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
            "a trailing comma",
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
            "an inline table",
        ),
        (
            "opencode",
            "opencode.json",
            "{\"mcp\": {\"polis\": {\"type\": \"remote\", \"url\": \"http://x\"}}}",
            "starts something else",
        ),
    ] {
        let setup = TestProjectWithHome::new();
        let path = setup.write_project_file(file, content);
        let refused = setup
            .run_mcp(&["install", client])
            .expect_refusal(2, "invalid_config");
        assert!(refused.message.contains(line), "{line}: {refused:?}");
        assert!(refused.message.starts_with(file), "{refused:?}");
        assert!(refused.hint.contains("--print"), "{refused:?}");
        assert_eq!(read_text(&path), content);
        assert_eq!(
            file_names(path.parent().unwrap())
                .iter()
                .filter(|n| n.contains("polis"))
                .count(),
            0
        );
        assert_eq!(
            setup.agent_ids(),
            [""; 0],
            "a refused install registered an agent"
        );
    }
    let setup = TestProjectWithHome::new();
    let path = setup.write_project_file(".mcp.json", b"{\"a\": \"\xff\"}");
    setup
        .run_mcp(&["install", "claude"])
        .expect_refusal(2, "not_text");
    assert_eq!(std::fs::read(&path).unwrap(), b"{\"a\": \"\xff\"}");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    setup
        .run_mcp(&["install", "claude"])
        .expect_refusal(2, "file_too_large");
    for text in [
        "a: [\n",
        "a: 1\na: 2\n",
        "- a\n",
        "extensions: 3\n",
        "a: 1\n---\nb: 2\n",
    ] {
        let file = setup.home.path().join("goose/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let mut command = setup.mcp_command(&["install", "goose"]);
        command.env("XDG_CONFIG_HOME", setup.home.path());
        let refused =
            crate::harness::test_project::CommandOutput::from_output(command.output().unwrap())
                .expect_refusal(2, "invalid_config");
        assert!(
            refused
                .message
                .starts_with("$XDG_CONFIG_HOME/goose/config.yaml"),
            "{refused:?}"
        );
        assert_eq!(read_text(&file), text);
    }
    assert_eq!(setup.agent_ids(), [""; 0]);
}

#[test]
fn install_for_another_agent_changes_only_its_entry() {
    let setup = TestProjectWithHome::new();
    let old = "{\n  // servers\n  \"servers\": {\n    \"polis\": {\n      \"command\": \"/old/polis\", // moved\n      \"env\": {\"A\": \"1\"},\n      \
               \"args\": [\"mcp\", \"--agent\", \"x\", \"--dir\", \"/old\"]\n    },\n    \"polis2\": {\"command\": \"polis\"}\n  }\n}\n";
    let path = setup.write_project_file(".vscode/mcp.json", old);
    let done = setup.run_mcp_ok(&["install", "vscode", "--agent", "y"]);
    let args = serde_json::to_string(&setup.server_arguments("y"))
        .unwrap()
        .replace("\",\"", "\", \"");
    let new = old
        .replace(
            "[\"mcp\", \"--agent\", \"x\", \"--dir\", \"/old\"]",
            &format!("{args},\n      \"type\": \"stdio\""),
        )
        .replace("/old/polis", POLIS_EXE);
    assert_eq!(read_text(&path), new);
    assert_eq!(done["entry"]["env"], json!({"A": "1"}));
    assert_eq!(read_text(done["backup"].as_str().unwrap()), old);

    let table = "[mcp_servers.polis]\nargs = ['mcp'] # a\ncommand = 'polis'\ntool_timeout_sec = 5\n[mcp_servers.polis.env]\nA = '1'\n";
    let path = setup.write_project_file(".codex/config.toml", table);
    let done = setup.run_mcp_ok(&["install", "codex"]);
    let new = table
        .replace(
            "['mcp']",
            &serde_json::to_string(&setup.server_arguments("codex"))
                .unwrap()
                .replace("\",\"", "\", \""),
        )
        .replace("'polis'", &format!("{POLIS_EXE:?}"));
    assert_eq!(read_text(&path), new);
    assert_eq!(
        done["entry"]["tool_timeout_sec"], 5,
        "a value set by the user is kept"
    );
}

#[test]
fn install_into_a_large_file_preserves_it() {
    let setup = TestProjectWithHome::new();
    let history: Vec<Value> = (0..100_000)
        .map(|n| json!({"n": n, "text": "用 ".repeat(10)}))
        .collect();
    let before =
        serde_json::to_string_pretty(&json!({"history": history, "mcpServers": {}, "z": null}))
            .unwrap();
    assert!(before.len() > 5 << 20);
    let path = setup.home.path().join(".claude.json");
    std::fs::write(&path, &before).unwrap();
    setup.run_mcp_ok(&["install", "claude", "--scope", "user"]);
    let after = read_text(&path);
    let at = before.find("\"mcpServers\": {").unwrap() + "\"mcpServers\": {".len();
    assert_eq!(
        (&after[..at], &after[after.len() - (before.len() - at)..]),
        (&before[..at], &before[at..])
    );
    setup.run_mcp_ok(&["uninstall", "claude", "--scope", "user"]);
    assert_eq!(read_text(&path), before);
}

#[test]
fn allow_tools_is_written_into_new_and_existing_entries() {
    for (client, file, wanted) in [
        (
            "codex",
            ".codex/config.toml",
            "default_tools_approval_mode = \"approve\"",
        ),
        ("gemini", ".gemini/settings.json", "\"trust\": true"),
    ] {
        let setup = TestProjectWithHome::new();
        setup.run_mcp_ok(&["install", client]);
        let path = setup.project_dir().join(file);
        let plain = read_text(&path);
        assert!(!plain.contains(wanted), "{plain}");
        // Adds the field to an existing entry and keeps the rest.
        let done = setup.run_mcp_ok(&["install", client, "--allow-tools"]);
        assert_eq!(done["changed"], true, "{done}");
        let allowed = read_text(&path);
        assert!(allowed.contains(wanted), "{allowed}");
        // In JSON the preceding member gets a comma.
        let kept = |line: &&str| allowed.contains(line.trim_end());
        assert!(plain.lines().all(|line| kept(&line)), "{plain}\n{allowed}");
        // A later installation neither duplicates the field nor removes it.
        for flags in [
            &["install", client, "--allow-tools"][..],
            &["install", client],
        ] {
            let done = setup.run_mcp_ok(flags);
            assert_eq!(done["changed"], false, "{done}");
        }
        // Written with a new entry, and removed with it.
        setup.run_mcp_ok(&["uninstall", client]);
        assert!(!read_text(&path).contains(wanted), "{}", read_text(&path));
        setup.run_mcp_ok(&["install", client, "--allow-tools"]);
        assert!(read_text(&path).contains(wanted), "{}", read_text(&path));
        // A different value is overwritten only with `--allow-tools`.
        let other = read_text(&path).replace("\"approve\"", "\"prompt\"");
        let other = other.replace("\"trust\": true", "\"trust\": false");
        std::fs::write(&path, other).unwrap();
        setup.run_mcp_ok(&["install", client]);
        assert!(!read_text(&path).contains(wanted), "{}", read_text(&path));
        setup.run_mcp_ok(&["install", client, "--allow-tools"]);
        assert!(read_text(&path).contains(wanted), "{}", read_text(&path));
    }
}

#[test]
fn allow_tools_is_refused_for_clients_without_the_setting() {
    for client in ["claude", "cursor", "vscode", "opencode", "goose"] {
        let setup = TestProjectWithHome::new();
        let answer = setup.run_mcp(&["install", client, "--allow-tools"]);
        let refused = answer.expect_refusal(2, "invalid_input");
        assert!(refused.hint.contains("omit --allow-tools"), "{refused:?}");
        assert_eq!(file_names(&setup.project_dir()), [".agent-workspace"]);
        assert_eq!(setup.agent_ids(), [""; 0]);
    }
}
