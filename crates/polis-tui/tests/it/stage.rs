//! The interface in a real terminal (tmux), over an in-memory store and a clock that panics or blocks on
//! demand: in every case the terminal is restored and actions in progress are finished.

use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::TaskId;
use polis_core::board::BoardName;
use polis_core::task::create::TaskCreate;
use polis_ops::op;
use polis_ops::port::Clock;
use polis_ops::{Polis, Settings};
use polis_testkit::clock::BEGINNING;
use polis_testkit::{CountedChance, MemoryStore, Pane};
use polis_tui::{Screen, Tab};
use polis_view::Lang;
use tempfile::TempDir;

/// Names a file, and what the clock does while that file exists.
const HOW: &str = "POLIS_TEST_CLOCK";

/// What the clock does while the file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ill {
    /// Panics in the event loop.
    Here,
    /// Panics in a background task.
    Beside,
    /// Blocks background tasks.
    Slow,
}

#[derive(Debug)]
struct IllClock {
    file: PathBuf,
    ill: Ill,
}

impl Clock for IllClock {
    fn now_millis(&self) -> i64 {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let beside = name.starts_with("tokio");
        let breaks = self.ill == if beside { Ill::Beside } else { Ill::Here };
        assert!(!breaks || !self.file.exists(), "the clock failed");
        while beside && self.ill == Ill::Slow && self.file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        BEGINNING
    }

    fn sleep(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(length))
    }
}

/// Not a test by itself: the program that the tests below run in a terminal.
#[test]
#[ignore = "needs tmux: it is the program of the tests here"]
fn a_screen() {
    let Some(how) = std::env::var_os(HOW) else {
        return;
    };
    let how = how.into_string().unwrap();
    let (file, ill) = how.split_once('=').unwrap();
    let clock = IllClock {
        file: PathBuf::from(file),
        ill: match ill {
            "here" => Ill::Here,
            "beside" => Ill::Beside,
            _ => Ill::Slow,
        },
    };
    let polis = Polis::new(
        Arc::new(MemoryStore::default()),
        Arc::new(clock),
        Arc::new(CountedChance::default()),
        Settings::default(),
    );
    let screen = Screen {
        polis: polis.clone(),
        agent: AgentId::user(),
        lang: Lang::En,
        colour: true,
        tab: Tab::Now,
        editor: std::env::var_os("EDITOR").unwrap().into_string().unwrap(),
        keeper: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let new = TaskCreate {
            subject: "The only task".to_owned(),
            ..TaskCreate::default()
        };
        let user = AgentId::user();
        op::create_task(&polis, &user, &new).await.unwrap();
        polis_tui::run(screen).await.unwrap();
        let task = op::get_task(&polis, TaskId::new(1).unwrap()).await.unwrap();
        let read = op::BoardRead::of(BoardName::Global);
        let board = op::read_board(&polis, &user, &read).await.unwrap();
        println!("owner [{}] board {}", task.task.owner, board.version);
    });
}

/// The interface in a terminal, and the file that activates the clock's fault.
struct Room {
    pane: Pane,
    ill: PathBuf,
    directory: TempDir,
}

/// Opens the interface in a terminal; `before` is put before the program on the shell's command line.
fn open(ill: &str, before: &str, editor: &str) -> Room {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ill");
    let how = format!("{}={ill}", file.display());
    let pane = Pane::open(
        directory.path(),
        (80, 24),
        &[(HOW, &how), ("EDITOR", editor)],
    );
    let program = std::env::current_exe().unwrap();
    pane.line(&format!(
        "{before} {} --ignored --exact stage::a_screen --nocapture",
        program.display()
    ));
    pane.wait("Last events");
    Room {
        pane,
        ill: file,
        directory,
    }
}

fn fails(where_: &str) {
    let room = open(where_, "", "false");
    std::fs::write(&room.ill, "").unwrap();
    room.pane.press(&["2"]);
    room.pane.wait("the clock failed");
    room.pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn a_panic_of_the_screen_gives_the_terminal_back() {
    fails("here");
}

#[test]
#[ignore = "needs tmux"]
fn a_panic_beside_the_screen_gives_the_terminal_back() {
    fails("beside");
}

#[test]
#[ignore = "needs tmux"]
fn what_was_begun_is_finished_before_the_end() {
    let room = open("slow", "", "false");
    room.pane.press(&["2"]);
    room.pane.wait("pending (1)");
    std::fs::write(&room.ill, "").unwrap();
    room.pane.press(&["c"]);
    room.pane.wait_for("a deed under way", |seen| {
        seen.lines().next().is_some_and(|line| line.ends_with('…'))
    });
    room.pane.press(&["q"]);
    room.pane.wait("What was begun is being finished");
    std::fs::remove_file(&room.ill).unwrap();
    room.pane.wait("owner [user]");
}

#[test]
#[ignore = "needs tmux"]
fn a_screen_that_nothing_could_bring_back_is_not_suspended() {
    // In place of the shell it has no parent in its session that could resume it.
    let room = open("slow", "exec", "false");
    room.pane.press(&["C-z"]);
    room.pane.wait("so it stays");
    room.pane.press(&["2"]);
    room.pane.wait("pending (1)");
}

#[test]
#[ignore = "needs tmux"]
fn a_screen_that_a_shell_brought_back_does_not_say_that_nothing_could() {
    let room = open("slow", "", "false");
    room.pane.press(&["C-z"]);
    room.pane.is_given_back();
    room.pane.line("fg");
    // The status line shows the keys of the page, so no other message is shown there.
    room.pane.wait_for("the keys of the page", |seen| {
        seen.contains("This minute") && seen.contains("? help")
    });
    room.pane.press(&["q"]);
    room.pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn after_a_stop_from_outside_the_terminal_is_taken_again() {
    let room = open("slow", "", "false");
    let id = room.pane.child().unwrap().to_string();
    let terminal = room.pane.ask(&["display-message", "-p", "#{pane_tty}"]);
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
    room.pane.wait("READY>");
    // As many shells do by themselves.
    room.pane.write("stty sane");
    room.pane.press(&["C-j"]);
    room.pane.wait_for("a shell's mode", |_| !is_raw());
    room.pane.line("fg");
    room.pane.wait_for("a screen in its own mode", |seen| {
        is_raw() && seen.contains("This minute")
    });
    room.pane.press(&["q"]);
    room.pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn a_text_that_is_no_text_stays_in_its_file_until_it_is_one() {
    let script = "if [ -f again ]; then tr '\\351' e < \"$1\" > t; cat t > \"$1\"; \
                  else printf 'caf\\351\\n' > \"$1\"; fi";
    let room = open("slow", "", "sh ./editor");
    std::fs::write(room.directory.path().join("editor"), script).unwrap();
    room.pane.press(&["3"]);
    room.pane.wait("global");
    room.pane.press(&["e"]);
    room.pane.wait("The file is not UTF-8");
    std::fs::write(room.directory.path().join("again"), "").unwrap();
    room.pane.press(&["e"]);
    room.pane.wait("global was saved as version 1.");
    room.pane.wait("cafe");
    room.pane.press(&["q"]);
    room.pane.wait("board 1");
}

#[test]
#[ignore = "needs tmux"]
fn an_editor_that_deletes_its_file_leaves_nothing_that_could_be_kept() {
    let room = open("slow", "", "rm");
    room.pane.press(&["3"]);
    room.pane.wait("global");
    room.pane.press(&["e"]);
    let seen = room.pane.wait("The editor has deleted its file");
    assert!(!seen.contains("kept in"), "{seen}");
    room.pane.press(&["Enter"]);
    room.pane
        .wait_for("no box", |seen| !seen.contains("deleted its file"));
    room.pane.press(&["q"]);
    let seen = room.pane.wait("board 0");
    assert!(!seen.contains("kept in"), "{seen}");
}

#[test]
#[ignore = "needs tmux"]
fn what_was_typed_before_a_box_was_drawn_is_not_taken_for_an_answer() {
    let script =
        "printf 'caf\\351\\n' > \"$1\"; echo OPENED; while [ ! -f go ]; do sleep 0.05; done";
    let room = open("slow", "", "sh ./editor");
    std::fs::write(room.directory.path().join("editor"), script).unwrap();
    room.pane.press(&["3"]);
    room.pane.wait("global");
    room.pane.press(&["e"]);
    room.pane.wait("OPENED");
    // This is not read before the overlay is open, in which it would discard the text.
    room.pane.write("xy");
    room.pane
        .wait_for("the echo", |seen| seen.lines().any(|line| line == "xy"));
    std::fs::write(room.directory.path().join("go"), "").unwrap();
    room.pane.wait("The file is not UTF-8");
    room.pane.press(&["Escape"]);
    room.pane.wait("Your text of global is kept");
    room.pane.press(&["q"]);
    room.pane.wait("Your text is kept in");
}
