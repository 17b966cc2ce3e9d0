//! Tests of messages, artifacts, access tokens and webhooks on the command line, and of event visibility.

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores};

fn register_two_agents(project: &TestProject) {
    for id in ["ann", "bob"] {
        project.run_ok("user", &["agent", "add", id, "--role", "backend-leader"]);
    }
}

fn messages_can_be_sent_and_checked(project: &TestProject) {
    register_two_agents(project);
    assert_eq!(
        project.run_text("bob", &["message", "check"]),
        "No new messages for bob.\n"
    );
    let sent = project.run_ok(
        "ann",
        &["message", "send", "bob", "user", "--content", "你好\n两行"],
    );
    assert_eq!(
        sent,
        json!({ "messages": [{ "id": 1, "to": "bob" }, { "id": 2, "to": "user" }] })
    );
    let shown = project.run_text("bob", &["message", "check"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("1 from ann at 20"), "{shown}");
    assert_eq!(lines[1..], ["你好", "两行"]);
    let object = [
        "message",
        "send",
        "ann",
        "--as-json",
        "--content",
        r#"{"n":1}"#,
        "--reply-to",
        "1",
    ];
    project.run_ok("bob", &object);
    let mail = project.run_ok("ann", &["message", "check"]);
    assert_eq!(mail["messages"][0]["payload"], json!({ "n": 1 }));
    assert_eq!(mail["messages"][0]["replyTo"], 1);
    assert_eq!(mail["more"], false);
    assert_eq!(
        project.run_ok("ann", &["message", "check"])["messages"],
        json!([])
    );
    let again = project.run_ok("ann", &["message", "check", "--since", "0"]);
    assert_eq!(again["messages"][0]["id"], 3);
    for (args, exit, code) in [
        (
            &["message", "send", "nobody", "--content", "x"][..],
            4,
            "recipient_not_found",
        ),
        (
            &["message", "send", "bob", "--content", " "],
            2,
            "invalid_message",
        ),
        (
            &["message", "send", "bob", "--as-json", "--content", "{"],
            2,
            "invalid_input",
        ),
        (
            &[
                "message",
                "send",
                "bob",
                "--content",
                "x",
                "--reply-to",
                "99",
            ],
            4,
            "message_not_found",
        ),
    ] {
        project.run_refused("ann", args, exit, code);
    }
}

fn artifacts_can_be_stored_and_read(project: &TestProject) {
    register_two_agents(project);
    let put = [
        "artifact",
        "put",
        "--type",
        "spec",
        "--content",
        "模块一",
        "--meta",
        r#"{"v":1}"#,
    ];
    let kept = project.run_ok("ann", &put);
    let reference = kept["ref"].as_str().unwrap();
    assert_eq!(
        reference,
        format!("artifact:{}", kept["id"].as_str().unwrap())
    );
    assert_eq!(project.run_ok("bob", &put)["existed"], true);
    assert_eq!(
        project.run_text("bob", &["artifact", "get", reference]),
        "模块一\n"
    );
    let whole = project.run_ok("bob", &["artifact", "get", reference]);
    assert_eq!(
        (
            &whole["type"],
            &whole["content"],
            &whole["meta"],
            &whole["createdBy"]
        ),
        (
            &json!("spec"),
            &json!("模块一"),
            &json!({ "v": 1 }),
            &json!("ann")
        )
    );
    project.run_refused(
        "bob",
        &["artifact", "get", "artifact:../../polis.db"],
        4,
        "artifact_not_found",
    );
    let meta = [
        "artifact",
        "put",
        "--type",
        "x",
        "--content",
        "y",
        "--meta",
        "[]",
    ];
    project.run_refused("ann", &meta, 2, "invalid_artifact");
}

fn token_secret_is_shown_only_when_issued(project: &TestProject) {
    register_two_agents(project);
    let issued = project.run_ok(
        "user",
        &[
            "agent",
            "token",
            "issue",
            "ann",
            "--scope",
            "tasks,boards:read",
            "--expires",
            "30d",
        ],
    );
    let text = issued["token"].as_str().unwrap();
    let id = issued["id"].as_str().unwrap();
    assert!(text.starts_with(&format!("polis_{id}_")), "{text}");
    assert_eq!(issued["scopes"], json!(["tasks", "boards:read"]));
    let secret = text.rsplit('_').next().unwrap();
    let everything = [
        project
            .run_ok("user", &["agent", "token", "list"])
            .to_string(),
        project.run_text("user", &["agent", "token", "list"]),
        Value::from(project.read_log()).to_string(),
    ];
    for shown in &everything {
        assert!(shown.contains(id) && !shown.contains(secret), "{shown}");
    }
    assert_eq!(
        project.run_ok("user", &["agent", "token", "list", "bob"])["tokens"],
        json!([])
    );
    let revoked = project.run_ok("user", &["agent", "token", "revoke", id]);
    assert_eq!(revoked["tokens"][0]["status"], "revoked");
    project.run_ok("user", &["agent", "token", "issue", "bob"]);
    let revoked = project.run_ok("user", &["agent", "token", "revoke", "bob"]);
    assert_eq!(
        revoked["tokens"].as_array().unwrap().len(),
        1,
        "all tokens of an agent are revoked"
    );
    for (who, args, exit, code) in [
        (
            "ann",
            &["agent", "token", "issue", "ann"][..],
            3,
            "permission_denied",
        ),
        ("ann", &["agent", "token", "list"], 3, "permission_denied"),
        (
            "ann",
            &["agent", "token", "revoke", id],
            3,
            "permission_denied",
        ),
        (
            "user",
            &["agent", "token", "issue", "nobody"],
            4,
            "agent_not_found",
        ),
        (
            "user",
            &["agent", "token", "issue", "ann", "--scope", "everything"],
            2,
            "invalid_scope",
        ),
        (
            "user",
            &["agent", "token", "issue", "ann", "--expires", "0s"],
            2,
            "invalid_input",
        ),
        (
            "user",
            &["agent", "token", "revoke", "ffffffffffff"],
            4,
            "token_not_found",
        ),
    ] {
        project.run_refused(who, args, exit, code);
    }
}

fn webhooks_are_managed_only_by_the_user(project: &TestProject) {
    register_two_agents(project);
    let added = project.run_ok(
        "user",
        &[
            "webhook",
            "add",
            "https://example.org/x",
            "--kind",
            "task.,board.written",
        ],
    );
    let secret = added["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{secret}");
    let listed = project.run_ok("user", &["webhook", "list"]);
    assert_eq!(
        listed["webhooks"][0]["kinds"],
        json!(["task.", "board.written"])
    );
    assert!(!listed.to_string().contains(secret));
    assert!(
        !Value::from(project.read_log())
            .to_string()
            .contains("example.org")
    );
    for (who, args, exit, code) in [
        ("ann", &["webhook", "list"][..], 3, "permission_denied"),
        (
            "ann",
            &["webhook", "add", "https://example.org"],
            3,
            "permission_denied",
        ),
        (
            "user",
            &["webhook", "add", "file:///etc/passwd"],
            2,
            "invalid_webhook",
        ),
        (
            "user",
            &["webhook", "add", "https://"],
            2,
            "invalid_webhook",
        ),
        (
            "user",
            &["webhook", "add", "https://x", "--kind", "Task"],
            2,
            "invalid_webhook",
        ),
        (
            "user",
            &["webhook", "remove", "nope"],
            4,
            "webhook_not_found",
        ),
    ] {
        project.run_refused(who, args, exit, code);
    }
    let id = added["id"].as_str().unwrap();
    assert_eq!(
        project.run_ok("user", &["webhook", "remove", id]),
        json!({ "removed": true })
    );
    assert!(
        project
            .run_text("user", &["webhook", "list"])
            .starts_with("No webhooks yet.")
    );
}

fn log_shows_only_events_visible_to_the_reader(project: &TestProject) {
    register_two_agents(project);
    project.run_ok(
        "user",
        &[
            "agent",
            "add",
            "low",
            "--role",
            "test-leader",
            "--layer",
            "bottom",
        ],
    );
    project.run_ok(
        "user",
        &["board", "write", "mid/backend-leader", "--content", "# x"],
    );
    project.run_ok("user", &["message", "send", "bob", "--content", "x"]);
    project.create_task(&[]);
    let kinds = |who: &str| -> Vec<String> {
        let out = project.run_json(who, &["log"]).stdout;
        let lines = out
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap());
        lines
            .map(|e| e["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    for (who, board_shown, message_shown) in [
        ("user", true, true),
        ("bob", true, true),
        ("low", false, false),
    ] {
        let seen = kinds(who);
        assert_eq!(
            seen.contains(&"board.written".to_owned()),
            board_shown,
            "{who}: {seen:?}"
        );
        assert_eq!(
            seen.contains(&"message.sent".to_owned()),
            message_shown,
            "{who}: {seen:?}"
        );
        assert!(seen.contains(&"task.created".to_owned()), "{who}");
    }
}

on_both_stores!(
    messages_can_be_sent_and_checked,
    artifacts_can_be_stored_and_read,
    token_secret_is_shown_only_when_issued,
    webhooks_are_managed_only_by_the_user,
    log_shows_only_events_visible_to_the_reader,
);
