//! Runs the README's commands, in the order they are written, in empty directories.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::board::{Answer, BLACKBOARD, POLIS, bare_program};
use crate::server::Server;
use crate::society::first_run::{ENGLISH, scripted_model};

/// Returns the command lines of the README's shell blocks, with the heading of each block.
fn command_lines() -> Vec<(String, String)> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let (mut heading, mut in_block, mut lines) = (String::new(), false, Vec::new());
    for line in text.lines() {
        match line {
            "```sh" => in_block = true,
            "```" => in_block = false,
            _ if in_block => {
                let command = line
                    .split("  #")
                    .next()
                    .unwrap()
                    .split(" # ")
                    .next()
                    .unwrap();
                lines.push((heading.clone(), command.trim().to_owned()));
            }
            _ => {
                if let Some(title) = line.strip_prefix("## ") {
                    title.clone_into(&mut heading);
                }
            }
        }
    }
    lines
}

/// A clean environment: a home directory, and the programs on the PATH.
struct Machine {
    room: tempfile::TempDir,
    path: String,
}

impl Machine {
    fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let bin = room.path().join("bin");
        for directory in ["bin", "home", "project"] {
            std::fs::create_dir(room.path().join(directory)).unwrap();
        }
        for (program, name) in [(POLIS, "polis"), (BLACKBOARD, "blackboard")] {
            std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:{}", bin.display(), path.to_string_lossy());
        Self { room, path }
    }

    fn directory(&self, heading: &str) -> PathBuf {
        match heading {
            "Install" => self.room.path().to_owned(),
            _ => self.room.path().join("project"),
        }
    }

    /// Returns a line as a shell command, in an environment with only the variables that the README sets.
    fn shell(&self, line: &str, directory: &Path, model: &str) -> Command {
        let mut command = bare_program("sh", directory);
        command
            .args(["-c", line])
            .env("PATH", &self.path)
            .env("HOME", self.room.path().join("home"))
            .env("OPENAI_API_KEY", "sk-readme")
            .env("OPENAI_BASE_URL", model);
        command
    }
}

#[test]
fn readme_commands_work_in_the_order_they_are_written() {
    let lines = command_lines();
    assert!(lines.len() > 20, "{lines:?}");
    let first: Vec<&str> = (lines.iter().filter(|(heading, _)| heading.is_empty()))
        .map(|(_, line)| line.as_str())
        .collect();
    assert_eq!(first, ["cargo run --release -- demo", "scripts/test"]);
    let machine = Machine::new();
    let model = scripted_model(ENGLISH, None);
    let run = |line: &str, directory: &Path| {
        let mut command = machine.shell(line, directory, &model.base_url());
        Answer::of(command.stdin(Stdio::null()).output().unwrap())
    };
    let demo = run("polis demo --fast", machine.room.path());
    assert_eq!(demo.exit, Some(0), "{demo:?}");
    for (heading, line) in lines.iter().filter(|(heading, _)| !heading.is_empty()) {
        let directory = machine.directory(heading);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // Skipped: already built by this test; set for every line; needs the server that was ended, or a terminal.
            ["cargo", ..] | ["export", ..] | ["curl", ..] | [.., "tui"] => {}
            [.., "open"] | [.., "serve"] => {
                let browser = if line.ends_with("open") {
                    "--no-browser"
                } else {
                    ""
                };
                let line = format!("exec {line} {browser} --listen 127.0.0.1:0 --json");
                let mut command = machine.shell(&line, &directory, &model.base_url());
                let server = Server::start_by(&mut command);
                assert!(server.url.starts_with("http://127.0.0.1:"), "{line}");
                assert!(server.end().0.success(), "{line}");
            }
            [.., "cat", "/etc/shadow"] => {
                let refused = run(line, &directory);
                assert_ne!(refused.exit, Some(0), "{line}: {refused:?}");
                assert!(refused.stderr.contains("Permission denied"), "{refused:?}");
            }
            _ => {
                let answer = run(line, &directory);
                assert_eq!(answer.exit, Some(0), "{heading}: {line}: {answer:?}");
            }
        }
    }
    assert!(
        machine
            .room
            .path()
            .join("project/todo/src/cli.sh")
            .is_file()
    );
}
