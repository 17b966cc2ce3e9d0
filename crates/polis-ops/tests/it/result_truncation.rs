//! Tests for truncation: regardless of the stored content, a model's results stay within their limits, and
//! everything can be read in parts.

use polis_i18n::UiLanguage;
use polis_ops::tool::ToolOutput;
use polis_testkit::run_test;
use polis_testkit::store_factory::parse_agent_id;
use serde_json::{Value, json};

use crate::test_installation::TestInstallation;

/// Asserts that a result is within the limits, in bytes of text and of JSON.
fn assert_within_limits(answer: &ToolOutput) {
    assert!(
        answer.text.len() <= 28_500,
        "{} bytes of text",
        answer.text.len()
    );
    let document = answer.document.to_string();
    assert!(document.len() <= 61_000, "{} bytes of JSON", document.len());
}

fn truncation_note(answer: &ToolOutput) -> &str {
    let note = answer.document["cut"].as_str().unwrap_or_default();
    assert!(answer.text.contains(note), "{note}");
    note
}

/// Creates a long text of lines, not all of them ASCII.
fn long_text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut line = 0;
    while text.len() < bytes {
        line += 1;
        text.push_str(&format!("Line {line}: 长长长 \"quoted\" and plain\n"));
    }
    text
}

/// Reads all parts of a text by following the offsets.
async fn read_all_parts(
    world: &TestInstallation,
    tool: &str,
    mut params: Value,
    parts: &mut usize,
) -> String {
    let mut read = String::new();
    loop {
        let answer = world.call_for_model("user", tool, params.clone()).await;
        assert_within_limits(&answer);
        read.push_str(answer.document["content"].as_str().unwrap());
        *parts += 1;
        let Some(next) = answer.document.get("nextOffset") else {
            assert_eq!(answer.document.get("cut"), None);
            return read;
        };
        assert!(
            truncation_note(&answer).contains(&format!("offset={next}")),
            "{}",
            truncation_note(&answer)
        );
        params["offset"] = next.clone();
    }
}

#[test]
fn large_board_is_read_in_parts() {
    run_test(async {
        let world = TestInstallation::new().await;
        let text = long_text(9_900_000);
        let params = json!({ "board": "global", "content": text });
        world.call_tool("lead", "whiteboard_write", params).await;
        let first = world
            .call_for_model("lead", "whiteboard_read", json!({ "board": "global" }))
            .await;
        assert_within_limits(&first);
        let shown = first.document["content"].as_str().unwrap();
        assert!(
            shown.len() > 23_000 && shown.ends_with('\n'),
            "{}",
            shown.len()
        );
        // Without `brief` the result is complete.
        let whole = world
            .call_tool("lead", "whiteboard_read", json!({ "board": "global" }))
            .await;
        assert_eq!(whole.document["content"].as_str().unwrap(), text);
        assert_eq!(whole.document.get("cut"), None);
    });
}

#[test]
fn concatenated_parts_equal_the_whole_text() {
    run_test(async {
        let world = TestInstallation::new().await;
        let text = long_text(100_000);
        let one_line = "x".repeat(60_000);
        let params = json!({ "board": "global", "content": text });
        world.call_tool("lead", "whiteboard_write", params).await;
        let params = json!({ "path": "shared/a.md", "content": one_line, "mode": "overwrite" });
        world.call_tool("user", "blackboard_write", params).await;
        let params = json!({ "type": "text", "content": text });
        let kept = world.call_tool("lead", "put_artifact", params).await;
        for (tool, params, whole) in [
            ("whiteboard_read", json!({ "board": "global" }), &text),
            (
                "whiteboard_show",
                json!({ "board": "global", "version": 1 }),
                &text,
            ),
            (
                "blackboard_read",
                json!({ "path": "shared/a.md" }),
                &one_line,
            ),
            (
                "get_artifact",
                json!({ "ref": kept.document["ref"] }),
                &text,
            ),
        ] {
            let mut parts = 0;
            assert_eq!(
                &read_all_parts(&world, tool, params, &mut parts).await,
                whole,
                "{tool}"
            );
            assert!(parts > 2, "{tool}");
        }
        // JSON is returned as its source text, so that its parts can be concatenated.
        let list: Vec<u32> = (0..20_000).collect();
        let params = json!({ "type": "list", "content": list });
        let kept = world.call_tool("lead", "put_artifact", params).await;
        let params = json!({ "ref": kept.document["ref"] });
        let read = read_all_parts(&world, "get_artifact", params, &mut 0).await;
        assert_eq!(serde_json::from_str::<Vec<u32>>(&read).unwrap(), list);
    });
}

#[test]
fn long_file_is_read_by_lines() {
    run_test(async {
        let world = TestInstallation::new().await;
        let text = long_text(100_000);
        let params = json!({ "path": "big.txt", "content": text });
        world.call_tool("lead", "write_file", params).await;
        let (mut read, mut params, mut parts) = (String::new(), json!({ "path": "big.txt" }), 0);
        loop {
            let answer = world
                .call_for_model("lead", "read_file", params.clone())
                .await;
            assert_within_limits(&answer);
            read.push_str(answer.document["content"].as_str().unwrap());
            parts += 1;
            if answer.document.get("truncated").is_none() {
                break;
            }
            let next = answer.document["endLine"].as_u64().unwrap() + 1;
            assert!(
                truncation_note(&answer).ends_with(&format!("startLine={next}")),
                "{}",
                truncation_note(&answer)
            );
            params["startLine"] = next.into();
        }
        assert_eq!(read, text);
        assert!(parts > 3);
        let params = json!({ "path": "wide.txt", "content": "x".repeat(50_000) });
        world.call_tool("lead", "write_file", params).await;
        let wide = world
            .call_for_model("lead", "read_file", json!({ "path": "wide.txt" }))
            .await;
        assert_within_limits(&wide);
        assert!(truncation_note(&wide).contains("run_command"));
        let bytes = json!({ "path": "big.txt", "encoding": "base64" });
        let bytes = world.call_for_model("lead", "read_file", bytes).await;
        assert_within_limits(&bytes);
        assert!(truncation_note(&bytes).contains("run_command"));
    });
}

/// Reads all pages of a list and returns the names of the entries.
async fn read_all_pages(
    world: &TestInstallation,
    tool: &str,
    list: &str,
    name: &str,
    cursor: &str,
) -> Vec<Value> {
    let (mut found, mut params) = (Vec::new(), json!({}));
    if tool.starts_with("Task") && tool != "TaskList" {
        params["taskId"] = "1".into();
    }
    for page in 0.. {
        let answer = world.call_for_model("user", tool, params.clone()).await;
        assert_within_limits(&answer);
        let entries = answer.document[list].as_array().unwrap();
        found.extend(entries.iter().map(|entry| entry[name].clone()));
        let next = answer.document.get("next").filter(|next| !next.is_null());
        let Some(next) = next else {
            assert_eq!(answer.document.get("cut"), None, "{tool}");
            assert!(page > 1, "{tool}");
            break;
        };
        let shown = next
            .as_str()
            .map_or_else(|| next.to_string(), str::to_owned);
        assert!(
            truncation_note(&answer).ends_with(&format!("{cursor}={shown}")),
            "{}",
            truncation_note(&answer)
        );
        params[cursor] = next.clone();
    }
    found
}

#[test]
fn long_list_is_read_in_pages() {
    run_test(async {
        let world = TestInstallation::new().await;
        for n in 0..120 {
            let wide = "w".repeat(n * 4);
            world
                .call_tool(
                    "lead",
                    "TaskCreate",
                    json!({ "subject": format!("t{n}{wide}") }),
                )
                .await;
            world
                .call_tool(
                    "lead",
                    "TaskComment",
                    json!({ "taskId": "1", "body": format!("c{n}") }),
                )
                .await;
            let file =
                json!({ "path": format!("shared/{n:03}.md"), "content": "", "mode": "overwrite" });
            world.call_tool("user", "blackboard_write", file).await;
            let agent = json!({ "id": format!("agent{n:03}"), "role": "architect" });
            world.call_tool("user", "add_agent", agent).await;
        }
        for n in 0..450 {
            let file = json!({ "path": format!("d/{n:03}.txt"), "content": "" });
            world.call_tool("lead", "write_file", file).await;
        }
        let tasks = read_all_pages(&world, "TaskList", "tasks", "id", "cursor").await;
        let wanted: Vec<Value> = (1..=120).map(|n| json!(n.to_string())).collect();
        assert_eq!(tasks, wanted);
        let comments = read_all_pages(&world, "TaskComments", "comments", "id", "cursor").await;
        assert_eq!(comments, (1..=120).map(|n| json!(n)).collect::<Vec<_>>());
        assert_eq!(
            read_all_pages(&world, "TaskHistory", "history", "seq", "cursor")
                .await
                .len(),
            121
        );
        assert_eq!(
            read_all_pages(&world, "list_agents", "agents", "id", "cursor")
                .await
                .len(),
            123
        );
        assert_eq!(
            read_all_pages(&world, "read_log", "events", "seq", "since")
                .await
                .len(),
            120 * 3 + 123 * 2 + 450
        );
        let boards = read_all_pages(&world, "whiteboard_list", "boards", "board", "cursor").await;
        assert!(boards.len() > 120, "{}", boards.len());
        let params = json!({ "path": "d" });
        let first = world.call_for_model("lead", "list_files", params).await;
        assert_eq!(first.document["next"], "199.txt");
        assert!(truncation_note(&first).ends_with("cursor=199.txt"));
        let rest = json!({ "path": "d", "cursor": "199.txt", "limit": 1_000 });
        let rest = world.call_for_model("lead", "list_files", rest).await;
        assert_eq!(rest.document["files"].as_array().unwrap().len(), 250);
        let found = world
            .call_for_model("lead", "search_files", json!({ "pattern": "x" }))
            .await;
        assert_eq!(found.document.get("cut"), None);
        let whole = world.call_tool("lead", "TaskList", json!({})).await;
        assert_eq!(whole.document["tasks"].as_array().unwrap().len(), 120);
    });
}

#[test]
fn long_descriptions_comments_and_messages_can_be_read_to_the_end() {
    run_test(async {
        let world = TestInstallation::new().await;
        let text = long_text(60_000);
        let params = json!({ "subject": "s", "description": text });
        let made = world.call_for_model("lead", "TaskCreate", params).await;
        assert_within_limits(&made);
        assert!(truncation_note(&made).contains("TaskGet taskId=1 offset="));
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() {
            let params = json!({ "taskId": "1", "offset": offset });
            let answer = world.call_for_model("lead", "TaskGet", params).await;
            assert_within_limits(&answer);
            let part = answer.document["description"].as_str().unwrap();
            read.push_str(part);
            offset += part.len();
        }
        assert_eq!(read, text);
        world
            .call_tool(
                "lead",
                "TaskComment",
                json!({ "taskId": "1", "body": text }),
            )
            .await;
        world
            .call_tool(
                "lead",
                "send_message",
                json!({ "to": "dev", "payload": text }),
            )
            .await;
        world
            .call_tool(
                "lead",
                "send_message",
                json!({ "to": "dev", "payload": "short" }),
            )
            .await;
        let mail = world
            .call_for_model("dev", "check_messages", json!({}))
            .await;
        assert_within_limits(&mail);
        assert_eq!(mail.document["messages"][1]["payload"], "short");
        for (by, tool, list, field, mut params) in [
            (
                "lead",
                "TaskComments",
                "comments",
                "body",
                json!({ "taskId": "1", "cursor": 0 }),
            ),
            (
                "dev",
                "check_messages",
                "messages",
                "payload",
                json!({ "since": 0 }),
            ),
        ] {
            let (mut read, mut parts) = (String::new(), 0);
            loop {
                params["limit"] = 1.into();
                let answer = world.call_for_model(by, tool, params.clone()).await;
                assert_within_limits(&answer);
                let shown = answer.document[list][0][field].as_str().unwrap();
                parts += 1;
                let Some((part, note)) = shown.split_once("\n[truncated; for the rest: ") else {
                    read.push_str(shown);
                    break;
                };
                read.push_str(part);
                // Restore the line break before the note.
                if part.ends_with("plain") {
                    read.push('\n');
                }
                let next = note.rsplit('=').next().unwrap().trim_end_matches(']');
                params["offset"] = next.parse::<u64>().unwrap().into();
            }
            assert_eq!(read, text, "{tool}");
            assert!(parts > 5, "{tool}");
        }
    });
}

#[test]
fn messages_beyond_the_limit_stay_readable() {
    run_test(async {
        let world = TestInstallation::new().await;
        for n in 0..12 {
            let payload = format!("{n}:{}", "y".repeat(5_000));
            world
                .call_tool(
                    "lead",
                    "send_message",
                    json!({ "to": "dev", "payload": payload }),
                )
                .await;
        }
        let (mut seen, mut params) = (Vec::new(), json!({}));
        for _ in 0..12 {
            let mail = world
                .call_for_model("dev", "check_messages", params.clone())
                .await;
            assert_within_limits(&mail);
            let messages = mail.document["messages"].as_array().unwrap();
            seen.extend(messages.iter().map(|one| one["id"].as_u64().unwrap()));
            if mail.document["more"] == false {
                break;
            }
            assert!(
                truncation_note(&mail).contains("since="),
                "{}",
                truncation_note(&mail)
            );
            params["since"] = (*seen.last().unwrap()).into();
        }
        assert_eq!(seen, (1..=12).collect::<Vec<u64>>());
    });
}

#[test]
fn results_with_large_task_metadata_stay_within_limits() {
    run_test(async {
        let world = TestInstallation::new().await;
        let wide: Vec<String> = (0..2_000)
            .map(|n| format!("value {n} {}", "z".repeat(90)))
            .collect();
        let members: serde_json::Map<String, Value> = (0..3_000)
            .map(|n| (format!("k{n}"), json!([n, { "deep": [n] }])))
            .collect();
        for metadata in [json!({ "wide": wide }), Value::Object(members)] {
            let params = json!({ "subject": "s", "metadata": metadata });
            let made = world.call_for_model("lead", "TaskCreate", params).await;
            assert_within_limits(&made);
            assert!(
                is_truncated_by_safety_net(&made),
                "{}",
                made.document["cut"]
            );
            let id = &made.document["id"];
            assert_within_limits(
                &world
                    .call_for_model("lead", "TaskGet", json!({ "taskId": id }))
                    .await,
            );
        }
        assert_within_limits(
            &world
                .call_for_model("lead", "TaskHistory", json!({ "taskId": "1" }))
                .await,
        );
        assert_within_limits(&world.call_for_model("lead", "read_log", json!({})).await);
    });
}

fn is_truncated_by_safety_net(answer: &ToolOutput) -> bool {
    let note = answer.document["cut"].as_str();
    note.is_some_and(|note| note.contains("too many"))
}

#[test]
fn refusal_for_a_model_is_truncated() {
    run_test(async {
        let world = TestInstallation::new().await;
        let texts = [
            long_text(500_000),
            long_text(400_000).replace("Line", "Other"),
        ];
        for (version, text) in texts.into_iter().enumerate() {
            let params = json!({ "board": "global", "content": text, "expectedVersion": version });
            world.call_tool("lead", "whiteboard_write", params).await;
        }
        let params = json!({ "board": "global", "content": "x", "expectedVersion": 1 });
        let refused = world
            .call_as(&parse_agent_id("lead"), "whiteboard_write", params, true)
            .await;
        let refused = refused.unwrap_err();
        let (brief, whole) = (
            ToolOutput::from_error(&refused, UiLanguage::En, true),
            ToolOutput::from_error(&refused, UiLanguage::En, false),
        );
        assert_within_limits(&brief);
        assert_eq!(brief.document["error"]["code"], "version_conflict");
        assert_eq!(brief.document["error"]["currentVersion"], 2);
        assert!(
            brief.text.starts_with("version_conflict: "),
            "{}",
            brief.text
        );
        assert!(brief.text.contains("\nNext: "), "{}", brief.text);
        for part in [
            "\ncurrentVersion: 2\n",
            "\nlastModifiedBy: lead\n",
            "\ndiff:\n--- ",
            " bytes omitted]\n",
        ] {
            assert!(brief.text.contains(part), "{part}: {}", brief.text);
        }
        assert!(whole.document.to_string().len() > 60_000);
        let diff = json!({ "board": "global", "from": 1, "to": 2 });
        let diff = world.call_for_model("lead", "whiteboard_diff", diff).await;
        assert_within_limits(&diff);
        assert!(truncation_note(&diff).contains("whiteboard_show"));
    });
}
