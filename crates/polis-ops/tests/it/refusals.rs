//! Tests for refusals in the form that a model reads: the text alone is complete, and hints refer to tools.

use std::path::{Path, PathBuf};

use polis_core::workspace::policy::Tier;
use polis_core::{Code, Details, Refusal, Timestamp};
use polis_ops::OpError;
use polis_ops::tool::{Answer, hint_for_tools};
use serde_json::Value;

fn at() -> Timestamp {
    Timestamp::parse("2026-11-18T01:02:03.004Z").unwrap()
}

/// Returns one refusal for each kind of details.
fn with_particulars() -> Vec<Refusal> {
    let details = [
        Details::Version {
            current_version: 7,
            last_modified_by: "ana".to_owned(),
            last_modified_at: Some(at()),
            diff: Some("--- a\n+++ b\n-old\n+new\n".to_owned()),
            merge: Some("<<<<<<< yours\nx\n>>>>>>>\n".to_owned()),
        },
        Details::Locked {
            holder: "bo".to_owned(),
            expires_at: at(),
        },
        Details::Blocked {
            reason: "危险命令被禁止: sudo".to_owned(),
        },
        Details::Hash {
            current_hash: "0f".repeat(32),
        },
        Details::TimedOut {
            timed_out: true,
            timeout_ms: 1_234,
            stdout: "first\nsecond\n".to_owned(),
            stderr: "one complaint".to_owned(),
            duration_ms: 1_240,
            sandbox: Tier::Full,
            truncated: true,
            spool: Some("out/1".to_owned()),
        },
    ];
    let refusal = |details| Refusal::new(Code::WrongState, "No.", "try again").with(details);
    details.into_iter().map(refusal).collect()
}

/// Formats a value as it appears in a line of text.
fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim_end().to_owned(),
        other => other.to_string(),
    }
}

#[test]
fn refusal_text_has_everything_the_document_has() {
    for refusal in with_particulars() {
        let answer = Answer::refused(&OpError::from(refusal), true);
        let error = answer.document["error"].as_object().unwrap();
        assert!(error.len() > 3, "no particulars: {error:?}");
        for (name, value) in error {
            let text = &answer.text;
            assert!(text.contains(&leaf(value)), "{name}={value}: {text}");
            if !["code", "message", "hint"].contains(&name.as_str()) {
                assert!(text.contains(&format!("\n{name}:")), "{name}: {text}");
            }
        }
    }
}

#[test]
fn long_particulars_are_shortened_one_by_one() {
    let refusal = Refusal::new(Code::CommandTimeout, "No.", "try again").with(Details::TimedOut {
        timed_out: true,
        timeout_ms: 1,
        stdout: format!("{}last line\n", "out\n".repeat(100_000)),
        stderr: format!("{}the reason\n", "err\n".repeat(100_000)),
        duration_ms: 1,
        sandbox: Tier::Full,
        truncated: false,
        spool: None,
    });
    let text = Answer::refused(&OpError::from(refusal), true).text;
    assert!(text.len() < 28_000, "{}", text.len());
    for part in ["last line", "the reason", "timeoutMs: 1"] {
        assert!(text.contains(part), "{part}");
    }
}

/// Files whose texts are not for callers of tools: messages at server start, and the OpenAPI document.
const NOT_FOR_TOOLS: [&str; 3] = [
    "polis-serve/src/http/listen.rs",
    "polis-serve/src/http/tls.rs",
    "polis-serve/src/http/openapi/",
];

/// The crates whose refusals reach callers of tools.
const CRATES: [&str; 6] = [
    "polis-core",
    "polis-ops",
    "polis-serve",
    "polis-society",
    "polis-store",
    "polis-workspace",
];

fn rust_files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => rust_files(&path, into),
            false if path.ends_with("tests.rs") => {}
            false => into.push(path),
        }
    }
}

/// Returns the string literals of a Rust file before its unit tests, unescaped; comments are skipped.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut found = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            '\'' => {
                // A character literal; a lifetime has no second quote at that position.
                let ahead: Vec<char> = rest.clone().take(3).collect();
                let length = match ahead.as_slice() {
                    ['\\', _, '\''] => 3,
                    [_, '\'', ..] => 2,
                    _ => 0,
                };
                rest.by_ref().take(length).for_each(drop);
            }
            '"' => {
                let mut literal = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => match rest.next() {
                            Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                            Some(escaped) => literal.push(escaped),
                            None => {}
                        },
                        c => literal.push(c),
                    }
                }
                found.push(literal);
            }
            _ => {}
        }
    }
    found
}

/// Returns a command or an option of the command line in a text, if there is one.
pub(crate) fn command_line_words(text: &str) -> Option<&str> {
    let command = text.find("`polis ");
    let mut options = text.match_indices("--").map(|(at, _)| at);
    let option = options.find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().last());
        let after = text.get(at + 2..).and_then(|after| after.chars().next());
        before.is_none_or(|c| " (`/".contains(c)) && after.is_some_and(|c| c.is_ascii_lowercase())
    });
    text.get(command.into_iter().chain(option).min()?..)
}

/// Every sentence of the crates that names a command or an option is translated for callers of tools.
#[test]
fn no_hint_names_a_command_or_an_option_to_callers_of_tools() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        rust_files(&crates.join(name).join("src"), &mut files);
    }
    let catalogue = crates.join("polis-ops/src/tool/hint.rs");
    let (mut checked, mut left) = (0, Vec::new());
    for file in files {
        let shown = file.strip_prefix(crates).unwrap().display().to_string();
        if file == catalogue || NOT_FOR_TOOLS.iter().any(|not| shown.starts_with(not)) {
            continue;
        }
        for literal in literals(&std::fs::read_to_string(&file).unwrap()) {
            // A single word is not a sentence: the blocklist names options of other programs.
            if !literal.contains(' ') || command_line_words(&literal).is_none() {
                continue;
            }
            checked += 1;
            let told = hint_for_tools(&literal);
            if let Some(words) = command_line_words(&told) {
                left.push(format!("{shown}: {words:?} in {literal:?}"));
            }
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
    // Guards against finding no literals, in which case nothing would have been checked.
    assert!(checked > 70, "{checked}");
}

#[test]
fn command_line_words_are_found() {
    for text in [
        "run `polis task list`",
        "or add --merge",
        "(`--lines`)",
        "--x",
        "a / --remove-blocks",
    ] {
        assert!(command_line_words(text).is_some(), "{text}");
    }
    for text in [
        "",
        "a -- b",
        "--- a",
        "x--y",
        "polis serve",
        "`whiteboard_read`",
    ] {
        assert_eq!(command_line_words(text), None, "{text}");
    }
}
