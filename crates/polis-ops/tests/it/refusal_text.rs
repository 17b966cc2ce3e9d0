//! Tests for refusals in the form that a model reads, whose text alone is complete, and for sources without
//! texts of one surface.

use std::path::{Path, PathBuf};

use polis_core::refusal::Reason;
use polis_core::workspace::command_policy::SandboxTier;
use polis_core::{Refusal, RefusalCode, RefusalDetails, Timestamp};
use polis_i18n::UiLanguage;
use polis_ops::OpError;
use polis_ops::tool::ToolOutput;
use serde_json::Value;

fn test_time() -> Timestamp {
    Timestamp::parse("2026-11-18T01:02:03.004Z").unwrap()
}

/// Returns one refusal for each kind of details.
fn refusals_with_details() -> Vec<Refusal> {
    let details = [
        RefusalDetails::Version {
            current_version: 7,
            last_modified_by: "ana".to_owned(),
            last_modified_at: Some(test_time()),
            diff: Some("--- a\n+++ b\n-old\n+new\n".to_owned()),
            merge: Some("<<<<<<< yours\nx\n>>>>>>>\n".to_owned()),
        },
        RefusalDetails::Locked {
            holder: "bo".to_owned(),
            expires_at: test_time(),
        },
        RefusalDetails::Blocked {
            reason: "危险命令被禁止: sudo".to_owned(),
        },
        RefusalDetails::Hash {
            current_hash: "0f".repeat(32),
        },
        RefusalDetails::TimedOut {
            timed_out: true,
            timeout_ms: 1_234,
            stdout: "first\nsecond\n".to_owned(),
            stderr: "one complaint".to_owned(),
            duration_ms: 1_240,
            sandbox: SandboxTier::Full,
            truncated: true,
            spool: Some("out/1".to_owned()),
        },
    ];
    let refusal = |details| {
        Refusal::new(
            RefusalCode::WRONG_STATE,
            Reason::new("operation-key-reused"),
        )
        .with_details(details)
    };
    details.into_iter().map(refusal).collect()
}

/// Formats a value as it appears in a line of text.
fn format_leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim_end().to_owned(),
        other => other.to_string(),
    }
}

#[test]
fn refusal_text_contains_all_document_fields() {
    for refusal in refusals_with_details() {
        let answer = ToolOutput::from_error(&OpError::from(refusal), UiLanguage::En, true);
        let error = answer.document["error"].as_object().unwrap();
        assert!(error.len() > 3, "no particulars: {error:?}");
        for (name, value) in error {
            let text = &answer.text;
            assert!(text.contains(&format_leaf(value)), "{name}={value}: {text}");
            if !["code", "message", "hint"].contains(&name.as_str()) {
                assert!(text.contains(&format!("\n{name}:")), "{name}: {text}");
            }
        }
    }
}

#[test]
fn long_details_are_truncated_separately() {
    let refusal = Refusal::new(
        RefusalCode::COMMAND_TIMEOUT,
        Reason::new("operation-key-reused"),
    )
    .with_details(RefusalDetails::TimedOut {
        timed_out: true,
        timeout_ms: 1,
        stdout: format!("{}last line\n", "out\n".repeat(100_000)),
        stderr: format!("{}the reason\n", "err\n".repeat(100_000)),
        duration_ms: 1,
        sandbox: SandboxTier::Full,
        truncated: false,
        spool: None,
    });
    let text = ToolOutput::from_error(&OpError::from(refusal), UiLanguage::En, true).text;
    assert!(text.len() < 28_000, "{}", text.len());
    for part in ["last line", "the reason", "timeoutMs: 1"] {
        assert!(text.contains(part), "{part}");
    }
}

/// The crates whose refusals reach several surfaces. Their texts are in the message catalogue.
const CRATES: [&str; 6] = [
    "polis-core",
    "polis-ops",
    "polis-serve",
    "polis-society",
    "polis-store",
    "polis-workspace",
];

fn files_below(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            files_below(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// Returns the string literals of a Rust file before its unit tests, unescaped; comments are skipped.
fn string_literals(source: &str) -> Vec<String> {
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
pub(crate) fn find_cli_syntax(text: &str) -> Option<&str> {
    let command = text.find("`polis ");
    let mut options = text.match_indices("--").map(|(at, _)| at);
    let option = options.find(|at| {
        let before = text.get(..*at).and_then(|before| before.chars().last());
        let after = text.get(at + 2..).and_then(|after| after.chars().next());
        before.is_none_or(|c| " (`/".contains(c)) && after.is_some_and(|c| c.is_ascii_lowercase())
    });
    text.get(command.into_iter().chain(option).min()?..)
}

/// A command or an option of one surface in a text for all of them would be wrong on the others.
#[test]
fn sources_name_no_command_or_option() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        files_below(&crates.join(name).join("src"), &mut files);
    }
    let (mut checked, mut found) = (0, Vec::new());
    for file in files {
        let shown = file.strip_prefix(crates).unwrap().display().to_string();
        for literal in string_literals(&std::fs::read_to_string(&file).unwrap()) {
            // A single word is not a sentence: the blocklist names options of other programs.
            if !literal.contains(' ') {
                continue;
            }
            checked += 1;
            if let Some(words) = find_cli_syntax(&literal) {
                found.push(format!("{shown}: {words:?} in {literal:?}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Guards against finding no literals, in which case nothing would have been checked.
    assert!(checked > 500, "{checked}");
}

/// Texts of the catalogue that models see name tools, not commands.
#[test]
fn texts_for_models_name_no_command_or_option() {
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../polis-i18n");
    let mut checked = 0;
    for language in ["en", "zh"] {
        let locale = catalogue.join("locales").join(language);
        let mut files = Vec::new();
        files_below(&locale, &mut files);
        files.retain(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap();
            name.starts_with("tool-") || ["mcp", "prompt", "society"].contains(&name)
        });
        files.push(
            catalogue
                .join("definitions")
                .join(language)
                .join("tools.ftl"),
        );
        for file in files {
            for line in std::fs::read_to_string(&file).unwrap().lines() {
                checked += 1;
                assert_eq!(find_cli_syntax(line), None, "{}", file.display());
            }
        }
    }
    assert!(checked > 800, "{checked}");
}

#[test]
fn find_cli_syntax_finds_commands_and_options() {
    for text in [
        "run `polis task list`",
        "or add --merge",
        "(`--lines`)",
        "--x",
        "a / --remove-blocks",
    ] {
        assert!(find_cli_syntax(text).is_some(), "{text}");
    }
    for text in [
        "",
        "a -- b",
        "--- a",
        "x--y",
        "polis serve",
        "`whiteboard_read`",
    ] {
        assert_eq!(find_cli_syntax(text), None, "{text}");
    }
}
