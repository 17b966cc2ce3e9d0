//! Tests of messages, artifacts, tokens and webhooks on the command line.

use serde_json::{Value, json};

use crate::board::{Board, on_both_stores};

fn team(board: &Board) {
    for id in ["ann", "bob"] {
        board.ok("user", &["agent", "add", id, "--role", "backend-leader"]);
    }
}

fn messages_are_sent_and_checked(board: &Board) {
    team(board);
    assert_eq!(
        board.shown("bob", &["message", "check"]),
        "No new messages for bob.\n"
    );
    let sent = board.ok(
        "ann",
        &["message", "send", "bob", "user", "--content", "你好\n两行"],
    );
    assert_eq!(
        sent,
        json!({ "messages": [{ "id": 1, "to": "bob" }, { "id": 2, "to": "user" }] })
    );
    let shown = board.shown("bob", &["message", "check"]);
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
    board.ok("bob", &object);
    let mail = board.ok("ann", &["message", "check"]);
    assert_eq!(mail["messages"][0]["payload"], json!({ "n": 1 }));
    assert_eq!(mail["messages"][0]["replyTo"], 1);
    assert_eq!(mail["more"], false);
    assert_eq!(
        board.ok("ann", &["message", "check"])["messages"],
        json!([])
    );
    let again = board.ok("ann", &["message", "check", "--since", "0"]);
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
        board.refused("ann", args, exit, code);
    }
}

fn artifacts_are_put_and_got(board: &Board) {
    team(board);
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
    let kept = board.ok("ann", &put);
    let reference = kept["ref"].as_str().unwrap();
    assert_eq!(
        reference,
        format!("artifact:{}", kept["id"].as_str().unwrap())
    );
    assert_eq!(board.ok("bob", &put)["existed"], true);
    assert_eq!(
        board.shown("bob", &["artifact", "get", reference]),
        "模块一\n"
    );
    let whole = board.ok("bob", &["artifact", "get", reference]);
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
    board.refused(
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
    board.refused("ann", &meta, 2, "invalid_artifact");
}

fn tokens_are_shown_once(board: &Board) {
    team(board);
    let issued = board.ok(
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
        board.ok("user", &["agent", "token", "list"]).to_string(),
        board.shown("user", &["agent", "token", "list"]),
        Value::from(board.log()).to_string(),
    ];
    for shown in &everything {
        assert!(shown.contains(id) && !shown.contains(secret), "{shown}");
    }
    assert_eq!(
        board.ok("user", &["agent", "token", "list", "bob"])["tokens"],
        json!([])
    );
    let revoked = board.ok("user", &["agent", "token", "revoke", id]);
    assert_eq!(revoked["tokens"][0]["status"], "revoked");
    board.ok("user", &["agent", "token", "issue", "bob"]);
    let revoked = board.ok("user", &["agent", "token", "revoke", "bob"]);
    assert_eq!(
        revoked["tokens"].as_array().unwrap().len(),
        1,
        "all of an agent's"
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
        board.refused(who, args, exit, code);
    }
}

fn webhooks_are_the_persons(board: &Board) {
    team(board);
    let added = board.ok(
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
    let listed = board.ok("user", &["webhook", "list"]);
    assert_eq!(
        listed["webhooks"][0]["kinds"],
        json!(["task.", "board.written"])
    );
    assert!(!listed.to_string().contains(secret));
    assert!(!Value::from(board.log()).to_string().contains("example.org"));
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
        board.refused(who, args, exit, code);
    }
    let id = added["id"].as_str().unwrap();
    assert_eq!(
        board.ok("user", &["webhook", "remove", id]),
        json!({ "removed": true })
    );
    assert!(
        board
            .shown("user", &["webhook", "list"])
            .starts_with("No webhooks yet.")
    );
}

fn the_log_shows_what_may_be_read(board: &Board) {
    team(board);
    board.ok(
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
    board.ok(
        "user",
        &["board", "write", "mid/backend-leader", "--content", "# x"],
    );
    board.ok("user", &["message", "send", "bob", "--content", "x"]);
    board.create(&[]);
    let kinds = |who: &str| -> Vec<String> {
        let out = board.run(who, &["log"]).stdout;
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
    messages_are_sent_and_checked,
    artifacts_are_put_and_got,
    tokens_are_shown_once,
    webhooks_are_the_persons,
    the_log_shows_what_may_be_read,
);
