//! Tests of `polis.toml` and `rbac.yaml`: display, validation, and errors with their line.

use serde_json::json;

use crate::board::Board;

fn fault(board: &Board, file: &str, text: &str, code: &str) -> String {
    std::fs::write(board.workspace(file), text).unwrap();
    let refused = board.refused("user", &["config", "check"], 2, code);
    let other = board.refused("user", &["task", "list"], 2, code);
    assert_eq!(refused, other, "every command says the same");
    let doctor = board.run("user", &["doctor"]);
    assert_eq!(doctor.exit, Some(1));
    assert!(doctor.stdout.contains("\"ok\":false"), "{doctor:?}");
    std::fs::remove_file(board.workspace(file)).unwrap();
    refused.message
}

#[test]
fn the_configuration_is_shown_with_its_defaults() {
    let board = Board::embedded();
    assert_eq!(
        board.ok("user", &["config", "show"]),
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
        board.workspace("polis.toml"),
        "patience = \"5s\"\n[tasks]\ndefault_lease = \"1h\"\n",
    )
    .unwrap();
    let shown = board.ok("user", &["config", "show"]);
    assert_eq!(shown["patience"], "5s");
    assert_eq!(shown["tasks"]["default_lease"], "1h");
    let text = board.shown("user", &["config", "show"]);
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
fn a_password_is_not_shown() {
    let board = Board::embedded();
    let text = "store = \"postgres://ada:s3cret@db.example/polis\"\n";
    std::fs::write(board.workspace("polis.toml"), text).unwrap();
    let answer = board.run("user", &["config", "show"]);
    assert_eq!(answer.document()["store"], "postgres://db.example/polis");
    assert!(!board.shown("user", &["config", "show"]).contains("s3cret"));
}

#[test]
fn the_file_that_init_writes_is_sound() {
    let board = Board::embedded();
    let checked = board.ok("user", &["config", "check"]);
    assert_eq!(checked, json!({"ok": true, "rbac": false, "roles": 0}));
    std::fs::write(board.workspace("rbac.yaml"), "mode: strict\n").unwrap();
    assert_eq!(board.ok("user", &["config", "check"])["rbac"], true);
}

#[test]
fn faults_of_polis_toml_name_their_line() {
    let board = Board::embedded();
    let says = |text: &str| fault(&board, "polis.toml", text, "invalid_config");
    assert_eq!(
        says("# ok\nlangage = \"en\"\n"),
        "polis.toml, line 2: unknown key \"langage\"; did you mean \"language\"?"
    );
    for (text, line, word) in [
        ("language = \"fr\"", 1, "not one of en, zh"),
        ("\n\npatience = 5", 3, "expected a text"),
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
fn faults_of_rbac_yaml_name_their_line() {
    let board = Board::embedded();
    let says = |text: &str| fault(&board, "rbac.yaml", text, "invalid_rbac");
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
fn files_that_are_no_text_are_refused() {
    let board = Board::embedded();
    for (file, code) in [
        ("polis.toml", "invalid_config"),
        ("rbac.yaml", "invalid_rbac"),
    ] {
        std::fs::write(board.workspace(file), b"\xff\xfe\x00").unwrap();
        let refused = board.refused("user", &["task", "list"], 2, code);
        assert!(refused.message.contains(file), "{refused:?}");
        std::fs::remove_file(board.workspace(file)).unwrap();
    }
    board.ok("user", &["task", "list"]);
}

#[test]
fn hostile_yaml_ends_quickly() {
    let board = Board::embedded();
    let deep = format!("roles: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    fault(&board, "rbac.yaml", &deep, "invalid_rbac");
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
    fault(&board, "rbac.yaml", &laughs, "invalid_rbac");
}

#[test]
fn names_that_are_not_registered_can_be_refused() {
    let board = Board::embedded();
    board.ok("user", &["agent", "add", "ada", "--role", "architect"]);
    let create = ["task", "create", "--subject", "x"];
    board.ok("architect", &create);
    std::fs::write(board.workspace("polis.toml"), "registered_only = true\n").unwrap();
    board
        .run("architect", &create)
        .refusal(3, "permission_denied");
    board.ok("ada", &create);
    board.ok("user", &create);
    let give = |to| ["task", "update", "1", "--owner", to];
    board.refused("user", &give("architect-7"), 3, "permission_denied");
    board.ok("user", &give("ada"));
}
