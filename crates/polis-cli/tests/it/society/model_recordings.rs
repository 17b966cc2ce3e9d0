//! Tests of model recordings: the demo's recording, recording and replaying a run, and a recorded team that
//! moves between workers.

use std::path::Path;
use std::process::Command;

use polis_testkit::scripted_model::ScriptedReply;

use super::{command_with_model, message_user_reply, scripted_model_by_step, stdout_documents};
use crate::harness::english_text::english_sentences;
use crate::harness::test_project::{CommandOutput, TestProject, polis_command, wait_until};
use crate::harness::test_server::TestServer;

/// Runs the tests of the delivered program and the program itself. Returns the output of the tests.
fn test_delivered_program(program: &Path) -> String {
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
fn demo_builds_a_program_from_an_empty_directory() {
    let room = tempfile::tempdir().unwrap();
    let mut command = polis_command(room.path());
    let output = command.args(["demo", "--fast"]).output().unwrap();
    let answer = CommandOutput::from_output(output);
    assert_eq!(answer.exit_code, Some(0), "{answer:?}");
    let text = &answer.stdout;
    assert!(text.contains("The model is a RECORDING"), "{text}");
    for who in ["architect", "lexer-dev", "parser-dev", "eval-dev"] {
        assert!(text.contains(who), "{who}: {text}");
    }
    assert!(text.contains("run_command sh tests/eval_test.sh"), "{text}");
    assert!(text.contains("to you (message"), "{text}");
    assert!(text.contains("\nall tests passed\n"), "{text}");
    // The output ends with the command that opens the web page, and the command works in the current
    // directory.
    let open = text
        .lines()
        .find_map(|line| line.strip_prefix("Open the page:"));
    let open: Vec<&str> = open.unwrap().split_whitespace().collect();
    let mut page = Command::new(open[0]);
    page.env(
        "POLIS_STATE_DIR",
        crate::harness::test_project::test_state_dir(),
    );
    page.current_dir(room.path()).args(&open[1..]);
    page.args(["--no-browser", "--listen", "127.0.0.1:0", "--json"]);
    let page = TestServer::start_with_command(&mut page);
    assert!(
        page.sign_in_url.contains("/signin?key="),
        "{}",
        page.sign_in_url
    );
    assert!(page.stop().0.success());
    let home = room.path().join("polis-demo");
    let said = test_delivered_program(&home.join("calculator"));
    assert!(said.ends_with("all tests passed\n"), "{said}");
    // The recorded programmer's first version fails its test, so the commands were really executed.
    let look = |args: &[&str]| {
        let output = polis_command(&home).args(args).output().unwrap();
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
        tree.matches(" dismissed: ").count(),
        3,
        "the programmers were dismissed: {tree}"
    );
    // A second demo creates a second directory.
    let again = polis_command(room.path())
        .args(["--json", "demo"])
        .output()
        .unwrap();
    let again = CommandOutput::from_output(again);
    assert_eq!(again.exit_code, Some(0), "{again:?}");
    let documents = stdout_documents(&again);
    assert_eq!(documents[0]["recorded"], true);
    assert_eq!(documents.last().unwrap()["exitCode"], 0);
    test_delivered_program(&room.path().join("polis-demo-2/calculator"));
}

#[test]
fn demo_in_chinese_builds_a_chinese_program() {
    let room = tempfile::tempdir().unwrap();
    let chinese = |directory: &Path, args: &[&str]| {
        let mut command = polis_command(directory);
        command.env("LANG", "zh_CN.UTF-8").args(args);
        let answer = CommandOutput::from_output(command.output().unwrap());
        assert_eq!(answer.exit_code, Some(0), "{answer:?}");
        assert_eq!(english_sentences(&answer.stdout), [""; 0], "{answer:?}");
        assert_eq!(english_sentences(&answer.stderr), [""; 0], "{answer:?}");
        answer.stdout
    };
    let text = chinese(room.path(), &["demo", "--fast"]);
    for expected in [
        "模型是一段录制",
        "→ run_command sh tests/eval_test.sh",
        "发给您（消息",
        "\n已完成，用时",
        "\narchitect 说：已交付：calc.sh",
        "\n全部测试通过\n",
        "\n打开页面：",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let home = room.path().join("polis-demo");
    let config = std::fs::read_to_string(home.join(".agent-workspace/polis.toml")).unwrap();
    assert!(config.contains("\nlanguage = \"zh\"\n"), "{config}");
    let program = home.join("calculator");
    let said = test_delivered_program(&program);
    assert!(said.ends_with("全部测试通过\n"), "{said}");
    for file in ["README.md", "docs/architecture.md", "lib/lexer.sh"] {
        let text = std::fs::read_to_string(program.join(file)).unwrap();
        assert_eq!(english_sentences(&text), [""; 0], "{file}: {text}");
    }
    // The recorded programmer's first version fails its test, so the commands were really executed.
    let log = chinese(
        &home,
        &["society", "log", "eval-dev", "--from", "0", "--full"],
    );
    assert!(
        log.contains("1 项失败") && log.contains("8 项通过，0 项失败"),
        "{log}"
    );
    let tree = chinese(&home, &["society", "tree", "--all"]);
    assert!(tree.contains("architect (架构师)"), "{tree}");
    assert!(tree.contains("lexer-dev (词法分析程序员)"), "{tree}");
    assert_eq!(
        tree.matches("模块已交付。").count(),
        3,
        "the programmers were dismissed: {tree}"
    );
}

#[test]
fn demo_with_own_requirement_needs_a_model() {
    let room = tempfile::tempdir().unwrap();
    let mut command = polis_command(room.path());
    let output = command
        .args(["--json", "demo", "dev-team", "there", "A chess program"])
        .output();
    CommandOutput::from_output(output.unwrap()).expect_refusal(2, "model_not_configured");
    assert!(!room.path().join("there").exists());
}

#[test]
fn recorded_run_is_replayed_without_a_model() {
    let project = TestProject::embedded();
    let model = scripted_model_by_step(|step| match step {
        0 => message_user_reply("c1", "Done."),
        _ => ScriptedReply::text("I am done."),
    });
    let file = project.project_path("run.jsonl");
    let name = file.to_str().unwrap();
    let first = ["run", "--record", name, "Paint the door"];
    let first = CommandOutput::from_output(
        command_with_model(&project, &model, &first)
            .output()
            .unwrap(),
    );
    assert_eq!(first.exit_code, Some(0), "{first:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let other = TestProject::embedded();
    let replayed = other.run_json(
        "user",
        &[
            "run",
            "--model",
            &format!("replay:{name}"),
            "Paint the door",
        ],
    );
    assert_eq!(replayed.exit_code, Some(0), "{replayed:?}");
    let said = |answer: &CommandOutput| {
        let all = stdout_documents(answer).into_iter();
        all.filter(|d| d["kind"] == "message")
            .map(|d| d["text"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&replayed), said(&first));
    assert_eq!(said(&first), ["Done."]);
    assert_eq!(model.request_count(), 2);
}

/// The demo's team on PostgreSQL: one worker is killed midway, another takes over and finishes.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn team_of_a_killed_worker_is_taken_over_by_another() {
    let project = TestProject::postgres();
    std::fs::write(
        project.data_path("polis.toml"),
        "[society]\nlease = \"2s\"\n",
    )
    .unwrap();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/en/dev-team.jsonl");
    let model = format!("replay:{}", recording.display());
    let program = project.project_path("calculator");
    let serving = || {
        let args = ["serve", "--listen", "127.0.0.1:0", "--model", &model];
        TestServer::start_with_command(&mut project.json_command("user", &args))
    };
    let first = serving();
    let place = program.to_str().unwrap();
    project.run_ok(
        "user",
        &["run", "--detach", "--workspace", place, "A calculator"],
    );
    wait_until("the first worker writes", || {
        program.join("docs/architecture.md").exists()
    });
    first.send_signal(rustix::process::Signal::KILL);
    let second = serving();
    wait_until("the program is delivered", || {
        let mail = project.run_ok("user", &["message", "check", "--since", "0"]);
        mail.to_string().contains("Delivered: calc.sh")
    });
    assert!(test_delivered_program(&program).ends_with("all tests passed\n"));
    let (exit, log) = second.stop();
    assert!(exit.success(), "{log}");
}
