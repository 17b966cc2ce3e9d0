//! Tests that results and refusals of tools are in Chinese in a Chinese installation.

use std::collections::BTreeSet;

use polis_i18n::UiLanguage;
use polis_ops::tool::{TOOLS, ToolOutput};
use polis_testkit::run_test;
use polis_testkit::store_factory::parse_agent_id;
use serde_json::{Value, json};

use crate::test_installation::{TestInstallation, schema_value};
use crate::tool_results::{all_calls, store_pending_approval};

/// Tools whose results may be only stored content, names and numbers.
const TOOLS_WITHOUT_TEXT: [&str; 10] = [
    "TaskHistory",
    "blackboard_read",
    "get_artifact",
    "list_files",
    "list_webhooks",
    "read_file",
    "read_log",
    "search_files",
    "whiteboard_diff",
    "whiteboard_show",
];

fn is_chinese(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

/// Words of English results that are no names, commands or codes.
const ENGLISH_WORDS: [&str; 22] = [
    "added", "and", "at", "by", "bytes", "for", "from", "in", "is", "layer", "no", "not", "of",
    "role", "shown", "the", "there", "to", "until", "version", "with", "your",
];

/// Further words of errors about malformed arguments.
const ERROR_WORDS: [&str; 15] = [
    "a", "an", "array", "enum", "expected", "field", "invalid", "list", "map", "missing", "object",
    "sequence", "string", "struct", "tuple",
];

/// Returns an English word of a text that is part of a sentence.
fn find_english(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || is_chinese(c));
    let mut words = words.map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    words.find(|word| ENGLISH_WORDS.contains(&word.to_lowercase().as_str()))
}

fn check_text(tool: &str, output: &ToolOutput) {
    let text = &output.text;
    if !TOOLS_WITHOUT_TEXT.contains(&tool) {
        assert_eq!(find_english(text), None, "{tool}: {text}");
    }
    let has_text = text.contains(is_chinese) || TOOLS_WITHOUT_TEXT.contains(&tool);
    assert!(has_text, "{tool}: {text}");
}

#[test]
fn every_tool_has_a_chinese_result() {
    run_test(async {
        let world = TestInstallation::in_language(UiLanguage::Zh).await;
        store_pending_approval(&world).await;
        let mut called = BTreeSet::new();
        let (mut lock, mut kept, mut hook) = (Value::Null, Value::Null, Value::Null);
        let mut ran = Value::Null;
        for (by, name, params, _) in all_calls() {
            let output = world.call_for_model(by, name, params).await;
            check_text(name, &output);
            called.insert(name);
            match name {
                "whiteboard_lock" => lock = output.document["token"].clone(),
                "put_artifact" => kept = output.document["ref"].clone(),
                "list_commands" => ran = output.document["commands"][0]["id"].clone(),
                "add_webhook" => hook = output.document["id"].clone(),
                _ => {}
            }
        }
        let unlock = json!({ "board": "global", "token": lock });
        for (by, name, params) in [
            ("lead", "whiteboard_unlock", unlock),
            ("lead", "get_artifact", json!({ "ref": kept })),
            ("dev", "show_command", json!({ "id": ran })),
            ("user", "remove_webhook", json!({ "id": hook })),
        ] {
            let output = world.call_for_model(by, name, params).await;
            check_text(name, &output);
            called.insert(name);
        }
        let all: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(called, all);
    });
}

#[test]
fn refusals_of_malformed_arguments_are_chinese() {
    run_test(async {
        let world = TestInstallation::in_language(UiLanguage::Zh).await;
        let lead = parse_agent_id("lead");
        let malformed = [
            json!(true),
            json!(-1),
            json!(1.5),
            json!("!"),
            json!({}),
            json!([[]]),
            json!([5]),
            json!([{ "x": {} }]),
            json!({ "x": {} }),
        ];
        let (mut refused, mut english_texts) = (0, Vec::new());
        for tool in TOOLS {
            let schema = schema_value((tool.input_schema)());
            let names = schema["properties"].as_object().into_iter().flatten();
            for (name, value) in
                names.flat_map(|(name, _)| malformed.iter().map(move |v| (name, v)))
            {
                let arguments = json!({ name: value });
                let Err(error) = world.call_as(&lead, tool.name, arguments, true).await else {
                    continue;
                };
                let text = ToolOutput::from_error(&error, UiLanguage::Zh, true).text;
                let shown = format!("{} {name}={value}: {text}", tool.name);
                // Names and values are quoted.
                let outside: String = text.split(['`', '"']).step_by(2).collect();
                // The code of the refusal is before the text.
                let (_, sentence) = outside.split_once(": ").unwrap();
                let mut words = sentence.split(|c: char| !c.is_ascii_alphabetic());
                let has_error_word = words.any(|word| ERROR_WORDS.contains(&word));
                if !sentence.contains(is_chinese)
                    || find_english(sentence).is_some()
                    || has_error_word
                {
                    english_texts.push(shown);
                }
                refused += 1;
            }
        }
        assert!(english_texts.is_empty(), "{}", english_texts.join("\n"));
        assert!(refused > 500, "{refused}");
    });
}

#[test]
fn task_results_and_notes_are_chinese() {
    run_test(async {
        let world = TestInstallation::in_language(UiLanguage::Zh).await;
        for task in [
            json!({ "subject": "甲", "taskType": "testing", "metadata": { "priority": "high" } }),
            json!({ "subject": "乙", "addBlockedBy": ["1"], "description": "x".repeat(50_000) }),
        ] {
            world.call_tool("lead", "TaskCreate", task).await;
        }
        let list = world
            .call_for_model("lead", "TaskList", json!({ "limit": 1 }))
            .await;
        assert_eq!(
            list.text,
            "1 pending，版本 2，类型 testing，优先级 high：甲\n[已显示 1 项；查看更多请传 cursor=1]"
        );
        assert_eq!(list.document["cut"], "已显示 1 项；查看更多请传 cursor=1");
        let task = world
            .call_for_model("lead", "TaskGet", json!({ "taskId": "2" }))
            .await;
        let note = "[描述在第 24000 字节处截断，共 50000 字节；读取其余部分：TaskGet taskId=2 offset=24000]";
        assert!(
            task.text
                .starts_with("任务 2 pending，版本 1：乙\nblockedBy: 1\n")
        );
        assert!(task.text.ends_with(note), "{}", task.text);
        let claimed = world
            .call_for_model("dev", "TaskClaim", json!({ "taskId": "1" }))
            .await;
        assert_eq!(claimed.text, "任务 1 已由 dev 认领，版本 3：甲");
        let (params, cto) = (json!({ "taskId": "1" }), parse_agent_id("cto"));
        let refused = world
            .call_as(&cto, "TaskClaim", params, true)
            .await
            .unwrap_err();
        let refused = ToolOutput::from_error(&refused, UiLanguage::Zh, true);
        assert!(
            refused.text.starts_with("already_claimed: 任务"),
            "{}",
            refused.text
        );
        assert!(refused.text.contains("\n下一步："), "{}", refused.text);
        assert_eq!(find_english(&refused.text), None, "{}", refused.text);
    });
}
