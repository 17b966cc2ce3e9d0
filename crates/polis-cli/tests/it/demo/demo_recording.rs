//! Tests of the demo's recordings: each is generated from its script (`demo/LANGUAGE/dev-team.toml` and the
//! files it names), and both languages have the same steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use polis_core::society::society_role::role_id;
use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

const LANGUAGES: [&str; 2] = ["en", "zh"];

fn demo_dir(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("demo")
        .join(language)
}

fn read_file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", path.display()))
}

/// Resolves a text of the script: literal, or the content of the file it names.
fn resolve_text(said: &str, language: &str) -> String {
    if let Some(file) = said.strip_prefix("file:") {
        return read_file(&demo_dir(language).join(file));
    }
    if let Some(role) = said.strip_prefix("role:") {
        return role_id(role);
    }
    if let Some(role) = said.strip_prefix("prompt:") {
        let teams = Path::new(env!("CARGO_MANIFEST_DIR")).join("teams/dev-team");
        let file = read_file(&teams.join(language).join(format!("{role}.md")));
        let (_, prompt) = file.split_once("\n---\n").unwrap();
        return prompt.trim().to_owned();
    }
    said.to_owned()
}

fn table_to_json(table: &dyn TableLike, language: &str) -> Value {
    let members = table.iter();
    let members = members.map(|(key, item)| {
        let value = match item {
            Item::Value(value) => value_to_json(value, language),
            Item::Table(below) => table_to_json(below, language),
            Item::ArrayOfTables(list) => list
                .iter()
                .map(|below| table_to_json(below, language))
                .collect(),
            Item::None => panic!("{key} has no value"),
        };
        (key.to_owned(), value)
    });
    // Sorted, so that moving a key in the script does not change the recording.
    let sorted: BTreeMap<_, _> = members.collect();
    Map::from_iter(sorted).into()
}

fn value_to_json(value: &TomlValue, language: &str) -> Value {
    match value {
        TomlValue::String(said) => json!(resolve_text(said.value(), language)),
        TomlValue::Integer(number) => json!(number.value()),
        TomlValue::Array(list) => list
            .iter()
            .map(|value| value_to_json(value, language))
            .collect(),
        TomlValue::InlineTable(table) => table_to_json(table, language),
        other => panic!("a script has no {}", other.type_name()),
    }
}

/// Returns the answers of a script.
fn read_script(language: &str) -> Vec<Value> {
    let source = read_file(&demo_dir(language).join("dev-team.toml"));
    let document = Document::parse(&source).unwrap();
    let script = table_to_json(document.as_table(), language);
    script["answer"].as_array().unwrap().clone()
}

/// Generates the recording: a header, and a line for each response.
fn generate_recording(language: &str) -> String {
    let about =
        format!("The demo's team: answers written beforehand (demo/{language}/dev-team.toml)");
    let mut lines = vec![json!({"recording": 1, "about": about, "loose": true})];
    for answer in read_script(language) {
        let mut calls = Vec::new();
        for call in answer
            .get("call")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            calls.push(json!({"tool": call["tool"], "arguments": call["with"]}));
        }
        let said = answer["text"].as_str().unwrap();
        // Roughly what a provider would count, so that the displayed numbers are realistic.
        let written = said.len() + calls.iter().map(|c| c.to_string().len()).sum::<usize>();
        lines.push(json!({
            "agent": answer["agent"], "heard": answer["heard"], "text": said, "calls": calls,
            "usage": [1_200 + written / 2, 10 + written / 4], "model": "recording", "ms": answer["ms"],
        }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn demo_recording_matches_its_script() {
    for language in LANGUAGES {
        let path = demo_dir(language).join("dev-team.jsonl");
        let text = generate_recording(language);
        if std::env::var_os("POLIS_WRITE_REFERENCE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == text,
            "demo/{language}/dev-team.jsonl is out of date: \
             POLIS_WRITE_REFERENCE=1 cargo test -p polis-cli recording"
        );
    }
}

/// The languages differ only in texts: the same agents answer in the same order with the same calls.
#[test]
fn demo_scripts_have_same_steps_in_both_languages() {
    let steps = |language: &str| -> Vec<Value> {
        let step = |answer: Value| {
            let calls = answer.get("call").and_then(Value::as_array);
            let calls = calls.into_iter().flatten();
            let calls: Vec<Value> = calls
                .map(|call| json!([call["tool"], call["with"]["path"], call["with"]["command"]]))
                .collect();
            json!([answer["agent"], answer["heard"], answer["ms"], calls])
        };
        read_script(language).into_iter().map(step).collect()
    };
    assert_eq!(steps("en"), steps("zh"));
}

#[test]
fn demo_draft_fails_its_test_and_final_program_passes() {
    let run = |directory: &Path, test: &str| {
        let done = std::process::Command::new("sh")
            .arg(directory.join(test))
            .output()
            .unwrap();
        (
            done.status.success(),
            String::from_utf8(done.stdout).unwrap(),
        )
    };
    for (language, verdict, failure) in [
        ("en", "all tests passed\n", "leading zeros"),
        ("zh", "全部测试通过\n", "前导零"),
    ] {
        let directory = demo_dir(language);
        let (passed, said) = run(&directory.join("calc"), "tests/run.sh");
        assert!(passed && said.ends_with(verdict), "{said}");
        let room = tempfile::tempdir().unwrap();
        for file in ["lib/eval.sh", "tests/check.sh", "tests/eval_test.sh"] {
            let to = room.path().join(file);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            let from = if file == "lib/eval.sh" {
                "drafts/eval.sh".into()
            } else {
                format!("calc/{file}")
            };
            std::fs::copy(directory.join(from), to).unwrap();
        }
        let (passed, said) = run(room.path(), "tests/eval_test.sh");
        assert!(!passed && said.contains(failure), "{said}");
    }
}
