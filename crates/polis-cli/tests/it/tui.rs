//! Tests of `polis tui` in a real terminal with real keys, concurrently with other processes on the same store.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use polis_testkit::Pane;

use crate::board::{Board, POLIS, eventually};

const SIZE: (u16, u16) = (80, 24);

/// Creates a project with three tasks and an agent.
fn board() -> Board {
    let board = Board::embedded();
    board.ok("user", &["agent", "add", "lead", "--role", "team-lead"]);
    for subject in ["实现后端服务的登录接口", "Write the tests", "Deploy"] {
        board.ok("user", &["task", "create", "--subject", subject]);
    }
    board
}

/// Starts the TUI in its own terminal.
fn open(board: &Board, args: &str, variables: &[(&str, &str)]) -> Pane {
    let state = crate::board::state_dir().display().to_string();
    let variables = [variables, &[("POLIS_STATE_DIR", state.as_str())]].concat();
    let pane = Pane::open(board.path(), SIZE, &variables);
    pane.line(&format!("{POLIS} tui {args}"));
    pane
}

/// Creates an editor that runs a shell script; the file is `$1`.
fn editor(board: &Board, script: &str) -> String {
    let path = board.file("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    mode.set_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.display().to_string()
}

/// Returns the remaining draft files.
fn drafts(pane: &Pane) -> Vec<String> {
    let files = std::fs::read_dir(pane.temporary()).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("polis-board-") || name.starts_with("polis-task-"))
        .collect()
}

fn global(board: &Board) -> (u64, String) {
    let read = board.ok("user", &["board", "read", "global"]);
    let text = read["content"].as_str().unwrap().to_owned();
    (read["version"].as_u64().unwrap(), text)
}

#[test]
#[ignore = "needs tmux"]
fn the_screen_is_opened_worked_with_resized_and_closed() {
    let board = board();
    let pane = open(&board, "", &[]);
    pane.wait("This minute");
    pane.press(&["2"]);
    pane.wait("pending (3)");
    pane.press(&["G", "c"]);
    pane.wait_for("the claim", |seen| {
        seen.contains("#1 is yours.") && seen.contains("in progress (1)")
    });
    assert_eq!(board.get("1")["owner"], "user");

    // A change by another process is shown without a key press.
    let begun = Instant::now();
    board.ok("user", &["task", "create", "--subject", "from elsewhere"]);
    let made = begun.elapsed();
    pane.wait("from elsewhere");
    let late = begun.elapsed().saturating_sub(made);
    // Without a notification, it would poll only after a minute.
    assert!(late < Duration::from_secs(30), "{late:?}");

    pane.resize(60, 15);
    pane.wait_for("a screen of 60x15", |seen| {
        let title = seen.lines().nth(1).unwrap_or_default();
        seen.lines().count() <= 15 && title.len() == 60 && seen.contains("from elsewhere")
    });
    pane.resize(30, 8);
    pane.wait("Too small");
    pane.resize(SIZE.0, SIZE.1);
    pane.wait("实现后端服务的登录接口");

    pane.press(&["?"]);
    pane.wait("half a page down");
    pane.press(&["Escape"]);
    pane.wait_for("no help", |seen| !seen.contains("half a page down"));
    pane.press(&["q"]);
    pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn the_screen_speaks_the_language_that_is_asked_for() {
    let board = board();
    let pane = open(&board, "--lang zh --tab tasks", &[]);
    let seen = pane.wait("待处理 (3)");
    assert!(seen.contains("任务") && seen.contains("帮助"), "{seen}");
    pane.press(&["q"]);
    pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn a_board_is_edited_and_a_clash_is_settled_by_the_person() {
    let board = board();
    board.ok(
        "user",
        &["board", "write", "global", "--content", "# Plan\n\none\n"],
    );
    // The first save succeeds; before the second one another process writes.
    let other = format!("{POLIS} board append global --content theirs >/dev/null");
    let script = format!(
        "printf 'edited %s\\n' \"$(cat times 2>/dev/null)\" >> \"$1\"\n\
         [ -f clash ] && rm clash && {other}\n\
         [ -f choose ] && sed -i '/^[<|=>]\\{{7\\}}/d' \"$1\"\n\
         printf x >> times"
    );
    let editor = editor(&board, &script);
    let pane = open(&board, "--tab boards", &[("EDITOR", &editor)]);
    pane.wait("global");
    pane.press(&["e"]);
    pane.wait("global was saved as version 2.");
    assert!(global(&board).1.ends_with("one\nedited \n"));

    std::fs::write(board.file("clash"), "").unwrap();
    pane.press(&["e"]);
    let seen = pane.wait("was changed by user meanwhile");
    assert!(
        seen.contains("-theirs") && seen.contains("+edited x"),
        "{seen}"
    );
    assert_eq!(drafts(&pane).len(), 1, "the person's text is in a file");
    // Again, with both texts; the editor adds a line to them, but leaves the conflict markers.
    pane.press(&["e"]);
    pane.wait("Marks of the conflict are still in the text");
    assert_eq!(global(&board).0, 3);
    assert_eq!(drafts(&pane).len(), 1);
    std::fs::write(board.file("choose"), "").unwrap();
    pane.press(&["e"]);
    pane.wait("global was saved as version 4.");
    let (_, text) = global(&board);
    for part in ["one", "edited \n", "theirs", "edited x", "edited xxx"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(drafts(&pane), Vec::<String>::new());

    std::fs::write(board.file("clash"), "").unwrap();
    pane.press(&["e"]);
    pane.wait("was changed by user meanwhile");
    pane.press(&["x", "y"]);
    pane.wait("Your text was dropped");
    let (version, text) = global(&board);
    assert_eq!(version, 5);
    assert!(!text.contains("edited xxxx"), "{text}");
    pane.press(&["q"]);
    pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn an_editor_that_fails_saves_nothing_and_loses_nothing() {
    let board = board();
    let editor = editor(&board, "echo mine >> \"$1\"; exit 3");
    let pane = open(&board, "--tab boards", &[("VISUAL", &editor)]);
    pane.wait("global");
    pane.press(&["e"]);
    pane.wait("Not saved");
    let found = drafts(&pane);
    assert_eq!(found.len(), 1);
    let text = std::fs::read_to_string(pane.temporary().join(&found[0])).unwrap();
    assert!(text.ends_with("mine\n"));
    assert_eq!(global(&board).0, 0);
    // Sent separately: together they would be another key, Alt-Q.
    pane.press(&["Escape"]);
    pane.wait_for("no box", |seen| !seen.contains("Not saved"));
    pane.press(&["q"]);
    pane.wait("Your text is kept in");
    pane.is_given_back();
    assert_eq!(drafts(&pane), found);
}

#[test]
#[ignore = "needs tmux"]
fn the_screen_is_suspended_and_comes_back() {
    let board = board();
    let pane = open(&board, "--tab tasks", &[]);
    pane.wait("pending (3)");
    pane.press(&["C-z"]);
    pane.is_given_back();
    board.ok("user", &["task", "create", "--subject", "made meanwhile"]);
    pane.line("fg");
    pane.wait("made meanwhile");
    pane.press(&["q"]);
    pane.is_given_back();
}

#[test]
#[ignore = "needs tmux"]
fn a_signal_that_ends_the_screen_gives_the_terminal_back() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let board = board();
        let pane = open(&board, "", &[]);
        pane.wait("This minute");
        let id = pane.child().unwrap().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-s", signal, &id])
            .status();
        assert!(kill.unwrap().success());
        pane.is_given_back();
    }
}

#[test]
#[ignore = "needs tmux"]
fn a_signal_while_an_editor_is_open_ends_both_and_keeps_the_text() {
    let board = board();
    let script =
        "stty raw -echo; echo mine >> \"$1\"; echo IT-IS-OPEN; while :; do sleep 0.05; done";
    let editor = editor(&board, script);
    let pane = open(&board, "--tab boards", &[("EDITOR", &editor)]);
    pane.wait("global");
    pane.press(&["e"]);
    pane.wait("IT-IS-OPEN");
    let id = pane.child().unwrap().to_string();
    let kill = std::process::Command::new("kill").arg(&id).status();
    assert!(kill.unwrap().success());
    pane.wait("Your text is kept in");
    pane.is_given_back();
    let found = drafts(&pane);
    assert_eq!(found.len(), 1);
    let text = std::fs::read_to_string(pane.temporary().join(&found[0])).unwrap();
    assert!(text.ends_with("mine\n"), "{text}");
    assert_eq!(global(&board).0, 0);
}

#[test]
#[ignore = "needs tmux"]
fn a_task_is_edited_in_an_editor() {
    let board = board();
    let editor = editor(&board, "printf '部署\\n\\nin two\\nlines\\n' > \"$1\"");
    let pane = open(&board, "--tab tasks", &[("EDITOR", &editor)]);
    pane.wait("pending (3)");
    pane.press(&["e"]);
    pane.wait("was saved as version 2.");
    let task = board.ok("user", &["task", "get", "3"]);
    assert_eq!(task["subject"], "部署");
    assert_eq!(task["description"], "in two\nlines");
    assert_eq!(drafts(&pane), Vec::<String>::new());
    pane.press(&["q"]);
    pane.is_given_back();
}

/// Returns the clock ticks that a process has used.
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let fields: Vec<&str> = after_name.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
#[ignore = "needs tmux"]
fn an_idle_screen_uses_no_processor() {
    let board = board();
    let pane = open(&board, "", &[]);
    pane.wait("Last events");
    let process = pane.child().unwrap();
    // Startup work is finished when no CPU time was used for a while.
    let mut before = ticks(process);
    eventually("the screen rests", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = ticks(process);
        std::mem::replace(&mut before, now) == now
    });
    // A TUI that is not idle uses too much in each interval; a busy machine only in some.
    let used = [(); 3].map(|()| {
        let before = ticks(process);
        std::thread::sleep(Duration::from_secs(2));
        ticks(process) - before
    });
    let least = used.iter().min().unwrap();
    assert!(*least <= 3, "{used:?} ticks in two seconds each");
}

#[test]
fn without_a_terminal_the_screen_is_refused_with_a_next_step() {
    let board = Board::embedded();
    let mut command = board.command();
    let answer = command.arg("tui").output().unwrap();
    assert_eq!(answer.status.code(), Some(2));
    let said = String::from_utf8(answer.stderr).unwrap();
    assert!(
        said.contains("needs a terminal") && said.contains("polis watch"),
        "{said}"
    );
    assert_eq!(answer.stdout, b"");
    board.refused("user", &["tui"], 2, "invalid_input");
    board.refused("user", &["tui", "--tab", "nothing"], 2, "invalid_input");
}

#[test]
fn the_store_is_looked_for_before_the_terminal() {
    let bare = Board::bare();
    let answer = bare.command().arg("tui").output().unwrap();
    assert_eq!(answer.status.code(), Some(4));
    assert!(!Path::new(&bare.workspace("polis.db")).exists());
}
