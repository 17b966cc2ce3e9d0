//! Tests of `polis exec`: output and exit code of a sandboxed command, timeouts, refusals, and log events.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::test_project::{
    CommandOutput, TestProject, on_both_stores, read_stdout_line, spawn_captured, wait_until,
};
use crate::workspace::workspace_access::{register_bottom_agent, register_two_teams};

fn project_with_ada() -> TestProject {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project
}

fn exec_as_ada(project: &TestProject, line: &str) -> Value {
    project.run_ok("ada", &["exec", "--", line])
}

/// Runs a command with ever longer timeouts until it had enough time to start on this machine. Returns the
/// result and the timeout in milliseconds. Output that is lost at a timeout is missing from the longest run
/// too.
pub(crate) fn retry_with_longer_timeouts<T>(mut run: impl FnMut(&str) -> (bool, T)) -> (T, u64) {
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
fn exec_in_text_mode(project: &TestProject, args: &[&str]) -> CommandOutput {
    let mut command = project.command();
    command.args(["--as", "ada", "exec"]).args(args);
    CommandOutput::from_output(command.output().unwrap())
}

fn exec_json_output_follows_the_contract(project: &TestProject) {
    register_two_teams(project);
    project.run_ok("ada", &["ws", "write", "x", "--content", "hi\n"]);
    let done = project.run_ok(
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
    assert_eq!(
        project.run_ok("bob", &["ws", "cat", "y"])["content"],
        "new\n"
    );
    project.run_refused("eve", &["ws", "cat", "y"], 4, "file_not_found");
    let killed = project.run_ok("ada", &["exec", "--", "kill -TERM $$"]);
    assert_eq!(
        (&killed["exitCode"], &killed["signal"]),
        (&json!(143), &json!("SIGTERM"))
    );
}

fn exec_logs_every_command(project: &TestProject) {
    register_two_teams(project);
    let before = project.read_log().len();
    project.run_ok("cy", &["exec", "--", "printf 12345; exit 3"]);
    project.run_refused(
        "cy",
        &["exec", "--timeout-ms", "50", "--", "sleep 60"],
        6,
        "command_timeout",
    );
    project.run_refused("cy", &["exec", "--", "sudo true"], 3, "command_blocked");
    project.run_refused(
        "cy",
        &["exec", "--timeout-ms", "0", "--", "true"],
        2,
        "invalid_timeout",
    );
    project.run_ok("user", &["exec", "--of", "cy", "--", "true"]);
    let mut log = project.read_log().split_off(before);
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
fn exec_in_text_mode_passes_output_and_exit_code() {
    let project = project_with_ada();
    for (line, exit, stdout, stderr) in [
        ("echo out; echo err >&2", 0, "out\n", "err\n"),
        ("printf 'no end'; exit 41", 41, "no end", ""),
        ("kill -KILL $$", 137, "", ""),
        ("kill -SEGV $$", 139, "", ""),
        ("exit 255", 255, "", ""),
    ] {
        let answer = exec_in_text_mode(&project, &["--", line]);
        assert_eq!(answer.exit_code, Some(exit), "{line}: {answer:?}");
        assert_eq!(
            (answer.stdout.as_str(), answer.stderr.as_str()),
            (stdout, stderr),
            "{line}"
        );
    }
    let (late, millis) = retry_with_longer_timeouts(|millis| {
        let line = ["--timeout-ms", millis, "--", "echo begun; sleep 600"];
        let late = exec_in_text_mode(&project, &line);
        (!late.stdout.is_empty(), late)
    });
    assert_eq!((late.exit_code, late.stdout.as_str()), (Some(6), "begun\n"));
    let said = format!("Error: The command timed out after {millis} ms");
    assert!(late.stderr.starts_with(&said), "{late:?}");
}

#[test]
fn exec_passes_long_output_completely() {
    let project = project_with_ada();
    let mut command = project.command();
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
    let cut = exec_as_ada(&project, "seq 1 400000");
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
fn exec_passes_arguments_unchanged() {
    let project = project_with_ada();
    let words = [
        "a b", "", "it's", "$HOME", "`id`", "*", "~", "\\", "\"", "a\nb", "-n", "长", "--json",
        ";", "#x",
    ];
    let mut args = vec!["exec", "--", "printf", "[%s]"];
    args.extend(words);
    let expected: String = words.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(project.run_ok("ada", &args)["stdout"], expected);
    assert_eq!(
        exec_as_ada(&project, "printf '[%s]' a b | tr a-z A-Z")["stdout"],
        "[A][B]"
    );
}

#[test]
fn exec_timeout_includes_output_so_far() {
    let project = project_with_ada();
    let (error, millis) = retry_with_longer_timeouts(|millis| {
        let begun = Instant::now();
        let line = "echo out; echo err >&2; sleep 600";
        let answer = project.run_json("ada", &["exec", "--timeout-ms", millis, "--", line]);
        let most = Duration::from_secs(20) + Duration::from_millis(millis.parse().unwrap());
        assert!(begun.elapsed() < most, "the command did not end in time");
        answer.expect_refusal(6, "command_timeout");
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
fn exec_with_invalid_timeout_is_refused() {
    let project = project_with_ada();
    for bad in [
        "0", "-1", "-0", "0.4", "NaN", "inf", "-inf", "1e99", "3600001", "soon", "", "5s",
    ] {
        let args = ["exec", "--timeout-ms", bad, "--", "true"];
        project.run_refused("ada", &args, 2, "invalid_timeout");
    }
    for good in ["5000", "1500.5", "1e4", " 3600000 "] {
        project.run_ok("ada", &["exec", "--timeout-ms", good, "--", "true"]);
    }
}

#[test]
fn exec_of_empty_or_blocked_command_is_refused() {
    let project = project_with_ada();
    for bad in ["", " ", "\n"] {
        project.run_refused("ada", &["exec", "--", bad], 2, "invalid_command");
    }
    project.run_refused("ada", &["exec", "--"], 2, "invalid_input");
    project.run_refused("ada", &["exec", "true"], 2, "invalid_input");
    let answer = project.run_json("ada", &["exec", "--", "rm", "-rf", "/"]);
    answer.expect_refusal(3, "command_blocked");
    let document: Value = serde_json::from_str(&answer.stderr).unwrap();
    assert!(
        document["error"]["reason"]
            .as_str()
            .unwrap()
            .starts_with("危险命令被禁止")
    );
    // Only mentioned as an argument.
    project.run_ok("ada", &["exec", "--", "echo sudo 2> /dev/null"]);
}

#[test]
fn sandbox_settings_can_be_set_per_role() {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project.run_ok(
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
    std::fs::write(project.data_path("polis.toml"), set).unwrap();
    let show = "echo \"$ALL-$OWN-$PASSED-$UNSET-$POLIS_IT_SECRET\"";
    let says = |agent: &str| {
        let mut command = project.json_command(agent, &["exec", "--", show]);
        command
            .env("POLIS_IT_PASSED", "3")
            .env("POLIS_IT_SECRET", "4");
        let answer = CommandOutput::from_output(command.output().unwrap());
        answer.expect_document()["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(says("ada"), "1----\n");
    assert_eq!(says("tess"), "-2-3--\n");
    let long = ["exec", "--timeout-ms", "5000", "--", "true"];
    project.run_ok("ada", &long);
    project.run_refused("tess", &long, 2, "invalid_timeout");
}

#[test]
fn exec_with_sandbox_below_required_tier_is_refused() {
    let project = project_with_ada();
    let report = project.run_ok("user", &["doctor"]);
    let tier = report["sandbox"]["tier"].as_str().unwrap();
    assert!(report["sandbox"]["layers"].as_array().unwrap().len() > 2);
    assert!(project.run_text("user", &["doctor"]).contains("landlock"));
    if tier == "T0" {
        // No stronger sandbox exists here.
        return;
    }
    std::fs::write(
        project.data_path("polis.toml"),
        "[sandbox]\nweakest = \"T0\"\n",
    )
    .unwrap();
    project.run_refused("ada", &["exec", "--", "true"], 3, "sandbox_unavailable");
    let last = project.read_log().pop().unwrap();
    assert_eq!(last["data"]["code"], "sandbox_unavailable");
    let doctor = project.run_json("user", &["doctor"]);
    assert_eq!(doctor.exit_code, Some(1));
}

#[test]
fn exec_with_closed_stdout_ends_the_command() {
    let project = project_with_ada();
    let mut command = project.command();
    command.args(["--as", "ada", "exec", "--", "yes"]);
    let mut child = spawn_captured(&mut command);
    assert_eq!(read_stdout_line(&mut child), "y");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(141), b"".as_slice())
    );
    let last = project.read_log().pop().unwrap();
    assert_eq!(
        (&last["kind"], &last["data"]["cancelled"]),
        (&json!("command.run"), &json!(true))
    );
}

#[test]
fn exec_timeout_is_not_delayed_by_a_stalled_reader() {
    let project = project_with_ada();
    let mut command = project.command();
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
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the command hangs"
        );
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(6));
}

/// Returns the number of processes of this machine with this word on their command line.
fn count_sleep_processes(word: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        found += usize::from(line.starts_with("sleep ") && line.contains(word));
    }
    found
}

#[test]
fn exec_command_is_killed_with_polis() {
    for (n, signal) in ["INT", "TERM", "KILL"].into_iter().enumerate() {
        let project = project_with_ada();
        let word = format!("7{n}{}.5", std::process::id());
        let line = format!("setsid sleep {word} & echo up; sleep {word}");
        let mut command = project.command();
        command.args(["--as", "ada", "exec", "--", &line]);
        let mut child = spawn_captured(&mut command);
        assert_eq!(read_stdout_line(&mut child), "up");
        wait_until("both sleep processes running", || {
            count_sleep_processes(&word) == 2
        });
        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        wait_until("the end of both sleep processes", || {
            count_sleep_processes(&word) == 0
        });
    }
}

on_both_stores!(
    exec_json_output_follows_the_contract,
    exec_logs_every_command
);
