//! Tests of `polis.toml` and `rbac.yaml`: display, validation, and errors with their line number.

use serde_json::json;

use crate::harness::test_project::TestProject;

fn expect_config_error(project: &TestProject, file: &str, text: &str, code: &str) -> String {
    std::fs::write(project.data_path(file), text).unwrap();
    let refused = project.run_refused("user", &["config", "check"], 2, code);
    let other = project.run_refused("user", &["task", "list"], 2, code);
    assert_eq!(refused, other, "every command reports the same error");
    let doctor = project.run_json("user", &["doctor"]);
    assert_eq!(doctor.exit_code, Some(1));
    assert!(doctor.stdout.contains("\"ok\":false"), "{doctor:?}");
    std::fs::remove_file(project.data_path(file)).unwrap();
    refused.message
}

#[test]
fn config_show_prints_defaults_and_set_values() {
    let project = TestProject::embedded();
    assert_eq!(
        project.run_ok("user", &["config", "show"]),
        json!({
            "language": "en", "store": "", "roles": [],
            "registered_only": false, "patience": "30s",
            "tasks": {"approval_required": [], "default_lease": ""},
            "whiteboards": {"max_versions": 10, "mid_reads_all_bottom": false, "project": ""},
            "decisions": {
                "signatures": 2, "milestone_signatures": 3, "appeal_signatures": 2, "signers": [],
            },
            "blackboard": {
                "lock_wait": "5s", "lock_tries": 3, "writers": {"product-manager": ["**"]},
            },
            "workspaces": {"quota": "", "max_read": "10MiB"},
            "sandbox": {
                "network": "off", "read": [], "write": [], "env": {}, "memory": "4GiB", "processes": 512,
                "file_size": "2GiB", "cpu": "1h", "open_files": 4096, "tmp": "512MiB", "output": "1MiB",
                "spool": "64MiB", "timeout": "1m", "timeout_ceiling": "1h", "weakest": "T1", "roles": {},
            },
            "serve": {
                "listen": "127.0.0.1:7707", "tls_cert": "", "tls_key": "", "hosts": [], "origins": [],
                "rate": 10_000, "burst": 20_000, "wrong_tokens": 60, "max_body": "12MiB",
                "max_connections": 4_096, "max_requests": 1_024, "header_timeout": "30s",
                "body_timeout": "30s", "write_timeout": "30s", "operation_timeout": "90s", "grace": "20s",
                "access_log": false, "slow": "1s",
            },
            "society": {
                "team": "dev-team", "language": "", "depth": 5, "agents": 50, "spawns_a_minute": 30, "approve": [],
                "budget": {"tokens": 0, "money": 0.0, "turns": 0, "commands": 0, "wall": ""},
                "lease": "10s", "concurrency": 32, "telemetry": "",
            },
            "models": {"default": ""},
        })
    );
    std::fs::write(
        project.data_path("polis.toml"),
        "patience = \"5s\"\n[tasks]\ndefault_lease = \"1h\"\n",
    )
    .unwrap();
    let shown = project.run_ok("user", &["config", "show"]);
    assert_eq!(shown["patience"], "5s");
    assert_eq!(shown["tasks"]["default_lease"], "1h");
    let text = project.run_text("user", &["config", "show"]);
    for key in [
        "language",
        "store",
        "roles",
        "patience",
        "tasks.approval_required",
        "tasks.default_lease",
    ] {
        assert!(text.contains(&format!("{key} = ")), "{text}");
    }
}

#[test]
fn config_show_hides_the_store_password() {
    let project = TestProject::embedded();
    let text = "store = \"postgres://ada:s3cret@db.example/polis\"\n";
    std::fs::write(project.data_path("polis.toml"), text).unwrap();
    let answer = project.run_json("user", &["config", "show"]);
    assert_eq!(
        answer.expect_document()["store"],
        "postgres://db.example/polis"
    );
    assert!(
        !project
            .run_text("user", &["config", "show"])
            .contains("s3cret")
    );
}

#[test]
fn config_written_by_init_is_valid() {
    let project = TestProject::embedded();
    let checked = project.run_ok("user", &["config", "check"]);
    assert_eq!(checked, json!({"ok": true, "rbac": false, "roles": 0}));
    std::fs::write(project.data_path("rbac.yaml"), "mode: strict\n").unwrap();
    assert_eq!(project.run_ok("user", &["config", "check"])["rbac"], true);
}

#[test]
fn polis_toml_errors_name_their_line() {
    let project = TestProject::embedded();
    let says = |text: &str| expect_config_error(&project, "polis.toml", text, "invalid_config");
    assert_eq!(
        says("# ok\nlangage = \"en\"\n"),
        "polis.toml, line 2: unknown key \"langage\"; did you mean \"language\"?"
    );
    for (text, line, word) in [
        ("language = \"fr\"", 1, "not one of en, zh"),
        ("\n\npatience = 5", 3, "expected a string"),
        ("[tasks]\ndefault_lease = \"soon\"", 2, "soon"),
        (
            "[tasks]\n\n\napproval_required = [\"deploy\"]",
            4,
            "deployment",
        ),
        ("roles = [\"a b\"]", 1, "a b"),
        ("language = \"en\"\na = = b", 2, ""),
        ("[taks]\ndefault_lease = \"1h\"", 1, "taks"),
        ("language = \"en\"\nlanguage = \"zh\"", 2, "duplicate"),
    ] {
        let message = says(text);
        assert!(
            message.starts_with(&format!("polis.toml, line {line}: ")),
            "{message}"
        );
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn rbac_yaml_errors_name_their_line() {
    let project = TestProject::embedded();
    let says = |text: &str| expect_config_error(&project, "rbac.yaml", text, "invalid_rbac");
    for (text, line, word) in [
        ("mode: lax\n", 1, "lax"),
        ("mode: strict\nrols: {}\n", 2, "roles"),
        (
            "roles:\n  backend-leder:\n    permissions: []\n",
            2,
            "backend-leader",
        ),
        (
            "roles:\n  architect:\n    permissions:\n      - fly\n",
            4,
            "fly",
        ),
        (
            "roles:\n  architect:\n    permissions:\n      - claim_task_type: [bugfix]\n",
            4,
            "bug_fix",
        ),
        (
            "roles:\n  architect:\n    permissions:\n      - claim_task_type\n",
            4,
            "list",
        ),
        ("roles:\n  architect:\n    permits: []\n", 3, "permissions"),
        ("task_type_roles:\n  cooking: [architect]\n", 2, "cooking"),
        ("roles: [\n", 2, ""),
        ("- a\n", 1, ""),
    ] {
        let message = says(text);
        assert!(
            message.starts_with(&format!("rbac.yaml, line {line}")),
            "{text:?}: {message}"
        );
        assert!(message.contains(word), "{text:?}: {message}");
    }
}

#[test]
fn config_files_that_are_not_text_are_refused() {
    let project = TestProject::embedded();
    for (file, code) in [
        ("polis.toml", "invalid_config"),
        ("rbac.yaml", "invalid_rbac"),
    ] {
        std::fs::write(project.data_path(file), b"\xff\xfe\x00").unwrap();
        let refused = project.run_refused("user", &["task", "list"], 2, code);
        assert!(refused.message.contains(file), "{refused:?}");
        std::fs::remove_file(project.data_path(file)).unwrap();
    }
    project.run_ok("user", &["task", "list"]);
}

#[test]
fn hostile_rbac_yaml_is_refused_quickly() {
    let project = TestProject::embedded();
    let deep = format!("roles: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    expect_config_error(&project, "rbac.yaml", &deep, "invalid_rbac");
    let mut laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let previous = if n == 1 {
            "a".to_owned()
        } else {
            format!("a{}", n - 1)
        };
        laughs.push_str(&format!(
            "a{n}: &a{n} [{}]\n",
            vec![format!("*{previous}"); 9].join(",")
        ));
    }
    expect_config_error(&project, "rbac.yaml", &laughs, "invalid_rbac");
}

#[test]
fn registered_only_refuses_unregistered_agents() {
    let project = TestProject::embedded();
    project.run_ok("user", &["agent", "add", "ada", "--role", "architect"]);
    let create = ["task", "create", "--subject", "x"];
    project.run_ok("architect", &create);
    std::fs::write(project.data_path("polis.toml"), "registered_only = true\n").unwrap();
    project
        .run_json("architect", &create)
        .expect_refusal(3, "permission_denied");
    project.run_ok("ada", &create);
    project.run_ok("user", &create);
    let give = |to| ["task", "update", "1", "--owner", to];
    project.run_refused("user", &give("architect-7"), 3, "permission_denied");
    project.run_ok("user", &give("ada"));
}
