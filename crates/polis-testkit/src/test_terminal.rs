//! Test terminal in tmux, for programs that draw on a screen: sends keys, reads the screen contents and
//! resizes the window. A test that needs it fails if tmux is not installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Timeout after which a test counts as failed.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the screen is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Shell prompt that marks the shell as ready.
const SHELL_PROMPT: &str = "READY>";

/// A terminal with a shell. Dropping it ends both.
#[derive(Debug)]
pub struct TestTerminal {
    home_directory: TempDir,
}

impl TestTerminal {
    /// Opens a terminal of this size with a shell in a directory. Only these variables and those that a shell
    /// needs are set.
    ///
    /// # Panics
    /// If tmux is not installed.
    pub fn open(directory: &Path, size: (u16, u16), variables: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("polis-pane-").unwrap();
        let pane = Self {
            home_directory: home,
        };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let mut start = pane.tmux_command(&["-u", "-f", "/dev/null", "new-session", "-d"]);
        start
            .args(["-x", &columns, "-y", &rows, "/bin/sh"])
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", pane.home_directory.path())
            .env("TMPDIR", pane.home_directory.path())
            .env("LC_ALL", "C.UTF-8")
            .envs(variables.iter().copied());
        let started = start.output().expect("tmux is needed for this test");
        assert!(started.status.success(), "{started:?}");
        // Split so that the typed line itself does not contain the prompt.
        pane.type_line("PS1='READ''Y> '");
        pane.wait_for_text(SHELL_PROMPT);
        pane
    }

    /// Returns the directory for temporary files of programs in the terminal.
    pub fn temp_directory(&self) -> &Path {
        self.home_directory.path()
    }

    fn socket_path(&self) -> PathBuf {
        self.home_directory.path().join("tmux")
    }

    fn tmux_command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket_path()).args(args);
        command
    }

    /// Runs a tmux command and returns its output.
    ///
    /// # Panics
    /// If tmux fails.
    pub fn run_tmux<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let answer = self.tmux_command(args).output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Presses keys by their names, such as `Enter` or `C-z`.
    pub fn press_keys(&self, keys: &[&str]) {
        self.run_tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub fn type_text(&self, text: &str) {
        self.run_tmux(&["send-keys", "-l", text]);
    }

    /// Types a line into the shell.
    pub fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press_keys(&["Enter"]);
    }

    /// Returns the screen contents.
    pub fn screen_text(&self) -> String {
        self.run_tmux(&["capture-pane", "-p"])
    }

    /// Waits until a text is on the screen, and returns the screen contents.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for_text(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen contents satisfy a predicate, and returns them.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_until(&self, description: &str, predicate: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen_text();
            if predicate(&screen) {
                return screen;
            }
            assert!(
                start.elapsed() < WAIT_TIMEOUT,
                "timed out waiting for {description}:\n{screen}"
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run_tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits for the shell, and checks that the terminal state was restored: no mouse reporting, no alternate
    /// screen, visible cursor, line mode and echo.
    ///
    /// # Panics
    /// If it was not.
    pub fn assert_restored(&self) {
        let flags = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
        let start = Instant::now();
        while self.run_tmux(&["display-message", "-p", flags]).trim() != "0 0 1" {
            assert!(
                start.elapsed() < WAIT_TIMEOUT,
                "terminal state not restored:\n{}",
                self.screen_text()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
        self.type_line("clear; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo -e isig | tr '\\n' '+'; echo =modes");
        self.wait_until("isig+icanon+echo+=modes", |screen| {
            screen.lines().any(|line| line == "isig+icanon+echo+=modes")
        });
    }

    /// Returns the id of the process that runs in the shell, if there is one.
    pub fn child_pid(&self) -> Option<u32> {
        let shell = self.run_tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).ok()?;
        children.split_whitespace().next_back()?.parse().ok()
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        let _ = self.tmux_command(&["kill-server"]).output();
    }
}
