//! Tests of generated output: shell completions, man pages, JSON schemas and help; and of `polis doctor`.

use serde_json::Value;

use crate::harness::english_text::english_sentences;
use crate::harness::test_project::{TestProject, on_both_stores, polis_command};

#[test]
fn completions_exist_for_every_shell() {
    let project = TestProject::uninitialized();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = polis_command(project.path())
            .args(["completions", shell])
            .output()
            .unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            script.contains("polis") && script.contains("heartbeat"),
            "{shell}"
        );
        if shell == "bash" {
            let file = project.project_path("polis.bash");
            std::fs::write(&file, script).unwrap();
            let check = std::process::Command::new("bash")
                .arg("-n")
                .arg(&file)
                .status()
                .unwrap();
            assert!(check.success(), "bash rejects its completion script");
        }
    }
}

#[test]
fn man_pages_exist_for_every_command() {
    let project = TestProject::uninitialized();
    let pages = project.project_path("man/man1");
    project.run_text("user", &["man", pages.to_str().unwrap()]);
    for name in [
        "polis.1",
        "polis-task.1",
        "polis-task-claim.1",
        "polis-agent-add.1",
        "polis-init.1",
    ] {
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH NAME"), "{name}");
    }
}

#[test]
fn completions_are_in_the_language_of_the_reader() {
    let project = TestProject::uninitialized();
    let script = |lang: &str, shell: &str| {
        let arguments = ["--lang", lang, "completions", shell];
        let output = polis_command(project.path()).args(arguments).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    // The scripts of bash have no descriptions.
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let (english, chinese) = (script("en", shell), script("zh", shell));
        // A command, an argument, a value of an argument, and what clap adds.
        for (in_english, in_chinese) in [
            ("Claim a task", "认领任务"),
            ("Version you have read", "您读取的版本"),
            ("Print help", "显示帮助"),
            ("Print this message", "或某个子命令的帮助"),
        ] {
            let is_in = |script: &str, text: &str| script.contains(text);
            assert!(is_in(&english, in_english), "{shell}: {in_english}");
            assert!(!is_in(&english, in_chinese), "{shell}: {in_chinese}");
            assert!(is_in(&chinese, in_chinese), "{shell}: {in_chinese}");
            assert!(!is_in(&chinese, in_english), "{shell}: {in_english}");
        }
    }
    assert!(script("zh", "fish").contains("每行一个 JSON 文档"));
}

#[test]
fn man_pages_are_in_the_language_of_the_reader() {
    let project = TestProject::uninitialized();
    let pages = project.project_path("man/man1");
    let written = project.run_text("user", &["--lang", "zh", "man", pages.to_str().unwrap()]);
    assert!(written.contains("手册页"), "{written}");
    let mut count = 0;
    for entry in std::fs::read_dir(&pages).unwrap() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        // The names of sections are those by which programs find them.
        let body = page.lines().filter(|line| !line.starts_with(".SH "));
        let body = body.collect::<Vec<_>>().join("\n");
        assert_eq!(english_sentences(&body), Vec::<String>::new(), "{path:?}");
        count += 1;
    }
    assert!(count > 100, "{count}");
    let page = std::fs::read_to_string(pages.join("polis-task-claim.1")).unwrap();
    for text in ["认领任务", "显示帮助", "编号"] {
        assert!(page.contains(text), "{page}");
    }
    assert!(!pages.join("polis-help.1").exists());
}

#[test]
fn man_command_with_json_prints_a_document() {
    let project = TestProject::uninitialized();
    let pages = project.project_path("man1");
    assert!(
        project
            .run_ok("user", &["man", pages.to_str().unwrap()])
            .is_object()
    );
}

#[test]
fn schema_command_prints_json_schemas() {
    let project = TestProject::uninitialized();
    for (what, property) in [
        ("task", "requiredRole"),
        ("agent", "supervisor"),
        ("event", "seq"),
        ("task-create", "taskType"),
        ("task-list", "roleFilter"),
        ("task-update", "forceAssign"),
        ("task-claim", "leaseMs"),
    ] {
        let schema = project.run_ok("user", &["schema", what]);
        assert!(
            schema["$schema"]
                .as_str()
                .unwrap()
                .contains("json-schema.org")
        );
        assert_eq!(schema["type"], "object");
        assert!(
            schema["properties"].get(property).is_some(),
            "{what} lacks {property}"
        );
        let pretty: Value =
            serde_json::from_str(&project.run_text("user", &["schema", what])).unwrap();
        assert_eq!(pretty, schema);
    }
}

#[test]
fn help_and_version_need_no_project() {
    let project = TestProject::uninitialized();
    let version = project.run_text("user", &["--version"]);
    assert!(version.starts_with("polis "), "{version}");
    let help = project.run_text("user", &["--help"]);
    assert!(
        help.contains("Exit codes: 0 ok") && help.contains("task"),
        "{help}"
    );
    assert!(!help.contains("demo-worker"), "a hidden command is listed");
    for path in [
        &["task"][..],
        &["task", "claim"],
        &["agent", "add"],
        &["watch"],
    ] {
        assert!(
            project
                .run_text("user", &[path, &["--help"]].concat())
                .contains("Usage: polis")
        );
    }
}

fn doctor_reports_a_healthy_project_as_ok(project: &TestProject) {
    project.create_task(&[]);
    let report = project.run_ok("user", &["doctor"]);
    assert_eq!(report["ok"], true);
    assert!(report["version"].is_string());
    let checks = report["checks"].as_array().unwrap();
    for name in [
        "directory",
        "configuration",
        "permissions",
        "store",
        "content",
    ] {
        let check = checks.iter().find(|c| c["name"] == name).unwrap();
        assert_eq!(check["ok"], true, "{check}");
    }
    let shown = project.run_text("user", &["doctor"]);
    assert!(shown.contains("✓ store") && !shown.contains('✗'), "{shown}");
}

on_both_stores!(doctor_reports_a_healthy_project_as_ok);

/// `git add -A` in a project adds none of polis's data.
#[test]
fn init_writes_gitignore_and_doctor_repairs_it() {
    let project = TestProject::uninitialized();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let output = command.current_dir(project.path()).args(args).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    std::fs::write(project.project_path("README"), "hello").unwrap();
    project.run_ok("user", &["init"]);
    project.create_task(&[]);
    let untracked = || git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(untracked(), "?? README\n");
    // A project of an older version has no `.gitignore`.
    std::fs::remove_file(project.data_path(".gitignore")).unwrap();
    let warned = project.run_json("user", &["doctor"]);
    assert_eq!(warned.exit_code, Some(1), "{warned:?}");
    assert!(warned.stdout.contains("doctor --fix"), "{warned:?}");
    let fixed = project.run_ok("user", &["doctor", "--fix"]);
    assert_eq!(fixed["ok"], true, "{fixed}");
    assert_eq!(untracked(), "?? README\n");
    // Existing rules are kept and missing ones added: all data if there is no rule, else only the private
    // data.
    for (mine, tracked) in [
        ("", ""),
        ("# mine\n", ""),
        ("polis.db*", "whiteboards/top-layer.md"),
    ] {
        std::fs::write(project.data_path(".gitignore"), mine).unwrap();
        project.run_ok("user", &["init"]);
        let warned = project.run_json("user", &["doctor"]);
        assert_eq!(warned.exit_code, Some(1), "{mine:?}: {warned:?}");
        project.write_board("top", "text\n");
        project.run_ok("user", &["doctor", "--fix"]);
        project.run_ok("user", &["doctor"]);
        let kept = std::fs::read_to_string(project.data_path(".gitignore")).unwrap();
        assert!(kept.starts_with(mine), "{mine:?}: {kept:?}");
        let untracked = untracked();
        assert!(!untracked.contains("polis.lock"), "{mine:?}: {untracked}");
        assert!(!untracked.contains(".locks"), "{mine:?}: {untracked}");
        assert!(untracked.contains(tracked), "{mine:?}: {untracked}");
    }
}
