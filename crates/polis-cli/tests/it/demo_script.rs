//! Checks that the demo's recording is generated from its script: `demo/dev-team.toml` and the files it names.

use std::path::{Path, PathBuf};

use polis_core::society::role::role_id;
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", path.display()))
}

/// Resolves a text of the script: literal, or the content of the file it names.
fn text(said: &str) -> String {
    if let Some(file) = said.strip_prefix("file:") {
        return read(&demo().join(file));
    }
    if let Some(role) = said.strip_prefix("role:") {
        return role_id(role);
    }
    if let Some(role) = said.strip_prefix("prompt:") {
        let file = read(&demo().join(format!("../teams/dev-team/en/{role}.md")));
        let (_, prompt) = file.split_once("\n---\n").unwrap();
        return prompt.trim().to_owned();
    }
    said.to_owned()
}

fn value(given: &DeValue<'_>) -> Value {
    match given {
        DeValue::String(said) => json!(text(said)),
        DeValue::Integer(number) => json!(number.as_str().parse::<u64>().unwrap()),
        DeValue::Array(list) => list.iter().map(|v| value(v.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, v)| (key.get_ref().to_string(), value(v.get_ref())))
            .collect::<Map<_, _>>()
            .into(),
        other => panic!("a script has no {}", other.type_str()),
    }
}

/// Generates the recording: a header, and a line for each answer.
fn recording() -> String {
    let source = read(&demo().join("dev-team.toml"));
    let script = DeTable::parse(&source).unwrap();
    let script = value(&DeValue::Table(script.into_inner()));
    let about = "The demo's team: answers written beforehand (demo/dev-team.toml)";
    let mut lines = vec![json!({"recording": 1, "about": about, "loose": true})];
    for answer in script["answer"].as_array().unwrap() {
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
fn the_recording_is_made_of_the_script() {
    let path = demo().join("dev-team.jsonl");
    let text = recording();
    if std::env::var_os("POLIS_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "demo/dev-team.jsonl is out of date: POLIS_WRITE_REFERENCE=1 cargo test -p polis-cli demo_script"
    );
}

#[test]
fn the_draft_fails_its_test_and_the_program_passes_all() {
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
    let (passed, said) = run(&demo().join("calc"), "tests/run.sh");
    assert!(passed && said.ends_with("all tests passed\n"), "{said}");
    let room = tempfile::tempdir().unwrap();
    for file in ["lib/eval.sh", "tests/check.sh", "tests/eval_test.sh"] {
        let to = room.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let from = if file == "lib/eval.sh" {
            "drafts/eval.sh".into()
        } else {
            format!("calc/{file}")
        };
        std::fs::copy(demo().join(from), to).unwrap();
    }
    let (passed, said) = run(room.path(), "tests/eval_test.sh");
    assert!(!passed && said.contains("leading zeros"), "{said}");
}
