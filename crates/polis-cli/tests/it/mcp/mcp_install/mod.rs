//! Tests of `polis mcp install`: the entry it writes for each client, and everything it leaves unchanged.

mod config_file_edits;
mod config_file_safety;
mod installed_agent;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, POLIS_EXE, TestProject};

/// A project, and the home directory of its user.
struct TestProjectWithHome {
    project: TestProject,
    home: tempfile::TempDir,
}

/// Environment variables that relocate a client's configuration.
const CONFIG_DIR_VARIABLES: [&str; 5] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "XDG_CONFIG_HOME",
];

impl TestProjectWithHome {
    fn new() -> Self {
        Self {
            project: TestProject::embedded(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn mcp_command(&self, args: &[&str]) -> Command {
        let mut command = self.project.json_command("user", &["mcp"]);
        command.args(args).env("HOME", self.home.path());
        for name in CONFIG_DIR_VARIABLES {
            command.env_remove(name);
        }
        command
    }

    fn run_mcp(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(self.mcp_command(args).output().unwrap())
    }

    /// Runs a command that must succeed.
    fn run_mcp_ok(&self, args: &[&str]) -> Value {
        self.run_mcp(args).expect_document()
    }

    /// Runs in text mode and returns stdout.
    fn run_mcp_text(&self, args: &[&str]) -> String {
        let mut command = self.project.command();
        command.arg("mcp").args(args).env("HOME", self.home.path());
        for name in CONFIG_DIR_VARIABLES {
            command.env_remove(name);
        }
        let answer = CommandOutput::from_output(command.output().unwrap());
        assert_eq!(
            (answer.exit_code, answer.stderr.as_str()),
            (Some(0), ""),
            "{answer:?}"
        );
        answer.stdout
    }

    fn project_dir(&self) -> PathBuf {
        self.project.path().canonicalize().unwrap()
    }

    /// Writes a file into the project.
    fn write_project_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project_dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Returns the arguments that an agent's server is started with here.
    fn server_arguments(&self, agent: &str) -> Vec<String> {
        let project = self.project_dir().to_str().unwrap().to_owned();
        ["mcp", "--agent", agent, "--dir", &project]
            .map(str::to_owned)
            .to_vec()
    }

    fn agent_ids(&self) -> Vec<String> {
        let listed = self.project.run_ok("user", &["agent", "list"]);
        let agents = listed["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| agent["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn read_text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Returns the names in a directory.
fn file_names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Returns for each client: its file in a project, its user file, and the expected text of the file.
fn expected_client_files(
    setup: &TestProjectWithHome,
    agent: &str,
) -> Vec<(&'static str, Option<&'static str>, &'static str, String)> {
    let arguments = json!(setup.server_arguments(agent));
    let whole: Vec<String> = [POLIS_EXE.to_owned()]
        .into_iter()
        .chain(setup.server_arguments(agent))
        .collect();
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let typed = json!({"type": "stdio", "command": POLIS_EXE, "args": arguments});
    let plain = json!({"command": POLIS_EXE, "args": arguments});
    vec![
        (
            "claude",
            Some(".mcp.json"),
            ".claude.json",
            pretty(&json!({"mcpServers": {"polis": typed}})),
        ),
        (
            "codex",
            Some(".codex/config.toml"),
            ".codex/config.toml",
            format!(
                "[mcp_servers.polis]\ncommand = \"{POLIS_EXE}\"\nargs = {arguments}\ntool_timeout_sec = 300\n"
            ),
        ),
        (
            "gemini",
            Some(".gemini/settings.json"),
            ".gemini/settings.json",
            pretty(&json!({"mcpServers": {"polis": plain}})),
        ),
        (
            "cursor",
            Some(".cursor/mcp.json"),
            ".cursor/mcp.json",
            pretty(&json!({"mcpServers": {"polis": typed}})),
        ),
        (
            "vscode",
            Some(".vscode/mcp.json"),
            ".config/Code/User/mcp.json",
            pretty(&json!({"servers": {"polis": typed}})),
        ),
        (
            "opencode",
            Some("opencode.json"),
            ".config/opencode/opencode.json",
            pretty(&json!({"mcp": {"polis":
                {"type": "local", "command": whole, "enabled": true, "timeout": 300_000}}})),
        ),
        (
            "goose",
            None,
            ".config/goose/config.yaml",
            format!(
                "extensions:\n  polis:\n    type: \"stdio\"\n    name: \"polis\"\n    cmd: \"{POLIS_EXE}\"\n    args:\n{}    \
                 enabled: true\n    description: \"Tasks, boards, files and commands of the team\"\n    timeout: 300\n",
                setup
                    .server_arguments(agent)
                    .iter()
                    .map(|text| format!("      - {text:?}\n"))
                    .collect::<String>()
            ),
        ),
    ]
}

/// Removes whitespace, which other tests check exactly.
fn without_whitespace(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn install_writes_the_entry_of_each_client() {
    let setup = TestProjectWithHome::new();
    for (client, project, own, content) in expected_client_files(&setup, "one") {
        for (scope, file) in [("project", project), ("user", Some(own))] {
            let args = ["install", client, "--agent", "one", "--scope", scope];
            let Some(file) = file else {
                let refused = setup.run_mcp(&args).expect_refusal(2, "invalid_input");
                assert!(refused.hint.contains("--scope user"), "{refused:?}");
                continue;
            };
            let home = setup.home.path().to_owned();
            let path = if scope == "project" {
                setup.project_dir()
            } else {
                home
            }
            .join(file);
            let done = setup.run_mcp_ok(&args);
            assert_eq!(done["file"], path.to_str().unwrap());
            assert_eq!(
                (&done["client"], &done["scope"]),
                (&json!(client), &json!(scope))
            );
            assert_eq!(
                (&done["changed"], &done["agent"]),
                (&json!(true), &json!("one"))
            );
            assert!(done.get("backup").is_none(), "a new file needs no backup");
            let written = read_text(&path);
            assert_eq!(
                without_whitespace(&written),
                without_whitespace(&content),
                "{client}"
            );
            let entry = done["entry"].as_object().unwrap();
            assert!(entry.len() >= 2, "{done}");

            // A second installation changes nothing, not even the file's inode.
            use std::os::unix::fs::MetadataExt as _;
            let before = path.metadata().unwrap();
            let again = setup.run_mcp_ok(&args);
            let after = path.metadata().unwrap();
            assert_eq!(
                (before.ino(), before.mtime_nsec()),
                (after.ino(), after.mtime_nsec())
            );
            assert_eq!(
                (&again["changed"], &again["registered"]),
                (&json!(false), &json!(false))
            );
            assert_eq!(again["entry"], done["entry"]);
            assert_eq!(read_text(&path), written);
            let beside = file_names(path.parent().unwrap());
            assert!(
                beside.iter().all(|name| !name.contains("polis-")),
                "{beside:?}"
            );
            let mode = after.mode() & 0o777;
            assert_eq!(mode == 0o600, scope == "user", "{client} {scope}: {mode:o}");
        }
    }
    assert_eq!(setup.agent_ids(), ["one"]);
}

#[test]
fn installed_entry_starts_the_server_from_any_directory() {
    let setup = TestProjectWithHome::new();
    let done = setup.run_mcp_ok(&["install", "claude", "--tools", "tasks,boards"]);
    let args: Vec<_> = done["entry"]["args"].as_array().unwrap().iter().collect();
    assert_eq!(
        args[..5],
        ["mcp", "--agent", "claude", "--tools", "tasks,boards"]
    );
    // From any directory, with nothing but the values of the entry.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(done["entry"]["command"].as_str().unwrap());
    command.env_clear().current_dir(elsewhere.path());
    command
        .args(args.iter().map(|arg| arg.as_str().unwrap()))
        .arg("--help");
    let helped = CommandOutput::from_output(command.output().unwrap());
    assert_eq!(helped.exit_code, Some(0), "{helped:?}");
    assert!(helped.stdout.contains("--tools"), "{helped:?}");
}

#[test]
fn installed_entry_uses_the_program_found_on_path() {
    let setup = TestProjectWithHome::new();
    let bin = setup.home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(POLIS_EXE, bin.join("polis")).unwrap();
    let mut command = setup.mcp_command(&["install", "claude"]);
    let done =
        CommandOutput::from_output(command.env("PATH", &bin).output().unwrap()).expect_document();
    assert_eq!(
        done["entry"]["command"],
        bin.join("polis").to_str().unwrap()
    );
    // A different `polis` on the PATH is not used.
    std::fs::remove_file(bin.join("polis")).unwrap();
    std::fs::write(bin.join("polis"), "#!/bin/sh\n").unwrap();
    let mut command = setup.mcp_command(&["install", "claude"]);
    let done =
        CommandOutput::from_output(command.env("PATH", &bin).output().unwrap()).expect_document();
    assert_eq!(done["entry"]["command"], POLIS_EXE);
}

#[test]
fn install_with_print_changes_nothing() {
    let setup = TestProjectWithHome::new();
    let before = setup.project.read_log().len();
    for (client, _, _, content) in expected_client_files(&setup, "two") {
        let text = setup.run_mcp_text(&["install", client, "--agent", "two", "--print"]);
        assert_eq!(
            without_whitespace(&text),
            without_whitespace(&content),
            "{client}"
        );
        let printed = setup.run_mcp_ok(&["install", client, "--agent", "two", "--print"]);
        assert_eq!(
            printed["text"].as_str().unwrap().trim_end(),
            text.trim_end()
        );
        assert_eq!(
            (&printed["changed"], &printed["registered"]),
            (&json!(false), &json!(false))
        );
    }
    assert_eq!(setup.project.read_log().len(), before);
    assert_eq!(file_names(&setup.project_dir()), [".agent-workspace"]);
    assert!(file_names(setup.home.path()).is_empty());
}

#[test]
fn install_in_text_mode_prints_changes_and_next_steps() {
    let setup = TestProjectWithHome::new();
    let said = setup.run_mcp_text(&["install", "claude"]);
    for part in [
        "Added polis to Claude Code",
        ".mcp.json",
        "Agent claude registered: backend-leader",
        "`claude mcp list`",
        "approve",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        setup
            .run_mcp_text(&["install", "claude"])
            .contains("nothing was changed")
    );
    let said = setup.run_mcp_text(&["install", "claude", "--agent", "ada", "--role", "architect"]);
    for part in [
        "Updated polis in Claude Code",
        ".mcp.json.polis-backup",
        "Agent ada registered: architect",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(setup.run_mcp_text(&["install", "codex"]).contains("trust"));
    assert!(
        setup
            .run_mcp_text(&["uninstall", "claude"])
            .contains("stays registered")
    );
    assert!(
        setup
            .run_mcp_text(&["uninstall", "claude"])
            .contains("polis is not installed in")
    );
    setup.write_project_file(
        "opencode.json",
        "{\"mcp\": {\"polis\": {\"command\": [\"polis\", \"mcp\"], \"enabled\": false}}}",
    );
    assert!(
        setup
            .run_mcp_text(&["install", "opencode"])
            .contains("is disabled")
    );
}

#[test]
fn install_refuses_a_path_the_client_would_expand() {
    let place = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    for (client, name, refused) in [
        ("claude", "a${HOME}b", true),
        ("gemini", "a$HOME", true),
        ("opencode", "a{env:HOME}", true),
        ("vscode", "a${workspaceFolder}", true),
        ("claude", "a$HOME {env:HOME}", false),
        ("codex", "a\"b\\c${HOME} 目录", false),
        ("goose", "a\"b'c: # 目录", false),
    ] {
        let project = place.path().join(name);
        std::fs::create_dir_all(&project).unwrap();
        let run = |args: &[&str]| {
            let mut command = crate::harness::test_project::polis_command(&project);
            command
                .env("HOME", home.path())
                .env_remove("XDG_CONFIG_HOME");
            CommandOutput::from_output(command.arg("--json").args(args).output().unwrap())
        };
        run(&["init"]).expect_document();
        let answer = run(&["mcp", "install", client]);
        if refused {
            answer.expect_refusal(2, "invalid_input");
            assert_eq!(file_names(&project), [".agent-workspace"]);
        } else {
            let entry = &answer.expect_document()["entry"];
            let last = entry["args"].as_array().unwrap().last().unwrap();
            assert_eq!(last, project.canonicalize().unwrap().to_str().unwrap());
            assert_eq!(
                run(&["mcp", "install", client]).expect_document()["changed"],
                false
            );
        }
    }
}

#[test]
fn install_refuses_server_flags() {
    let setup = TestProjectWithHome::new();
    setup
        .run_mcp(&["--agent", "a", "install", "claude"])
        .expect_refusal(2, "invalid_input");
    setup
        .run_mcp(&["install", "emacs"])
        .expect_refusal(2, "invalid_input");
    setup
        .run_mcp(&["install"])
        .expect_refusal(2, "invalid_input");
    setup
        .run_mcp(&["install", "claude", "--tools", "a b"])
        .expect_refusal(2, "invalid_input");
    setup
        .run_mcp(&["install", "claude", "--tools", ","])
        .expect_refusal(2, "invalid_input");
    assert_eq!(file_names(&setup.project_dir()), [".agent-workspace"]);
}
