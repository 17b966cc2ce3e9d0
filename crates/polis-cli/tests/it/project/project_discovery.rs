//! Tests of project discovery: `polis init`, the search in parent directories, flags and environment
//! variables.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores, polis_command};

fn run_command(command: &mut std::process::Command) -> CommandOutput {
    CommandOutput::from_output(command.output().unwrap())
}

#[test]
fn init_reports_directory_and_language() {
    let project = TestProject::uninitialized();
    let made = project.run_ok("user", &["init"]);
    let here = project.path().canonicalize().unwrap();
    assert_eq!(made["dir"], here.to_str().unwrap());
    assert_eq!(made["language"], "en");
    for name in ["polis.db", "polis.toml"] {
        assert!(project.data_path(name).is_file(), "{name}");
    }
    let mode = project
        .data_path("")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o077,
        0,
        "the data directory is accessible to other users"
    );
}

fn init_repeated_keeps_the_project(project: &TestProject) {
    let id = project.create_task(&[]);
    let before = std::fs::read(project.data_path("polis.toml")).unwrap();
    let again = project.run_ok("user", &["init", "--lang", "zh"]);
    assert_eq!(again["language"], "en", "the configured language is kept");
    assert_eq!(
        std::fs::read(project.data_path("polis.toml")).unwrap(),
        before
    );
    assert_eq!(project.list_task_ids("user", &["task", "list"]), [id]);
}

fn init_by_concurrent_processes_creates_one_project(like: &TestProject) {
    let project = like.uninitialized_sibling();
    let children: Vec<_> = (0..8)
        .map(|_| {
            crate::harness::test_project::spawn_captured(
                &mut project.json_command("user", &["init"]),
            )
        })
        .collect();
    for child in children {
        crate::harness::test_project::wait_for_output(child).expect_document();
    }
    assert_eq!(project.create_task(&[]), "1");
}

#[test]
fn init_language_follows_flag_then_locale() {
    for (locale, flag, expected) in [
        (Some("zh_CN.UTF-8"), None, "zh"),
        (Some("de_DE.UTF-8"), None, "en"),
        (None, Some("zh"), "zh"),
        (Some("zh_CN.UTF-8"), Some("en"), "en"),
    ] {
        let project = TestProject::uninitialized();
        let mut command = project.command();
        command.args(["--json", "init"]);
        if let Some(locale) = locale {
            command.env("LANG", locale);
        }
        if let Some(flag) = flag {
            command.args(["--lang", flag]);
        }
        assert_eq!(
            run_command(&mut command).expect_document()["language"],
            expected
        );
    }
}

#[test]
fn project_is_found_in_a_parent_directory() {
    let project = TestProject::embedded();
    let below = project.project_path("src/deep/below");
    std::fs::create_dir_all(&below).unwrap();
    let made =
        run_command(polis_command(&below).args(["--json", "task", "create", "--subject", "x"]));
    assert_eq!(made.expect_document()["id"], "1");
    assert!(!below.join(".agent-workspace").exists());
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1"]);
}

#[test]
fn commands_without_a_project_suggest_init() {
    let project = TestProject::uninitialized();
    for args in [
        &["task", "list"][..],
        &["task", "create", "--subject", "x"],
        &["agent", "list"],
        &["log"],
        &["stats"],
        &["config", "show"],
    ] {
        let refused = project.run_refused("user", args, 4, "not_initialized");
        assert!(refused.hint.contains("polis init"), "{refused:?}");
    }
    let doctor = project.run_json("user", &["doctor"]);
    assert_eq!(doctor.exit_code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert!(std::fs::read_dir(project.path()).unwrap().next().is_none());
}

fn global_flags_are_accepted_before_and_after_the_command(project: &TestProject) {
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = project.path().to_str().unwrap();
    let store = project.store_flags();
    let run = |args: &[&str]| run_command(polis_command(elsewhere.path()).args(&store).args(args));
    let first = [
        "--dir",
        dir,
        "--as",
        "architect",
        "--json",
        "task",
        "create",
        "--subject",
        "a",
    ];
    let last = [
        "task",
        "create",
        "--subject",
        "a",
        "--dir",
        dir,
        "--as",
        "architect",
        "--json",
    ];
    let mixed = [
        "--json",
        "task",
        "--as",
        "architect",
        "create",
        "--subject=a",
        "--dir",
        dir,
    ];
    for args in [&first[..], &last, &mixed] {
        let task = run(args).expect_document();
        assert_eq!(task["version"], 1);
    }
    let log = project.read_log();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|event| event["actor"] == "architect"));
}

#[test]
fn environment_variables_apply_where_no_flag_is_set() {
    let project = TestProject::embedded();
    let other = TestProject::embedded();
    let elsewhere = tempfile::tempdir().unwrap();
    let create = ["--json", "task", "create", "--subject", "x"];
    let with = |name: &str, value: &std::path::Path| {
        let mut command = polis_command(elsewhere.path());
        command
            .env(name, value)
            .env("POLIS_AGENT", "architect")
            .args(create);
        command
    };
    assert_eq!(
        run_command(&mut with("POLIS_DIR", project.path())).expect_document()["id"],
        "1"
    );
    assert_eq!(
        run_command(&mut with("POLIS_STORE", project.path())).expect_document()["id"],
        "2"
    );
    let mut flagged = with("POLIS_DIR", project.path());
    flagged
        .arg("--dir")
        .arg(other.path())
        .args(["--as", "test-leader"]);
    assert_eq!(run_command(&mut flagged).expect_document()["id"], "1");
    assert_eq!(project.read_log().last().unwrap()["actor"], "architect");
    assert_eq!(other.read_log()[0]["actor"], "test-leader");
}

#[test]
fn dir_flag_accepts_the_data_directory() {
    let project = TestProject::embedded();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = polis_command(elsewhere.path());
    command
        .arg("--dir")
        .arg(project.data_path(""))
        .args(["--json", "task", "list"]);
    assert_eq!(
        run_command(&mut command).expect_document()["next"],
        serde_json::Value::Null
    );
}

#[test]
fn dir_flag_with_missing_directory_is_refused() {
    let project = TestProject::embedded();
    project.run_refused(
        "user",
        &["task", "list", "--dir", "nowhere"],
        4,
        "not_initialized",
    );
}

fn store_url_can_be_set_in_the_configuration(project: &TestProject) {
    let url = project.store_flags().pop().unwrap_or_default();
    std::fs::write(
        project.data_path("polis.toml"),
        format!("store = {url:?}\n"),
    )
    .unwrap();
    let mut command = polis_command(project.path());
    command.args(["--json", "task", "create", "--subject", "x"]);
    assert_eq!(run_command(&mut command).expect_document()["id"], "1");
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1"]);
}

#[test]
fn unreachable_store_is_reported_without_the_password() {
    let project = TestProject::embedded();
    std::fs::write(project.data_path("polis.toml"), "patience = \"100ms\"\n").unwrap();
    let url = "postgres://ada:s3cret@127.0.0.1:1/polis";
    for args in [&["task", "list"][..], &["task", "create", "--subject", "x"]] {
        let mut command = polis_command(project.path());
        command
            .args(["--json", "--verbose", "--store", url])
            .args(args);
        let said = run_command(&mut command);
        assert_eq!((said.exit_code, said.stdout.as_str()), (Some(1), ""));
        assert!(said.stderr.contains("store_unavailable"), "{said:?}");
        assert!(!said.stderr.contains("s3cret"), "{said:?}");
    }
    for bad in [
        "postgres://ada:s3cret@127.0.0.1:99999999/x",
        "postgres://h/x?s3cret=1",
    ] {
        let mut command = polis_command(project.path());
        command.args(["--json", "--store", bad, "task", "list"]);
        let said = run_command(&mut command);
        assert!(
            said.exit_code.is_some_and(|exit| exit == 1 || exit == 2),
            "{said:?}"
        );
        assert!(!said.stderr.contains("ada:s3cret"), "{said:?}");
    }
}

on_both_stores!(
    init_repeated_keeps_the_project,
    init_by_concurrent_processes_creates_one_project,
    global_flags_are_accepted_before_and_after_the_command,
    store_url_can_be_set_in_the_configuration,
);
