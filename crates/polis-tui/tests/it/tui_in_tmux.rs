//! Tests of the terminal UI in a real terminal (tmux): panics, suspend and resume, external editors. The
//! program under test uses an in-memory store and a clock that panics or blocks on demand; in every case the
//! terminal is restored and actions in progress are finished.

use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::TaskId;
use polis_core::board::BoardName;
use polis_core::task::create::TaskCreateParams;
use polis_ops::op;
use polis_ops::port::Clock;
use polis_ops::{App, InstallationSettings};
use polis_testkit::clock::START_MILLIS;
use polis_testkit::{CountingRandomSource, MemoryStore, TestTerminal};
use polis_tui::{Tab, TuiConfig};
use polis_view::UiLanguage;
use tempfile::TempDir;

/// Environment variable `FILE=FAULT`: the clock has this fault while the file exists.
const CLOCK_FAULT_ENV: &str = "POLIS_TEST_CLOCK";

/// Fault of the clock while the file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockFault {
    /// Panics in the event loop.
    PanicInEventLoop,
    /// Panics in a background task.
    PanicInBackgroundTask,
    /// Blocks background tasks.
    BlockBackgroundTasks,
}

/// Clock with a fixed time that fails on demand.
#[derive(Debug)]
struct FaultyClock {
    fault_file: PathBuf,
    fault: ClockFault,
}

impl Clock for FaultyClock {
    fn now_millis(&self) -> i64 {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let beside = name.starts_with("tokio");
        let breaks = self.fault
            == if beside {
                ClockFault::PanicInBackgroundTask
            } else {
                ClockFault::PanicInEventLoop
            };
        assert!(!breaks || !self.fault_file.exists(), "the clock failed");
        while beside && self.fault == ClockFault::BlockBackgroundTasks && self.fault_file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        START_MILLIS
    }

    fn sleep(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(length))
    }
}

/// Not a test by itself: the program that the tests below run in a terminal.
#[test]
#[ignore = "needs tmux: the program under test, started by the other tests"]
fn tui_program() {
    let Some(how) = std::env::var_os(CLOCK_FAULT_ENV) else {
        return;
    };
    let how = how.into_string().unwrap();
    let (file, ill) = how.split_once('=').unwrap();
    let clock = FaultyClock {
        fault_file: PathBuf::from(file),
        fault: match ill {
            "panic-in-event-loop" => ClockFault::PanicInEventLoop,
            "panic-in-background" => ClockFault::PanicInBackgroundTask,
            _ => ClockFault::BlockBackgroundTasks,
        },
    };
    let app = App::new(
        Arc::new(MemoryStore::default()),
        Arc::new(clock),
        Arc::new(CountingRandomSource::default()),
        InstallationSettings::default(),
    );
    let screen = TuiConfig {
        app: app.clone(),
        agent: AgentId::user(),
        lang: UiLanguage::En,
        colour: true,
        tab: Tab::Overview,
        editor: std::env::var_os("EDITOR").unwrap().into_string().unwrap(),
        stats_cache: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let new = TaskCreateParams {
            subject: "The only task".to_owned(),
            ..TaskCreateParams::default()
        };
        let user = AgentId::user();
        op::create_task(&app.request(&user), &new).await.unwrap();
        polis_tui::run_tui(screen).await.unwrap();
        let task = op::get_task(&app.person_request(), TaskId::new(1).unwrap())
            .await
            .unwrap();
        let read = op::BoardReadParams::for_board(BoardName::Global);
        let board = op::read_board(&app.request(&user), &read).await.unwrap();
        println!("owner [{}] board {}", task.task.owner, board.version);
    });
}

/// The program in a tmux pane, and the file that activates the clock's fault.
struct TmuxTui {
    pane: TestTerminal,
    fault_file: PathBuf,
    directory: TempDir,
}

/// Starts the program in a tmux pane; `before` is put before it on the shell's command line.
fn open_in_tmux(ill: &str, before: &str, editor: &str) -> TmuxTui {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("clock-fault");
    let how = format!("{}={ill}", file.display());
    let pane = TestTerminal::open(
        directory.path(),
        (80, 24),
        &[(CLOCK_FAULT_ENV, &how), ("EDITOR", editor)],
    );
    let program = std::env::current_exe().unwrap();
    pane.type_line(&format!(
        "{before} {} --ignored --exact tui_in_tmux::tui_program --nocapture",
        program.display()
    ));
    pane.wait_for_text("Latest events");
    TmuxTui {
        pane,
        fault_file: file,
        directory,
    }
}

/// Activates a panicking clock and checks that the terminal is restored.
fn assert_panic_restores_terminal(where_: &str) {
    let tmux = open_in_tmux(where_, "", "false");
    std::fs::write(&tmux.fault_file, "").unwrap();
    tmux.pane.press_keys(&["2"]);
    tmux.pane.wait_for_text("the clock failed");
    tmux.pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn panic_in_event_loop_restores_terminal() {
    assert_panic_restores_terminal("panic-in-event-loop");
}

#[test]
#[ignore = "needs tmux"]
fn panic_in_background_task_restores_terminal() {
    assert_panic_restores_terminal("panic-in-background");
}

#[test]
#[ignore = "needs tmux"]
fn quit_waits_for_action_in_progress() {
    let tmux = open_in_tmux("block-background", "", "false");
    tmux.pane.press_keys(&["2"]);
    tmux.pane.wait_for_text("Pending (1)");
    std::fs::write(&tmux.fault_file, "").unwrap();
    tmux.pane.press_keys(&["c"]);
    tmux.pane.wait_until("an action in progress", |seen| {
        seen.lines().next().is_some_and(|line| line.ends_with('…'))
    });
    tmux.pane.press_keys(&["q"]);
    tmux.pane.wait_for_text("Finishing actions in progress");
    std::fs::remove_file(&tmux.fault_file).unwrap();
    tmux.pane.wait_for_text("owner [user]");
}

#[test]
#[ignore = "needs tmux"]
fn ctrl_z_without_parent_shell_does_not_suspend() {
    // `exec` replaces the shell, so no parent in its session could resume it.
    let tmux = open_in_tmux("block-background", "exec", "false");
    tmux.pane.press_keys(&["C-z"]);
    tmux.pane.wait_for_text("Not suspended");
    tmux.pane.press_keys(&["2"]);
    tmux.pane.wait_for_text("Pending (1)");
}

#[test]
#[ignore = "needs tmux"]
fn resume_by_shell_shows_no_suspend_warning() {
    let tmux = open_in_tmux("block-background", "", "false");
    tmux.pane.press_keys(&["C-z"]);
    tmux.pane.assert_restored();
    tmux.pane.type_line("fg");
    // The status line shows the keys of the page, so no other message is shown there.
    tmux.pane.wait_until("the keys of the page", |seen| {
        seen.contains("Overview") && seen.contains("? help")
    });
    tmux.pane.press_keys(&["q"]);
    tmux.pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn sigstop_and_fg_restores_raw_mode() {
    let tmux = open_in_tmux("block-background", "", "false");
    let id = tmux.pane.child_pid().unwrap().to_string();
    let terminal = tmux
        .pane
        .run_tmux(&["display-message", "-p", "#{pane_tty}"]);
    let is_raw = || {
        let modes = Command::new("stty")
            .args(["-a", "-F", terminal.trim()])
            .output()
            .unwrap();
        String::from_utf8(modes.stdout).unwrap().contains("-icanon")
    };
    assert!(is_raw());
    let stopped = Command::new("kill").args(["-s", "STOP", &id]).status();
    assert!(stopped.unwrap().success());
    tmux.pane.wait_for_text("READY>");
    // Many shells reset the terminal like this by themselves.
    tmux.pane.type_text("stty sane");
    tmux.pane.press_keys(&["C-j"]);
    tmux.pane
        .wait_until("the shell's terminal mode", |_| !is_raw());
    tmux.pane.type_line("fg");
    tmux.pane
        .wait_until("raw mode", |seen| is_raw() && seen.contains("Overview"));
    tmux.pane.press_keys(&["q"]);
    tmux.pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn draft_that_is_not_utf8_stays_in_file_until_fixed() {
    let script = "if [ -f again ]; then tr '\\351' e < \"$1\" > t; cat t > \"$1\"; \
                  else printf 'caf\\351\\n' > \"$1\"; fi";
    let tmux = open_in_tmux("block-background", "", "sh ./editor");
    std::fs::write(tmux.directory.path().join("editor"), script).unwrap();
    tmux.pane.press_keys(&["3"]);
    tmux.pane.wait_for_text("global");
    tmux.pane.press_keys(&["e"]);
    tmux.pane.wait_for_text("The file is not UTF-8");
    std::fs::write(tmux.directory.path().join("again"), "").unwrap();
    tmux.pane.press_keys(&["e"]);
    tmux.pane.wait_for_text("Saved global as version 1.");
    tmux.pane.wait_for_text("cafe");
    tmux.pane.press_keys(&["q"]);
    tmux.pane.wait_for_text("board 1");
}

#[test]
#[ignore = "needs tmux"]
fn editor_that_deletes_its_file_leaves_no_draft() {
    let tmux = open_in_tmux("block-background", "", "rm");
    tmux.pane.press_keys(&["3"]);
    tmux.pane.wait_for_text("global");
    tmux.pane.press_keys(&["e"]);
    let seen = tmux.pane.wait_for_text("The editor deleted its file");
    assert!(!seen.contains("unsaved text is in"), "{seen}");
    tmux.pane.press_keys(&["Enter"]);
    tmux.pane
        .wait_until("no overlay", |seen| !seen.contains("deleted its file"));
    tmux.pane.press_keys(&["q"]);
    let seen = tmux.pane.wait_for_text("board 0");
    assert!(!seen.contains("unsaved text is in"), "{seen}");
}

#[test]
#[ignore = "needs tmux"]
fn keys_typed_before_overlay_is_drawn_are_ignored() {
    let script =
        "printf 'caf\\351\\n' > \"$1\"; echo OPENED; while [ ! -f go ]; do sleep 0.05; done";
    let tmux = open_in_tmux("block-background", "", "sh ./editor");
    std::fs::write(tmux.directory.path().join("editor"), script).unwrap();
    tmux.pane.press_keys(&["3"]);
    tmux.pane.wait_for_text("global");
    tmux.pane.press_keys(&["e"]);
    tmux.pane.wait_for_text("OPENED");
    // This is not read before the overlay is open, in which it would discard the text.
    tmux.pane.type_text("xy");
    tmux.pane
        .wait_until("the echo", |seen| seen.lines().any(|line| line == "xy"));
    std::fs::write(tmux.directory.path().join("go"), "").unwrap();
    tmux.pane.wait_for_text("The file is not UTF-8");
    tmux.pane.press_keys(&["Escape"]);
    tmux.pane.wait_for_text("Your draft of global is kept");
    tmux.pane.press_keys(&["q"]);
    tmux.pane.wait_for_text("Your unsaved text is in");
}
