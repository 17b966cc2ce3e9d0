//! A terminal in tmux for testing programs that draw on a screen: sends keys and reads the screen contents.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Timeout after which a test counts as failed.
const HANGING: Duration = Duration::from_secs(60);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(20);
/// The shell prompt.
const PROMPT: &str = "READY>";

/// A terminal with a shell. Dropping it ends both.
#[derive(Debug)]
pub struct Pane {
    home: TempDir,
}

impl Pane {
    /// Opens a terminal of this size with a shell in a directory. Only these variables and those that a shell
    /// needs are set.
    ///
    /// # Panics
    /// If tmux is not installed.
    pub fn open(directory: &Path, size: (u16, u16), variables: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("polis-pane-").unwrap();
        let pane = Self { home };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let mut start = pane.tmux(&["-u", "-f", "/dev/null", "new-session", "-d"]);
        start
            .args(["-x", &columns, "-y", &rows, "/bin/sh"])
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", pane.home.path())
            .env("TMPDIR", pane.home.path())
            .env("LC_ALL", "C.UTF-8")
            .envs(variables.iter().copied());
        let started = start.output().expect("tmux is needed for this test");
        assert!(started.status.success(), "{started:?}");
        // Split so that the typed line itself does not contain the prompt.
        pane.line("PS1='READ''Y> '");
        pane.wait(PROMPT);
        pane
    }

    /// Returns the directory for temporary files of programs in the terminal.
    pub fn temporary(&self) -> &Path {
        self.home.path()
    }

    fn socket(&self) -> PathBuf {
        self.home.path().join("tmux")
    }

    fn tmux<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket()).args(args);
        command
    }

    /// Runs a tmux command and returns its output.
    ///
    /// # Panics
    /// If tmux fails.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let answer = self.tmux(args).output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Presses keys by their names, such as `Enter` or `C-z`.
    pub fn press(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub fn write(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
    }

    /// Types a line into the shell.
    pub fn line(&self, text: &str) {
        self.write(text);
        self.press(&["Enter"]);
    }

    /// Returns the screen contents.
    pub fn seen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Waits until a text is on the screen, and returns the screen contents.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait(&self, text: &str) -> String {
        self.wait_for(text, |seen| seen.contains(text))
    }

    /// Waits until the screen contents satisfy a predicate, and returns them.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let seen = self.seen();
            if wanted(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < HANGING, "never seen: {what}\n{seen}");
            std::thread::sleep(LOOK);
        }
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits for the shell, and checks that the terminal state was restored: no mouse reporting, no alternate
    /// screen, visible cursor, line mode and echo.
    ///
    /// # Panics
    /// If it was not.
    pub fn is_given_back(&self) {
        let flags = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
        let begun = Instant::now();
        while self.ask(&["display-message", "-p", flags]).trim() != "0 0 1" {
            assert!(
                begun.elapsed() < HANGING,
                "not given back:\n{}",
                self.seen()
            );
            std::thread::sleep(LOOK);
        }
        self.line("clear; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo -e isig | tr '\\n' '+'; echo =modes");
        self.wait_for("isig+icanon+echo+=modes", |seen| {
            seen.lines().any(|line| line == "isig+icanon+echo+=modes")
        });
    }

    /// Returns the id of the process that runs in the shell, if there is one.
    pub fn child(&self) -> Option<u32> {
        let shell = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).ok()?;
        children.split_whitespace().next_back()?.parse().ok()
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}
