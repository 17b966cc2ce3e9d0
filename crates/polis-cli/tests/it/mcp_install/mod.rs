//! Tests of `polis mcp install`: the entry it writes for each client, and everything it leaves unchanged.

mod files;
mod registry;
mod texts;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::board::{Answer, Board, POLIS};

/// A project, and the home directory of its user.
struct Desk {
    board: Board,
    home: tempfile::TempDir,
}

/// Environment variables that relocate a client's configuration.
const VARIABLES: [&str; 5] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "XDG_CONFIG_HOME",
];

impl Desk {
    fn new() -> Self {
        Self {
            board: Board::embedded(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.board.json_command("user", &["mcp"]);
        command.args(args).env("HOME", self.home.path());
        for name in VARIABLES {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Answer {
        Answer::of(self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed.
    fn ok(&self, args: &[&str]) -> Value {
        self.run(args).document()
    }

    /// Runs in text mode and returns stdout.
    fn shown(&self, args: &[&str]) -> String {
        let mut command = self.board.command();
        command.arg("mcp").args(args).env("HOME", self.home.path());
        for name in VARIABLES {
            command.env_remove(name);
        }
        let answer = Answer::of(command.output().unwrap());
        assert_eq!(
            (answer.exit, answer.stderr.as_str()),
            (Some(0), ""),
            "{answer:?}"
        );
        answer.stdout
    }

    fn project(&self) -> PathBuf {
        self.board.path().canonicalize().unwrap()
    }

    /// Writes a file into the project.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Returns the arguments that an agent's server is started with here.
    fn arguments(&self, agent: &str) -> Vec<String> {
        let project = self.project().to_str().unwrap().to_owned();
        ["mcp", "--agent", agent, "--dir", &project]
            .map(str::to_owned)
            .to_vec()
    }

    fn agents(&self) -> Vec<String> {
        let listed = self.board.ok("user", &["agent", "list"]);
        let agents = listed["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| agent["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Returns the names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Returns for each client: its file in a project, its user file, and the expected text of the file.
fn programs(
    desk: &Desk,
    agent: &str,
) -> Vec<(&'static str, Option<&'static str>, &'static str, String)> {
    let arguments = json!(desk.arguments(agent));
    let whole: Vec<String> = [POLIS.to_owned()]
        .into_iter()
        .chain(desk.arguments(agent))
        .collect();
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let typed = json!({"type": "stdio", "command": POLIS, "args": arguments});
    let plain = json!({"command": POLIS, "args": arguments});
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
                "[mcp_servers.polis]\ncommand = \"{POLIS}\"\nargs = {arguments}\ntool_timeout_sec = 300\n"
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
                "extensions:\n  polis:\n    type: \"stdio\"\n    name: \"polis\"\n    cmd: \"{POLIS}\"\n    args:\n{}    \
                 enabled: true\n    description: \"Tasks, boards, files and commands of the team\"\n    timeout: 300\n",
                desk.arguments(agent)
                    .iter()
                    .map(|text| format!("      - {text:?}\n"))
                    .collect::<String>()
            ),
        ),
    ]
}

/// Removes whitespace, which other tests check exactly.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn each_program_gets_its_own() {
    let desk = Desk::new();
    for (client, project, own, content) in programs(&desk, "one") {
        for (scope, file) in [("project", project), ("user", Some(own))] {
            let args = ["install", client, "--agent", "one", "--scope", scope];
            let Some(file) = file else {
                let refused = desk.run(&args).refusal(2, "invalid_input");
                assert!(refused.hint.contains("--scope user"), "{refused:?}");
                continue;
            };
            let home = desk.home.path().to_owned();
            let path = if scope == "project" {
                desk.project()
            } else {
                home
            }
            .join(file);
            let done = desk.ok(&args);
            assert_eq!(done["file"], path.to_str().unwrap());
            assert_eq!(
                (&done["client"], &done["scope"]),
                (&json!(client), &json!(scope))
            );
            assert_eq!(
                (&done["changed"], &done["agent"]),
                (&json!(true), &json!("one"))
            );
            assert!(done.get("backup").is_none(), "there was nothing to copy");
            let written = read(&path);
            assert_eq!(squeezed(&written), squeezed(&content), "{client}");
            let entry = done["entry"].as_object().unwrap();
            assert!(entry.len() >= 2, "{done}");

            // A second installation changes nothing, not even the file's inode.
            use std::os::unix::fs::MetadataExt as _;
            let before = path.metadata().unwrap();
            let again = desk.ok(&args);
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
            assert_eq!(read(&path), written);
            let beside = names(path.parent().unwrap());
            assert!(
                beside.iter().all(|name| !name.contains("polis-")),
                "{beside:?}"
            );
            let mode = after.mode() & 0o777;
            assert_eq!(mode == 0o600, scope == "user", "{client} {scope}: {mode:o}");
        }
    }
    assert_eq!(desk.agents(), ["one"]);
}

#[test]
fn the_entry_is_a_command_line_of_ours() {
    let desk = Desk::new();
    let done = desk.ok(&["install", "claude", "--tools", "tasks,boards"]);
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
    let helped = Answer::of(command.output().unwrap());
    assert_eq!(helped.exit, Some(0), "{helped:?}");
    assert!(helped.stdout.contains("--tools"), "{helped:?}");
}

#[test]
fn the_search_paths_name_for_the_program_is_kept() {
    let desk = Desk::new();
    let bin = desk.home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(POLIS, bin.join("polis")).unwrap();
    let mut command = desk.command(&["install", "claude"]);
    let done = Answer::of(command.env("PATH", &bin).output().unwrap()).document();
    assert_eq!(
        done["entry"]["command"],
        bin.join("polis").to_str().unwrap()
    );
    // A different `polis` on the PATH is not used.
    std::fs::remove_file(bin.join("polis")).unwrap();
    std::fs::write(bin.join("polis"), "#!/bin/sh\n").unwrap();
    let mut command = desk.command(&["install", "claude"]);
    let done = Answer::of(command.env("PATH", &bin).output().unwrap()).document();
    assert_eq!(done["entry"]["command"], POLIS);
}

#[test]
fn printing_changes_nothing() {
    let desk = Desk::new();
    let before = desk.board.log().len();
    for (client, _, _, content) in programs(&desk, "two") {
        let text = desk.shown(&["install", client, "--agent", "two", "--print"]);
        assert_eq!(squeezed(&text), squeezed(&content), "{client}");
        let printed = desk.ok(&["install", client, "--agent", "two", "--print"]);
        assert_eq!(
            printed["text"].as_str().unwrap().trim_end(),
            text.trim_end()
        );
        assert_eq!(
            (&printed["changed"], &printed["registered"]),
            (&json!(false), &json!(false))
        );
    }
    assert_eq!(desk.board.log().len(), before);
    assert_eq!(names(&desk.project()), [".agent-workspace"]);
    assert!(names(desk.home.path()).is_empty());
}

#[test]
fn people_are_told_what_was_done_and_what_to_do() {
    let desk = Desk::new();
    let said = desk.shown(&["install", "claude"]);
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
        desk.shown(&["install", "claude"])
            .contains("nothing was changed")
    );
    let said = desk.shown(&["install", "claude", "--agent", "ada", "--role", "architect"]);
    for part in [
        "Changed polis in Claude Code",
        ".mcp.json.polis-backup",
        "Agent ada registered: architect",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(desk.shown(&["install", "codex"]).contains("trust"));
    assert!(
        desk.shown(&["uninstall", "claude"])
            .contains("stays registered")
    );
    assert!(
        desk.shown(&["uninstall", "claude"])
            .contains("does not have polis")
    );
    desk.put(
        "opencode.json",
        "{\"mcp\": {\"polis\": {\"command\": [\"polis\", \"mcp\"], \"enabled\": false}}}",
    );
    assert!(
        desk.shown(&["install", "opencode"])
            .contains("switched off")
    );
}

#[test]
fn a_path_that_a_program_would_change_is_refused() {
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
            let mut command = crate::board::bare_command(&project);
            command
                .env("HOME", home.path())
                .env_remove("XDG_CONFIG_HOME");
            Answer::of(command.arg("--json").args(args).output().unwrap())
        };
        run(&["init"]).document();
        let answer = run(&["mcp", "install", client]);
        if refused {
            answer.refusal(2, "invalid_input");
            assert_eq!(names(&project), [".agent-workspace"]);
        } else {
            let entry = &answer.document()["entry"];
            let last = entry["args"].as_array().unwrap().last().unwrap();
            assert_eq!(last, project.canonicalize().unwrap().to_str().unwrap());
            assert_eq!(
                run(&["mcp", "install", client]).document()["changed"],
                false
            );
        }
    }
}

#[test]
fn flags_of_the_server_and_of_install_do_not_mix() {
    let desk = Desk::new();
    desk.run(&["--agent", "a", "install", "claude"])
        .refusal(2, "invalid_input");
    desk.run(&["install", "emacs"]).refusal(2, "invalid_input");
    desk.run(&["install"]).refusal(2, "invalid_input");
    desk.run(&["install", "claude", "--tools", "a b"])
        .refusal(2, "invalid_input");
    desk.run(&["install", "claude", "--tools", ","])
        .refusal(2, "invalid_input");
    assert_eq!(names(&desk.project()), [".agent-workspace"]);
}
