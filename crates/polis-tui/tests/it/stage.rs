//! The terminal is given back whatever breaks: the screen runs in tmux, and its clock fails while it is shown.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_ops::port::Clock;
use polis_ops::{Polis, Settings};
use polis_testkit::clock::BEGINNING;
use polis_testkit::{CountedChance, MemoryStore, Pane};
use polis_tui::{Screen, Tab};
use polis_view::Lang;

/// Names the file that makes the clock fail, and in which thread.
const FAILS: &str = "POLIS_TEST_CLOCK_FAILS";

/// A clock that fails as soon as a file is there: in the screen itself, or in what runs beside it.
#[derive(Debug)]
struct FailingClock {
    file: PathBuf,
    beside: bool,
}

impl Clock for FailingClock {
    fn now_millis(&self) -> i64 {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let beside = name.starts_with("tokio");
        assert!(
            beside != self.beside || !self.file.exists(),
            "the clock failed"
        );
        BEGINNING
    }

    fn sleep(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(length))
    }
}

/// Not a test of its own: the program that the tests below run in a terminal.
#[test]
#[ignore = "needs tmux: it is the program of the tests here"]
fn a_screen_whose_clock_fails() {
    let Some(how) = std::env::var_os(FAILS) else {
        return;
    };
    let how = how.into_string().unwrap();
    let (file, beside) = how.split_once('=').unwrap();
    let clock = FailingClock {
        file: PathBuf::from(file),
        beside: beside == "beside",
    };
    let polis = Polis::new(
        Arc::new(MemoryStore::default()),
        Arc::new(clock),
        Arc::new(CountedChance::default()),
        Settings::default(),
    );
    let screen = Screen {
        polis,
        agent: AgentId::user(),
        lang: Lang::En,
        colour: true,
        tab: Tab::Now,
        editor: "false".to_owned(),
        keeper: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(polis_tui::run(screen)).unwrap();
}

fn fails(where_: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("now");
    let how = format!("{}={where_}", file.display());
    let pane = Pane::open(directory.path(), (80, 24), &[(FAILS, &how)]);
    let program = std::env::current_exe().unwrap();
    pane.line(&format!(
        "{} --ignored --exact stage::a_screen_whose_clock_fails --nocapture",
        program.display()
    ));
    pane.wait("Last events");
    std::fs::write(&file, "").unwrap();
    pane.press(&["2"]);
    pane.wait("the clock failed");
    pane.is_given_back();
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
