//! Tests of the configuration keys: the template, errors with their line, and API keys that are not repeated
//! in errors.

use polis_i18n::{Surface, definitions, render_reason};

use super::*;
use crate::config::models_config::ENDPOINT_KEYS;

#[test]
fn template_contains_every_key_and_parses() {
    let config = parse_config(&config_template(UiLanguage::Zh)).unwrap();
    assert_eq!(config.language, "zh");
    let all = config_template(UiLanguage::En)
        .lines()
        .map(|l| l.trim_start_matches("# "))
        .filter(|l| l.contains(" = ") || l.starts_with('['))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(parse_config(&all).is_ok(), "{all}");
    for key in all_keys() {
        let name = key.name.rsplit('.').next().unwrap();
        assert!(all.contains(&format!("{name} = ")), "{name}");
    }
}

#[test]
fn parse_errors_name_line_and_suggestion() {
    let message = |text: &str| {
        render_reason(
            &parse_config(text).unwrap_err().reason,
            Surface::Cli,
            UiLanguage::En,
        )
        .message
    };
    assert_eq!(
        message("\nlangage = \"en\""),
        "polis.toml, line 2: unknown key \"langage\"; did you mean \"language\"?"
    );
    assert!(message("[tasks]\n\napproval_reqired = []").contains("line 3"));
    assert!(message("language = \"fr\"").contains("not one of en, zh"));
    assert!(message("patience = 5").contains("expected a string"));
    assert!(message("[tasks]\ndefault_lease = \"soon\"").contains("line 2"));
    let broken = message("[blackboard.writers]\na = [\"**\"]\nb = [\"tasks/[\"]");
    assert!(
        broken.starts_with("polis.toml, line 1: blackboard.writers: \"b\": "),
        "{broken}"
    );
    assert!(broken.contains("tasks/["), "{broken}");
    assert!(message("a = = b").contains("line 1"));
    assert!(
        message("[tasks]\napproval_required = [\"deploy\"]")
            .contains("did you mean \"deployment\"")
    );
    for (text, says) in [
        ("[society]\nagent = 3", "did you mean \"society.agents\"?"),
        ("[society]\ndepth = 0", "from 1 to 100"),
        (
            "[society.budget]\ntoken = 3",
            "did you mean \"society.budget.tokens\"?",
        ),
        ("[society]\nbudget.wall = \"soon\"", "line 2"),
        ("[models.a]\nmodle = \"m\"", "did you mean \"model\"?"),
        ("[models.a]\n\nprice_in = -1", "line 3"),
        (
            "[models]\ndefault = \"fats\"\n[models.fast]",
            "line 2: models.default: there is no [models.fats]; did you mean \"fast\"?",
        ),
        (
            "[models.a]\nkey_env = \"A\"\nkey_file = \"b\"",
            "line 1: models.a: only one of key_env",
        ),
        (
            "[models.a]\nbase_url = \"api.example.org\"",
            "http:// or https://",
        ),
        ("[models]\nfast = 3", "unknown key \"models.fast\""),
    ] {
        let message = message(text);
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn misplaced_api_key_is_not_echoed() {
    for text in [
        "[models.a]\nkey_env = \"sk-s3cret\"",
        "[models.a]\napi_key = \"sk-s3cret\"",
        "[models.a]\nbase_url = \"https://u:sk-s3cret@h/v1\"",
        "[models.a]\nbase_url = \"https://h/v1?key=sk-s3cret\"",
    ] {
        let message = render_reason(
            &parse_config(text).unwrap_err().reason,
            Surface::Cli,
            UiLanguage::En,
        )
        .message;
        assert!(
            message.contains("key_env") || message.contains("variable"),
            "{message}"
        );
        assert!(!message.contains("s3cret"), "{message}");
    }
}

fn has_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// Values that are the same in both languages have no Chinese character; a description always has one.
#[test]
fn every_key_has_chinese_texts() {
    let mut ids: Vec<String> = all_keys().map(|key| key.name.replace('.', "-")).collect();
    let endpoint_ids = ENDPOINT_KEYS
        .iter()
        .map(|key| format!("endpoint-{}", key.name));
    ids.extend(endpoint_ids);
    ids.sort();
    let table = definitions(DefinitionTable::Config, UiLanguage::Zh);
    let defined: Vec<&str> = table.iter().map(|definition| definition.id()).collect();
    assert_eq!(defined, ids);
    for definition in table {
        let id = definition.id();
        assert!(definition.text().is_some_and(has_chinese), "{id}");
        let parts: Vec<&str> = definition
            .attributes()
            .iter()
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(parts, ["accepts"], "{id}");
        assert!(
            definition.attribute("accepts").is_some_and(has_chinese),
            "{id}"
        );
    }
}

#[test]
fn comments_of_chinese_template_are_chinese() {
    let template = config_template(UiLanguage::Zh);
    for line in template.lines() {
        let is_comment = line.starts_with("# ") && !line.contains(" = ") && !line.ends_with(']');
        assert!(!is_comment || has_chinese(line), "{line}");
    }
    assert!(template.contains("# 命令的默认超时。取值：时长。\n# timeout = \"1m\"\n"));
}

#[test]
fn parse_errors_are_in_language_of_person() {
    for (text, expected) in [
        (
            "patience = 5",
            "polis.toml 第 1 行：patience：应为字符串，实际为整数。",
        ),
        (
            "\nlangage = \"en\"",
            "polis.toml 第 2 行：未知的键 \"langage\"（是否指 \"language\"？）。",
        ),
        (
            "patience = \"soon\"",
            "polis.toml 第 1 行：patience：\"soon\" 不是 30m、90s、2h 或 7d 这样的时长。",
        ),
    ] {
        let refusal = parse_config(text).unwrap_err();
        let text = render_reason(&refusal.reason, Surface::Cli, UiLanguage::Zh);
        assert_eq!(text.message, expected);
    }
}
