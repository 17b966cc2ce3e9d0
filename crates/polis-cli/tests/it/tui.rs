//! Tests of `polis tui` in a real terminal (tmux) with real keys, concurrently with other processes on the
//! same store.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use polis_testkit::TestTerminal;

use crate::harness::test_project::{POLIS_EXE, TestProject, wait_until};

const TERMINAL_SIZE: (u16, u16) = (80, 24);

/// Creates a project with three tasks and an agent.
fn project_with_tasks() -> TestProject {
    let project = TestProject::embedded();
    project.run_ok("user", &["agent", "add", "lead", "--role", "team-lead"]);
    for subject in ["实现后端服务的登录接口", "Write the tests", "Deploy"] {
        project.run_ok("user", &["task", "create", "--subject", subject]);
    }
    project
}

/// Starts the TUI in its own terminal.
fn open_tui(project: &TestProject, args: &str, variables: &[(&str, &str)]) -> TestTerminal {
    let state = crate::harness::test_project::test_state_dir()
        .display()
        .to_string();
    let variables = [variables, &[("POLIS_STATE_DIR", state.as_str())]].concat();
    let pane = TestTerminal::open(project.path(), TERMINAL_SIZE, &variables);
    pane.type_line(&format!("{POLIS_EXE} tui {args}"));
    pane
}

/// Creates an editor that runs a shell script; the file is `$1`.
fn create_editor_script(project: &TestProject, script: &str) -> String {
    let path = project.project_path("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    mode.set_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.display().to_string()
}

/// Returns the remaining draft files.
fn draft_files(pane: &TestTerminal) -> Vec<String> {
    let files = std::fs::read_dir(pane.temp_directory()).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("polis-board-") || name.starts_with("polis-task-"))
        .collect()
}

fn read_global_board(project: &TestProject) -> (u64, String) {
    let read = project.run_ok("user", &["board", "read", "global"]);
    let text = read["content"].as_str().unwrap().to_owned();
    (read["version"].as_u64().unwrap(), text)
}

#[test]
#[ignore = "needs tmux"]
fn tui_can_be_opened_used_resized_and_closed() {
    let project = project_with_tasks();
    let pane = open_tui(&project, "", &[]);
    pane.wait_for_text("Overview");
    pane.press_keys(&["2"]);
    pane.wait_for_text("Pending (3)");
    pane.press_keys(&["G", "c"]);
    pane.wait_until("the claim", |seen| {
        seen.contains("Claimed #1.") && seen.contains("In progress (1)")
    });
    assert_eq!(project.get_task("1")["owner"], "user");

    // A change by another process is shown without a key press.
    let begun = Instant::now();
    project.run_ok("user", &["task", "create", "--subject", "from elsewhere"]);
    let made = begun.elapsed();
    pane.wait_for_text("from elsewhere");
    let late = begun.elapsed().saturating_sub(made);
    // Without a notification, it would poll only after a minute.
    assert!(late < Duration::from_secs(30), "{late:?}");

    pane.resize(60, 15);
    pane.wait_until("a screen of 60x15", |seen| {
        let title = seen.lines().nth(1).unwrap_or_default();
        seen.lines().count() <= 15 && title.len() == 60 && seen.contains("from elsewhere")
    });
    pane.resize(30, 8);
    pane.wait_for_text("too small");
    pane.resize(TERMINAL_SIZE.0, TERMINAL_SIZE.1);
    pane.wait_for_text("实现后端服务的登录接口");

    pane.press_keys(&["?"]);
    pane.wait_for_text("half a page down");
    pane.press_keys(&["Escape"]);
    pane.wait_until("no help", |seen| !seen.contains("half a page down"));
    pane.press_keys(&["q"]);
    pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn tui_uses_the_requested_language() {
    let project = project_with_tasks();
    let pane = open_tui(&project, "--lang zh --tab tasks", &[]);
    let seen = pane.wait_for_text("待处理 (3)");
    assert!(seen.contains("任务") && seen.contains("帮助"), "{seen}");
    pane.press_keys(&["q"]);
    pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn board_edit_conflict_is_resolved_by_the_user() {
    let project = project_with_tasks();
    project.run_ok(
        "user",
        &["board", "write", "global", "--content", "# Plan\n\none\n"],
    );
    // The first save succeeds; before the second one another process writes.
    let other = format!("{POLIS_EXE} board append global --content theirs >/dev/null");
    let script = format!(
        "printf 'edited %s\\n' \"$(cat times 2>/dev/null)\" >> \"$1\"\n\
         [ -f clash ] && rm clash && {other}\n\
         [ -f choose ] && sed -i '/^[<|=>]\\{{7\\}}/d' \"$1\"\n\
         printf x >> times"
    );
    let editor = create_editor_script(&project, &script);
    let pane = open_tui(&project, "--tab boards", &[("EDITOR", &editor)]);
    pane.wait_for_text("global");
    pane.press_keys(&["e"]);
    pane.wait_for_text("Saved global as version 2.");
    assert!(read_global_board(&project).1.ends_with("one\nedited \n"));

    std::fs::write(project.project_path("clash"), "").unwrap();
    pane.press_keys(&["e"]);
    let seen = pane.wait_for_text("was changed by user");
    assert!(
        seen.contains("-theirs") && seen.contains("+edited x"),
        "{seen}"
    );
    assert_eq!(
        draft_files(&pane).len(),
        1,
        "the user's text is in a draft file"
    );
    // Again, with both texts; the editor adds a line to them, but leaves the conflict markers.
    pane.press_keys(&["e"]);
    pane.wait_for_text("The text still contains conflict markers");
    assert_eq!(read_global_board(&project).0, 3);
    assert_eq!(draft_files(&pane).len(), 1);
    std::fs::write(project.project_path("choose"), "").unwrap();
    pane.press_keys(&["e"]);
    pane.wait_for_text("Saved global as version 4.");
    let (_, text) = read_global_board(&project);
    for part in ["one", "edited \n", "theirs", "edited x", "edited xxx"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(draft_files(&pane), Vec::<String>::new());

    std::fs::write(project.project_path("clash"), "").unwrap();
    pane.press_keys(&["e"]);
    pane.wait_for_text("was changed by user");
    pane.press_keys(&["x", "y"]);
    pane.wait_for_text("Your draft was discarded");
    let (version, text) = read_global_board(&project);
    assert_eq!(version, 5);
    assert!(!text.contains("edited xxxx"), "{text}");
    pane.press_keys(&["q"]);
    pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn failing_editor_saves_nothing_and_keeps_the_draft() {
    let project = project_with_tasks();
    let editor = create_editor_script(&project, "echo mine >> \"$1\"; exit 3");
    let pane = open_tui(&project, "--tab boards", &[("VISUAL", &editor)]);
    pane.wait_for_text("global");
    pane.press_keys(&["e"]);
    pane.wait_for_text("Not saved");
    let found = draft_files(&pane);
    assert_eq!(found.len(), 1);
    let text = std::fs::read_to_string(pane.temp_directory().join(&found[0])).unwrap();
    assert!(text.ends_with("mine\n"));
    assert_eq!(read_global_board(&project).0, 0);
    // Sent separately: together they would be another key, Alt-Q.
    pane.press_keys(&["Escape"]);
    pane.wait_until("no box", |seen| !seen.contains("Not saved"));
    pane.press_keys(&["q"]);
    pane.wait_for_text("Your unsaved text is in");
    pane.assert_restored();
    assert_eq!(draft_files(&pane), found);
}

#[test]
#[ignore = "needs tmux"]
fn tui_resumes_after_being_suspended() {
    let project = project_with_tasks();
    let pane = open_tui(&project, "--tab tasks", &[]);
    pane.wait_for_text("Pending (3)");
    pane.press_keys(&["C-z"]);
    pane.assert_restored();
    project.run_ok("user", &["task", "create", "--subject", "made meanwhile"]);
    pane.type_line("fg");
    pane.wait_for_text("made meanwhile");
    pane.press_keys(&["q"]);
    pane.assert_restored();
}

#[test]
#[ignore = "needs tmux"]
fn tui_ended_by_a_signal_restores_the_terminal() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let project = project_with_tasks();
        let pane = open_tui(&project, "", &[]);
        pane.wait_for_text("Overview");
        let id = pane.child_pid().unwrap().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-s", signal, &id])
            .status();
        assert!(kill.unwrap().success());
        pane.assert_restored();
    }
}

#[test]
#[ignore = "needs tmux"]
fn tui_ended_while_editing_keeps_the_draft() {
    let project = project_with_tasks();
    let script =
        "stty raw -echo; echo mine >> \"$1\"; echo IT-IS-OPEN; while :; do sleep 0.05; done";
    let editor = create_editor_script(&project, script);
    let pane = open_tui(&project, "--tab boards", &[("EDITOR", &editor)]);
    pane.wait_for_text("global");
    pane.press_keys(&["e"]);
    pane.wait_for_text("IT-IS-OPEN");
    let id = pane.child_pid().unwrap().to_string();
    let kill = std::process::Command::new("kill").arg(&id).status();
    assert!(kill.unwrap().success());
    pane.wait_for_text("Your unsaved text is in");
    pane.assert_restored();
    let found = draft_files(&pane);
    assert_eq!(found.len(), 1);
    let text = std::fs::read_to_string(pane.temp_directory().join(&found[0])).unwrap();
    assert!(text.ends_with("mine\n"), "{text}");
    assert_eq!(read_global_board(&project).0, 0);
}

#[test]
#[ignore = "needs tmux"]
fn task_can_be_edited_in_an_editor() {
    let project = project_with_tasks();
    let editor = create_editor_script(&project, "printf '部署\\n\\nin two\\nlines\\n' > \"$1\"");
    let pane = open_tui(&project, "--tab tasks", &[("EDITOR", &editor)]);
    pane.wait_for_text("Pending (3)");
    pane.press_keys(&["e"]);
    pane.wait_for_text("Saved #3 as version 2.");
    let task = project.run_ok("user", &["task", "get", "3"]);
    assert_eq!(task["subject"], "部署");
    assert_eq!(task["description"], "in two\nlines");
    assert_eq!(draft_files(&pane), Vec::<String>::new());
    pane.press_keys(&["q"]);
    pane.assert_restored();
}

/// Returns the clock ticks that a process has used.
fn cpu_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let fields: Vec<&str> = after_name.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
#[ignore = "needs tmux"]
fn idle_tui_uses_no_cpu() {
    let project = project_with_tasks();
    let pane = open_tui(&project, "", &[]);
    pane.wait_for_text("Latest events");
    let process = pane.child_pid().unwrap();
    // Startup work is finished when no CPU time was used for a while.
    let mut before = cpu_ticks(process);
    wait_until("the TUI becoming idle", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = cpu_ticks(process);
        std::mem::replace(&mut before, now) == now
    });
    // A TUI that is not idle uses too much in each interval; a busy machine only in some.
    let used = [(); 3].map(|()| {
        let before = cpu_ticks(process);
        std::thread::sleep(Duration::from_secs(2));
        cpu_ticks(process) - before
    });
    let least = used.iter().min().unwrap();
    assert!(*least <= 3, "{used:?} ticks in two seconds each");
}

#[test]
fn tui_without_a_terminal_is_refused_with_a_hint() {
    let project = TestProject::embedded();
    let mut command = project.command();
    let answer = command.arg("tui").output().unwrap();
    assert_eq!(answer.status.code(), Some(2));
    let said = String::from_utf8(answer.stderr).unwrap();
    assert!(
        said.contains("needs a terminal") && said.contains("polis watch"),
        "{said}"
    );
    assert_eq!(answer.stdout, b"");
    project.run_refused("user", &["tui"], 2, "invalid_input");
    project.run_refused("user", &["tui", "--tab", "nothing"], 2, "invalid_input");
}

#[test]
fn tui_checks_for_a_project_before_the_terminal() {
    let bare = TestProject::uninitialized();
    let answer = bare.command().arg("tui").output().unwrap();
    assert_eq!(answer.status.code(), Some(4));
    assert!(!Path::new(&bare.data_path("polis.db")).exists());
}
