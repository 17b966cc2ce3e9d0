//! Model recordings: the demo's recording, recording and replaying a run, and a recorded team that moves between
//! workers.

use std::path::Path;
use std::process::Command;

use polis_testkit::model_server::Reply;

use super::{documents, saying, to_user, with_model};
use crate::board::{Answer, Board, bare_command, eventually};
use crate::server::Server;

/// Runs the tests of the delivered program and the program itself. Returns the output of the tests.
fn test_of(program: &Path) -> String {
    let done = Command::new("sh")
        .arg(program.join("tests/run.sh"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let sum = Command::new("sh")
        .arg(program.join("calc.sh"))
        .arg("2 * (3 + 4)")
        .output()
        .unwrap();
    assert_eq!(sum.stdout, b"14\n");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_demo_builds_a_program_from_an_empty_directory() {
    let room = tempfile::tempdir().unwrap();
    let mut command = bare_command(room.path());
    let output = command.args(["demo", "--fast"]).output().unwrap();
    let answer = Answer::of(output);
    assert_eq!(answer.exit, Some(0), "{answer:?}");
    let text = &answer.stdout;
    assert!(text.contains("The model is a RECORDING"), "{text}");
    for who in ["architect", "lexer-dev", "parser-dev", "eval-dev"] {
        assert!(text.contains(who), "{who}: {text}");
    }
    assert!(text.contains("run_command sh tests/eval_test.sh"), "{text}");
    assert!(text.contains("to you (message"), "{text}");
    assert!(text.contains("\nall tests passed\n"), "{text}");
    // The output ends with the command that opens the web page, and the command works in the current directory.
    let open = text
        .lines()
        .find_map(|line| line.strip_prefix("Open its page:"));
    let open: Vec<&str> = open.unwrap().split_whitespace().collect();
    let mut page = Command::new(open[0]);
    page.env("POLIS_STATE_DIR", crate::board::state_dir());
    page.current_dir(room.path()).args(&open[1..]);
    page.args(["--no-browser", "--listen", "127.0.0.1:0", "--json"]);
    let page = Server::start_by(&mut page);
    assert!(page.sign_in.contains("/signin?key="), "{}", page.sign_in);
    assert!(page.end().0.success());
    let home = room.path().join("polis-demo");
    let said = test_of(&home.join("calculator"));
    assert!(said.ends_with("all tests passed\n"), "{said}");
    // The recorded programmer's first version fails its test, so the commands were really executed.
    let look = |args: &[&str]| {
        let output = bare_command(&home).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let log = look(&["society", "log", "eval-dev", "--from", "0", "--full"]);
    assert!(
        log.contains("1 failed") && log.contains("8 passed, 0 failed"),
        "{log}"
    );
    let tree = look(&["society", "tree", "--all"]);
    assert!(tree.contains("└─ architect"), "{tree}");
    assert_eq!(
        tree.matches(" gone: ").count(),
        3,
        "the programmers were dismissed: {tree}"
    );
    // A second demo creates a second directory.
    let again = bare_command(room.path())
        .args(["--json", "demo"])
        .output()
        .unwrap();
    let again = Answer::of(again);
    assert_eq!(again.exit, Some(0), "{again:?}");
    let documents = documents(&again);
    assert_eq!(documents[0]["recorded"], true);
    assert_eq!(documents.last().unwrap()["exitCode"], 0);
    test_of(&room.path().join("polis-demo-2/calculator"));
}

#[test]
fn a_requirement_of_ones_own_needs_a_model() {
    let room = tempfile::tempdir().unwrap();
    let mut command = bare_command(room.path());
    let output = command
        .args(["--json", "demo", "dev-team", "there", "A chess program"])
        .output();
    Answer::of(output.unwrap()).refusal(2, "model_not_configured");
    assert!(!room.path().join("there").exists());
}

#[test]
fn a_recorded_run_is_played_again_without_a_model() {
    let board = Board::embedded();
    let model = saying(|step| match step {
        0 => to_user("c1", "Done."),
        _ => Reply::text("I am done."),
    });
    let file = board.file("run.jsonl");
    let name = file.to_str().unwrap();
    let first = ["run", "--record", name, "Paint the door"];
    let first = Answer::of(with_model(&board, &model, &first).output().unwrap());
    assert_eq!(first.exit, Some(0), "{first:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let other = Board::embedded();
    let replayed = other.run(
        "user",
        &[
            "run",
            "--model",
            &format!("replay:{name}"),
            "Paint the door",
        ],
    );
    assert_eq!(replayed.exit, Some(0), "{replayed:?}");
    let said = |answer: &Answer| {
        let all = documents(answer).into_iter();
        all.filter(|d| d["kind"] == "message")
            .map(|d| d["text"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&replayed), said(&first));
    assert_eq!(said(&first), ["Done."]);
    assert_eq!(model.count(), 2);
}

/// The demo's team on PostgreSQL: one worker is killed midway, another takes over and finishes.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn a_team_moves_from_a_killed_worker_to_another() {
    let board = Board::postgres();
    std::fs::write(board.workspace("polis.toml"), "[society]\nlease = \"2s\"\n").unwrap();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/dev-team.jsonl");
    let model = format!("replay:{}", recording.display());
    let program = board.file("calculator");
    let serving = || {
        let args = ["serve", "--listen", "127.0.0.1:0", "--model", &model];
        Server::start_by(&mut board.json_command("user", &args))
    };
    let first = serving();
    let place = program.to_str().unwrap();
    board.ok(
        "user",
        &["run", "--detach", "--workspace", place, "A calculator"],
    );
    eventually("the first worker writes", || {
        program.join("docs/architecture.md").exists()
    });
    first.signal(rustix::process::Signal::KILL);
    let second = serving();
    eventually("the program is delivered", || {
        let mail = board.ok("user", &["message", "check", "--since", "0"]);
        mail.to_string().contains("Delivered: calc.sh")
    });
    assert!(test_of(&program).ends_with("all tests passed\n"));
    let (exit, log) = second.end();
    assert!(exit.success(), "{log}");
}
