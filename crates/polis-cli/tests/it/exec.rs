//! Tests of `polis exec`: output and exit code of the command, or one document; refusals and the log.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::board::{Answer, Board, eventually, on_both_stores, read_line, start};
use crate::workspaces::{add, teams};

fn with_ada() -> Board {
    let board = Board::embedded();
    add(&board, "ada", "");
    board
}

fn exec(board: &Board, line: &str) -> Value {
    board.ok("ada", &["exec", "--", line])
}

/// Runs a command with ever longer timeouts until it had enough time to start on this machine. Returns the result and
/// the timeout in milliseconds. Output that is lost at a timeout is missing from the longest run too.
pub(crate) fn with_time_to_begin<T>(mut run: impl FnMut(&str) -> (bool, T)) -> (T, u64) {
    let mut millis = 200;
    loop {
        let (begun, outcome) = run(&millis.to_string());
        if begun || millis > 10_000 {
            return (outcome, millis);
        }
        millis *= 4;
    }
}

/// Runs in text mode.
fn seen(board: &Board, args: &[&str]) -> Answer {
    let mut command = board.command();
    command.args(["--as", "ada", "exec"]).args(args);
    Answer::of(command.output().unwrap())
}

fn answers_are_as_the_contract_says(board: &Board) {
    teams(board);
    board.ok("ada", &["ws", "write", "x", "--content", "hi\n"]);
    let done = board.ok(
        "cy",
        &["exec", "--", "cat x; echo 错 >&2; echo new > y; exit 7"],
    );
    let tier = done["sandbox"].as_str().unwrap();
    assert!(["T0", "T0u", "T1"].contains(&tier), "{tier}");
    assert!(done["durationMs"].is_u64());
    assert_eq!(
        done,
        json!({
            "stdout": "hi\n", "stderr": "错\n", "exitCode": 7, "durationMs": done["durationMs"],
            "sandbox": tier, "stdoutBytes": 3, "stderrBytes": 4,
        })
    );
    // Files and commands use the same directory.
    assert_eq!(board.ok("bob", &["ws", "cat", "y"])["content"], "new\n");
    board.refused("eve", &["ws", "cat", "y"], 4, "file_not_found");
    let killed = board.ok("ada", &["exec", "--", "kill -TERM $$"]);
    assert_eq!(
        (&killed["exitCode"], &killed["signal"]),
        (&json!(143), &json!("SIGTERM"))
    );
}

fn every_command_is_in_the_log(board: &Board) {
    teams(board);
    let before = board.log().len();
    board.ok("cy", &["exec", "--", "printf 12345; exit 3"]);
    board.refused(
        "cy",
        &["exec", "--timeout-ms", "50", "--", "sleep 60"],
        6,
        "command_timeout",
    );
    board.refused("cy", &["exec", "--", "sudo true"], 3, "command_blocked");
    board.refused(
        "cy",
        &["exec", "--timeout-ms", "0", "--", "true"],
        2,
        "invalid_timeout",
    );
    board.ok("user", &["exec", "--of", "cy", "--", "true"]);
    let mut log = board.log().split_off(before);
    // On a busy machine any command may take long enough that its start is logged.
    log.retain(|event| event["kind"] != "command.started");
    let kinds: Vec<_> = log
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "command.run",
            "command.run",
            "command.refused",
            "command.run"
        ]
    );
    let first = &log[0]["data"];
    assert_eq!(
        *first,
        json!({
            "id": first["id"], "command": "printf 12345; exit 3", "agent": "cy", "workspace": "ada",
            "startedAt": first["startedAt"], "durationMs": first["durationMs"], "exitCode": 3,
            "stdoutBytes": 5, "stderrBytes": 0, "sandbox": first["sandbox"],
        })
    );
    assert!(first["startedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(log[1]["data"]["timedOut"], true);
    assert_eq!(log[1]["data"].get("exitCode"), None);
    assert_eq!(log[2]["data"]["code"], "command_blocked");
    assert_eq!(
        (&log[3]["actor"], &log[3]["subject"]),
        (&json!("user"), &json!("workspace/ada"))
    );
}

#[test]
fn a_person_sees_the_commands_own_output_and_exit_code() {
    let board = with_ada();
    for (line, exit, stdout, stderr) in [
        ("echo out; echo err >&2", 0, "out\n", "err\n"),
        ("printf 'no end'; exit 41", 41, "no end", ""),
        ("kill -KILL $$", 137, "", ""),
        ("kill -SEGV $$", 139, "", ""),
        ("exit 255", 255, "", ""),
    ] {
        let answer = seen(&board, &["--", line]);
        assert_eq!(answer.exit, Some(exit), "{line}: {answer:?}");
        assert_eq!(
            (answer.stdout.as_str(), answer.stderr.as_str()),
            (stdout, stderr),
            "{line}"
        );
    }
    let (late, millis) = with_time_to_begin(|millis| {
        let line = ["--timeout-ms", millis, "--", "echo begun; sleep 600"];
        let late = seen(&board, &line);
        (!late.stdout.is_empty(), late)
    });
    assert_eq!((late.exit, late.stdout.as_str()), (Some(6), "begun\n"));
    let said = format!("Error: The command was ended after {millis} ms");
    assert!(late.stderr.starts_with(&said), "{late:?}");
}

#[test]
fn all_of_a_long_output_is_passed_on() {
    let board = with_ada();
    let mut command = board.command();
    command.args([
        "--as",
        "ada",
        "exec",
        "--",
        "seq 1 400000; head -c 300000 /dev/zero",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let mut expected: Vec<u8> = (1..=400_000)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect();
    expected.resize(expected.len() + 300_000, 0);
    assert!(
        output.stdout == expected,
        "{} bytes of {}",
        output.stdout.len(),
        expected.len()
    );
    let cut = exec(&board, "seq 1 400000");
    assert_eq!(
        (&cut["truncated"], &cut["stdoutBytes"]),
        (&json!(true), &json!(2_688_895))
    );
    let kept = cut["stdout"].as_str().unwrap();
    assert!(
        kept.starts_with("1\n2\n") && kept.ends_with("\n400000\n"),
        "both ends are kept"
    );
    assert!(cut["stdoutOmitted"].as_u64().unwrap() > 1_000_000 && cut["spool"].is_string());
}

#[test]
fn words_reach_the_program_unchanged() {
    let board = with_ada();
    let words = [
        "a b", "", "it's", "$HOME", "`id`", "*", "~", "\\", "\"", "a\nb", "-n", "长", "--json",
        ";", "#x",
    ];
    let mut args = vec!["exec", "--", "printf", "[%s]"];
    args.extend(words);
    let expected: String = words.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(board.ok("ada", &args)["stdout"], expected);
    assert_eq!(
        exec(&board, "printf '[%s]' a b | tr a-z A-Z")["stdout"],
        "[A][B]"
    );
}

#[test]
fn a_timeout_comes_with_what_was_written() {
    let board = with_ada();
    let (error, millis) = with_time_to_begin(|millis| {
        let begun = Instant::now();
        let line = "echo out; echo err >&2; sleep 600";
        let answer = board.run("ada", &["exec", "--timeout-ms", millis, "--", line]);
        let most = Duration::from_secs(20) + Duration::from_millis(millis.parse().unwrap());
        assert!(begun.elapsed() < most, "it did not end in time");
        answer.refusal(6, "command_timeout");
        let mut document: Value = serde_json::from_str(&answer.stderr).unwrap();
        let error = document["error"].take();
        (error["stderr"] != "", error)
    });
    assert_eq!(
        (&error["timedOut"], &error["timeoutMs"]),
        (&json!(true), &json!(millis))
    );
    assert_eq!(
        (&error["stdout"], &error["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
    assert!(error["durationMs"].as_u64().unwrap() >= millis);
}

#[test]
fn timeouts_that_make_no_sense_are_refused() {
    let board = with_ada();
    for bad in [
        "0", "-1", "-0", "0.4", "NaN", "inf", "-inf", "1e99", "3600001", "soon", "", "5s",
    ] {
        let args = ["exec", "--timeout-ms", bad, "--", "true"];
        board.refused("ada", &args, 2, "invalid_timeout");
    }
    for good in ["5000", "1500.5", "1e4", " 3600000 "] {
        board.ok("ada", &["exec", "--timeout-ms", good, "--", "true"]);
    }
}

#[test]
fn what_is_no_command_or_a_dangerous_one_is_refused() {
    let board = with_ada();
    for bad in ["", " ", "\n"] {
        board.refused("ada", &["exec", "--", bad], 2, "invalid_command");
    }
    board.refused("ada", &["exec", "--"], 2, "invalid_input");
    board.refused("ada", &["exec", "true"], 2, "invalid_input");
    let answer = board.run("ada", &["exec", "--", "rm", "-rf", "/"]);
    answer.refusal(3, "command_blocked");
    let document: Value = serde_json::from_str(&answer.stderr).unwrap();
    assert!(
        document["error"]["reason"]
            .as_str()
            .unwrap()
            .starts_with("危险命令被禁止")
    );
    // Only mentioned as an argument.
    board.ok("ada", &["exec", "--", "echo sudo 2> /dev/null"]);
}

#[test]
fn what_a_role_may_do_is_set() {
    let board = Board::embedded();
    add(&board, "ada", "");
    board.ok(
        "user",
        &[
            "agent",
            "add",
            "tess",
            "--role",
            "test-leader",
            "--supervisor",
            "ada",
            "--layer",
            "bottom",
        ],
    );
    let set = "[sandbox]\nenv = { ALL = \"1\" }\ntimeout = \"30s\"\n[sandbox.roles.test-leader]\n\
         env = { OWN = \"2\", PASSED = \"$POLIS_IT_PASSED\", UNSET = \"$POLIS_IT_UNSET\" }\ntimeout_ceiling = \"1s\"\n";
    std::fs::write(board.workspace("polis.toml"), set).unwrap();
    let show = "echo \"$ALL-$OWN-$PASSED-$UNSET-$POLIS_IT_SECRET\"";
    let says = |agent: &str| {
        let mut command = board.json_command(agent, &["exec", "--", show]);
        command
            .env("POLIS_IT_PASSED", "3")
            .env("POLIS_IT_SECRET", "4");
        let answer = Answer::of(command.output().unwrap());
        answer.document()["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(says("ada"), "1----\n");
    assert_eq!(says("tess"), "-2-3--\n");
    let long = ["exec", "--timeout-ms", "5000", "--", "true"];
    board.ok("ada", &long);
    board.refused("tess", &long, 2, "invalid_timeout");
}

#[test]
fn a_sandbox_weaker_than_is_required_is_refused() {
    let board = with_ada();
    let report = board.ok("user", &["doctor"]);
    let tier = report["sandbox"]["tier"].as_str().unwrap();
    assert!(report["sandbox"]["layers"].as_array().unwrap().len() > 2);
    assert!(board.shown("user", &["doctor"]).contains("landlock"));
    if tier == "T0" {
        // No stronger sandbox exists here.
        return;
    }
    std::fs::write(
        board.workspace("polis.toml"),
        "[sandbox]\nweakest = \"T0\"\n",
    )
    .unwrap();
    board.refused("ada", &["exec", "--", "true"], 3, "sandbox_unavailable");
    let last = board.log().pop().unwrap();
    assert_eq!(last["data"]["code"], "sandbox_unavailable");
    let doctor = board.run("user", &["doctor"]);
    assert_eq!(doctor.exit, Some(1));
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    let board = with_ada();
    let mut command = board.command();
    command.args(["--as", "ada", "exec", "--", "yes"]);
    let mut child = start(&mut command);
    assert_eq!(read_line(&mut child), "y");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(141), b"".as_slice())
    );
    let last = board.log().pop().unwrap();
    assert_eq!(
        (&last["kind"], &last["data"]["cancelled"]),
        (&json!("command.run"), &json!(true))
    );
}

#[test]
fn a_reader_that_stands_still_does_not_delay_the_timeout() {
    let board = with_ada();
    let mut command = board.command();
    command.args(["--as", "ada", "exec", "--timeout-ms", "700", "--", "yes"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    // The output is not read.
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it hangs");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(6));
}

/// Returns the number of processes of this machine with this word on their command line.
fn running(word: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        found += usize::from(line.starts_with("sleep ") && line.contains(word));
    }
    found
}

#[test]
fn the_command_dies_with_polis() {
    for (n, signal) in ["INT", "TERM", "KILL"].into_iter().enumerate() {
        let board = with_ada();
        let word = format!("7{n}{}.5", std::process::id());
        let line = format!("setsid sleep {word} & echo up; sleep {word}");
        let mut command = board.command();
        command.args(["--as", "ada", "exec", "--", &line]);
        let mut child = start(&mut command);
        assert_eq!(read_line(&mut child), "up");
        eventually("both sleeping", || running(&word) == 2);
        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        eventually("their end", || running(&word) == 0);
    }
}

on_both_stores!(
    answers_are_as_the_contract_says,
    every_command_is_in_the_log
);
