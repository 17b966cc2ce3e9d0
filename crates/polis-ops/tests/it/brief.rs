//! Tests for truncation: regardless of the stored content, a model's results stay within their limits, and everything
//! can be read in parts.

use polis_ops::tool::Answer;
use polis_testkit::run;
use polis_testkit::test_store::agent;
use serde_json::{Value, json};

use crate::world::World;

/// Asserts that a result is within the limits, in bytes of text and of JSON.
fn small(answer: &Answer) {
    assert!(
        answer.text.len() <= 28_500,
        "{} bytes of text",
        answer.text.len()
    );
    let document = answer.document.to_string();
    assert!(document.len() <= 61_000, "{} bytes of JSON", document.len());
}

fn cut(answer: &Answer) -> &str {
    let note = answer.document["cut"].as_str().unwrap_or_default();
    assert!(answer.text.contains(note), "{note}");
    note
}

/// Creates a long text of lines, not all of them ASCII.
fn long(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut line = 0;
    while text.len() < bytes {
        line += 1;
        text.push_str(&format!("Line {line}: 长长长 \"quoted\" and plain\n"));
    }
    text
}

/// Reads all parts of a text by following the offsets.
async fn follow(world: &World, tool: &str, mut params: Value, parts: &mut usize) -> String {
    let mut read = String::new();
    loop {
        let answer = world.tells("user", tool, params.clone()).await;
        small(&answer);
        read.push_str(answer.document["content"].as_str().unwrap());
        *parts += 1;
        let Some(next) = answer.document.get("nextOffset") else {
            assert_eq!(answer.document.get("cut"), None);
            return read;
        };
        assert!(
            cut(&answer).contains(&format!("offset={next}")),
            "{}",
            cut(&answer)
        );
        params["offset"] = next.clone();
    }
}

#[test]
fn a_board_of_any_size_is_read_in_parts() {
    run(async {
        let world = World::new().await;
        let text = long(9_900_000);
        let params = json!({ "board": "global", "content": text });
        world.does("lead", "whiteboard_write", params).await;
        let first = world
            .tells("lead", "whiteboard_read", json!({ "board": "global" }))
            .await;
        small(&first);
        let shown = first.document["content"].as_str().unwrap();
        assert!(
            shown.len() > 23_000 && shown.ends_with('\n'),
            "{}",
            shown.len()
        );
        // Without `brief` the result is complete.
        let whole = world
            .does("lead", "whiteboard_read", json!({ "board": "global" }))
            .await;
        assert_eq!(whole.document["content"].as_str().unwrap(), text);
        assert_eq!(whole.document.get("cut"), None);
    });
}

#[test]
fn parts_put_together_are_the_whole() {
    run(async {
        let world = World::new().await;
        let text = long(100_000);
        let one_line = "x".repeat(60_000);
        let params = json!({ "board": "global", "content": text });
        world.does("lead", "whiteboard_write", params).await;
        let params = json!({ "path": "shared/a.md", "content": one_line, "mode": "overwrite" });
        world.does("user", "blackboard_write", params).await;
        let params = json!({ "type": "text", "content": text });
        let kept = world.does("lead", "put_artifact", params).await;
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
                &follow(&world, tool, params, &mut parts).await,
                whole,
                "{tool}"
            );
            assert!(parts > 2, "{tool}");
        }
        // JSON is returned as its source text, so that its parts can be concatenated.
        let list: Vec<u32> = (0..20_000).collect();
        let params = json!({ "type": "list", "content": list });
        let kept = world.does("lead", "put_artifact", params).await;
        let params = json!({ "ref": kept.document["ref"] });
        let read = follow(&world, "get_artifact", params, &mut 0).await;
        assert_eq!(serde_json::from_str::<Vec<u32>>(&read).unwrap(), list);
    });
}

#[test]
fn a_file_is_read_by_lines() {
    run(async {
        let world = World::new().await;
        let text = long(100_000);
        let params = json!({ "path": "big.txt", "content": text });
        world.does("lead", "write_file", params).await;
        let (mut read, mut params, mut parts) = (String::new(), json!({ "path": "big.txt" }), 0);
        loop {
            let answer = world.tells("lead", "read_file", params.clone()).await;
            small(&answer);
            read.push_str(answer.document["content"].as_str().unwrap());
            parts += 1;
            if answer.document.get("truncated").is_none() {
                break;
            }
            let next = answer.document["endLine"].as_u64().unwrap() + 1;
            assert!(
                cut(&answer).ends_with(&format!("startLine={next}")),
                "{}",
                cut(&answer)
            );
            params["startLine"] = next.into();
        }
        assert_eq!(read, text);
        assert!(parts > 3);
        let params = json!({ "path": "wide.txt", "content": "x".repeat(50_000) });
        world.does("lead", "write_file", params).await;
        let wide = world
            .tells("lead", "read_file", json!({ "path": "wide.txt" }))
            .await;
        small(&wide);
        assert!(cut(&wide).contains("run_command"));
        let bytes = json!({ "path": "big.txt", "encoding": "base64" });
        let bytes = world.tells("lead", "read_file", bytes).await;
        small(&bytes);
        assert!(cut(&bytes).contains("run_command"));
    });
}

/// Reads all pages of a list and returns the names of the entries.
async fn pages(world: &World, tool: &str, list: &str, name: &str, cursor: &str) -> Vec<Value> {
    let (mut found, mut params) = (Vec::new(), json!({}));
    if tool.starts_with("Task") && tool != "TaskList" {
        params["taskId"] = "1".into();
    }
    for page in 0.. {
        let answer = world.tells("user", tool, params.clone()).await;
        small(&answer);
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
            cut(&answer).ends_with(&format!("{cursor}={shown}")),
            "{}",
            cut(&answer)
        );
        params[cursor] = next.clone();
    }
    found
}

#[test]
fn a_list_is_read_in_pages() {
    run(async {
        let world = World::new().await;
        for n in 0..120 {
            let wide = "w".repeat(n * 4);
            world
                .does(
                    "lead",
                    "TaskCreate",
                    json!({ "subject": format!("t{n}{wide}") }),
                )
                .await;
            world
                .does(
                    "lead",
                    "TaskComment",
                    json!({ "taskId": "1", "body": format!("c{n}") }),
                )
                .await;
            let file =
                json!({ "path": format!("shared/{n:03}.md"), "content": "", "mode": "overwrite" });
            world.does("user", "blackboard_write", file).await;
            let agent = json!({ "id": format!("agent{n:03}"), "role": "architect" });
            world.does("user", "add_agent", agent).await;
        }
        for n in 0..450 {
            let file = json!({ "path": format!("d/{n:03}.txt"), "content": "" });
            world.does("lead", "write_file", file).await;
        }
        let tasks = pages(&world, "TaskList", "tasks", "id", "cursor").await;
        let wanted: Vec<Value> = (1..=120).map(|n| json!(n.to_string())).collect();
        assert_eq!(tasks, wanted);
        let comments = pages(&world, "TaskComments", "comments", "id", "cursor").await;
        assert_eq!(comments, (1..=120).map(|n| json!(n)).collect::<Vec<_>>());
        assert_eq!(
            pages(&world, "TaskHistory", "history", "seq", "cursor")
                .await
                .len(),
            121
        );
        assert_eq!(
            pages(&world, "list_agents", "agents", "id", "cursor")
                .await
                .len(),
            123
        );
        assert_eq!(
            pages(&world, "read_log", "events", "seq", "since")
                .await
                .len(),
            120 * 3 + 123 * 2 + 450
        );
        let boards = pages(&world, "whiteboard_list", "boards", "board", "cursor").await;
        assert!(boards.len() > 120, "{}", boards.len());
        let params = json!({ "path": "d" });
        let first = world.tells("lead", "list_files", params).await;
        assert_eq!(first.document["next"], "199.txt");
        assert!(cut(&first).ends_with("cursor=199.txt"));
        let rest = json!({ "path": "d", "cursor": "199.txt", "limit": 1_000 });
        let rest = world.tells("lead", "list_files", rest).await;
        assert_eq!(rest.document["files"].as_array().unwrap().len(), 250);
        let found = world
            .tells("lead", "search_files", json!({ "pattern": "x" }))
            .await;
        assert_eq!(found.document.get("cut"), None);
        let whole = world.does("lead", "TaskList", json!({})).await;
        assert_eq!(whole.document["tasks"].as_array().unwrap().len(), 120);
    });
}

#[test]
fn long_descriptions_comments_and_messages_can_be_read_to_the_end() {
    run(async {
        let world = World::new().await;
        let text = long(60_000);
        let params = json!({ "subject": "s", "description": text });
        let made = world.tells("lead", "TaskCreate", params).await;
        small(&made);
        assert!(cut(&made).contains("TaskGet taskId=1 offset="));
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() {
            let params = json!({ "taskId": "1", "offset": offset });
            let answer = world.tells("lead", "TaskGet", params).await;
            small(&answer);
            let part = answer.document["description"].as_str().unwrap();
            read.push_str(part);
            offset += part.len();
        }
        assert_eq!(read, text);
        world
            .does(
                "lead",
                "TaskComment",
                json!({ "taskId": "1", "body": text }),
            )
            .await;
        world
            .does(
                "lead",
                "send_message",
                json!({ "to": "dev", "payload": text }),
            )
            .await;
        world
            .does(
                "lead",
                "send_message",
                json!({ "to": "dev", "payload": "short" }),
            )
            .await;
        let mail = world.tells("dev", "check_messages", json!({})).await;
        small(&mail);
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
                let answer = world.tells(by, tool, params.clone()).await;
                small(&answer);
                let shown = answer.document[list][0][field].as_str().unwrap();
                parts += 1;
                let Some((part, note)) = shown.split_once("\n[cut; for the rest: ") else {
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
fn messages_that_do_not_fit_are_not_lost() {
    run(async {
        let world = World::new().await;
        for n in 0..12 {
            let payload = format!("{n}:{}", "y".repeat(5_000));
            world
                .does(
                    "lead",
                    "send_message",
                    json!({ "to": "dev", "payload": payload }),
                )
                .await;
        }
        let (mut seen, mut params) = (Vec::new(), json!({}));
        for _ in 0..12 {
            let mail = world.tells("dev", "check_messages", params.clone()).await;
            small(&mail);
            let messages = mail.document["messages"].as_array().unwrap();
            seen.extend(messages.iter().map(|one| one["id"].as_u64().unwrap()));
            if mail.document["more"] == false {
                break;
            }
            assert!(cut(&mail).contains("since="), "{}", cut(&mail));
            params["since"] = (*seen.last().unwrap()).into();
        }
        assert_eq!(seen, (1..=12).collect::<Vec<u64>>());
    });
}

#[test]
fn whatever_is_kept_with_a_task_a_model_is_not_flooded() {
    run(async {
        let world = World::new().await;
        let wide: Vec<String> = (0..2_000)
            .map(|n| format!("value {n} {}", "z".repeat(90)))
            .collect();
        let members: serde_json::Map<String, Value> = (0..3_000)
            .map(|n| (format!("k{n}"), json!([n, { "deep": [n] }])))
            .collect();
        for metadata in [json!({ "wide": wide }), Value::Object(members)] {
            let params = json!({ "subject": "s", "metadata": metadata });
            let made = world.tells("lead", "TaskCreate", params).await;
            small(&made);
            assert!(cut_by_the_net(&made), "{}", made.document["cut"]);
            let id = &made.document["id"];
            small(
                &world
                    .tells("lead", "TaskGet", json!({ "taskId": id }))
                    .await,
            );
        }
        small(
            &world
                .tells("lead", "TaskHistory", json!({ "taskId": "1" }))
                .await,
        );
        small(&world.tells("lead", "read_log", json!({})).await);
    });
}

fn cut_by_the_net(answer: &Answer) -> bool {
    let note = answer.document["cut"].as_str();
    note.is_some_and(|note| note.contains("too many"))
}

#[test]
fn a_refusal_is_short_as_well() {
    run(async {
        let world = World::new().await;
        let texts = [long(500_000), long(400_000).replace("Line", "Other")];
        for (version, text) in texts.into_iter().enumerate() {
            let params = json!({ "board": "global", "content": text, "expectedVersion": version });
            world.does("lead", "whiteboard_write", params).await;
        }
        let params = json!({ "board": "global", "content": "x", "expectedVersion": 1 });
        let refused = world
            .ask(&agent("lead"), "whiteboard_write", params, true)
            .await;
        let refused = refused.unwrap_err();
        let (brief, whole) = (
            Answer::refused(&refused, true),
            Answer::refused(&refused, false),
        );
        small(&brief);
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
            " bytes left out]\n",
        ] {
            assert!(brief.text.contains(part), "{part}: {}", brief.text);
        }
        assert!(whole.document.to_string().len() > 60_000);
        let diff = json!({ "board": "global", "from": 1, "to": 2 });
        let diff = world.tells("lead", "whiteboard_diff", diff).await;
        small(&diff);
        assert!(cut(&diff).contains("whiteboard_show"));
    });
}
