//! Test of the README: runs its commands in order, in empty directories, against a scripted model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::test_project::{BLACKBOARD_EXE, CommandOutput, POLIS_EXE, program_command};
use crate::harness::test_server::TestServer;
use crate::society::first_run::{ENGLISH, scripted_model};

/// Returns the command lines of the README's shell blocks, with the heading of each block.
fn readme_command_lines() -> Vec<(String, String)> {
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
struct ReadmeEnvironment {
    root_dir: tempfile::TempDir,
    path: String,
}

impl ReadmeEnvironment {
    fn new() -> Self {
        let root_dir = tempfile::tempdir().unwrap();
        let bin = root_dir.path().join("bin");
        for directory in ["bin", "home", "project"] {
            std::fs::create_dir(root_dir.path().join(directory)).unwrap();
        }
        for (program, name) in [(POLIS_EXE, "polis"), (BLACKBOARD_EXE, "blackboard")] {
            std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:{}", bin.display(), path.to_string_lossy());
        Self { root_dir, path }
    }

    fn directory_for_heading(&self, heading: &str) -> PathBuf {
        match heading {
            "Install" => self.root_dir.path().to_owned(),
            _ => self.root_dir.path().join("project"),
        }
    }

    /// Returns a line as a shell command, in an environment with only the variables that the README sets.
    fn shell_command(&self, line: &str, directory: &Path, model: &str) -> Command {
        let mut command = program_command("sh", directory);
        command
            .args(["-c", line])
            .env("PATH", &self.path)
            .env("HOME", self.root_dir.path().join("home"))
            .env("OPENAI_API_KEY", "sk-readme")
            .env("OPENAI_BASE_URL", model);
        command
    }
}

#[test]
fn readme_commands_succeed_in_order() {
    let lines = readme_command_lines();
    assert!(lines.len() > 20, "{lines:?}");
    let first: Vec<&str> = (lines.iter().filter(|(heading, _)| heading.is_empty()))
        .map(|(_, line)| line.as_str())
        .collect();
    assert_eq!(first, ["cargo run --release -- demo", "scripts/test"]);
    let machine = ReadmeEnvironment::new();
    let model = scripted_model(ENGLISH, None);
    let run = |line: &str, directory: &Path| {
        let mut command = machine.shell_command(line, directory, &model.base_url());
        CommandOutput::from_output(command.stdin(Stdio::null()).output().unwrap())
    };
    let demo = run("polis demo --fast", machine.root_dir.path());
    assert_eq!(demo.exit_code, Some(0), "{demo:?}");
    for (heading, line) in lines.iter().filter(|(heading, _)| !heading.is_empty()) {
        let directory = machine.directory_for_heading(heading);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // Skipped: already built by this test; set for every line; needs the server that was ended, or a
            // terminal.
            ["cargo", ..] | ["export", ..] | ["curl", ..] | [.., "tui"] => {}
            [.., "open"] | [.., "serve"] => {
                let browser = if line.ends_with("open") {
                    "--no-browser"
                } else {
                    ""
                };
                let line = format!("exec {line} {browser} --listen 127.0.0.1:0 --json");
                let mut command = machine.shell_command(&line, &directory, &model.base_url());
                let server = TestServer::start_with_command(&mut command);
                assert!(server.url.starts_with("http://127.0.0.1:"), "{line}");
                assert!(server.stop().0.success(), "{line}");
            }
            [.., "cat", "/etc/shadow"] => {
                let refused = run(line, &directory);
                assert_ne!(refused.exit_code, Some(0), "{line}: {refused:?}");
                assert!(refused.stderr.contains("Permission denied"), "{refused:?}");
            }
            _ => {
                let answer = run(line, &directory);
                assert_eq!(answer.exit_code, Some(0), "{heading}: {line}: {answer:?}");
            }
        }
    }
    assert!(
        machine
            .root_dir
            .path()
            .join("project/todo/src/cli.sh")
            .is_file()
    );
}
