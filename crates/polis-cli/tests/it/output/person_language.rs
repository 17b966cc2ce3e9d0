//! Tests of the language of the person: which flag, variable, project or locale decides, and that everything a
//! command prints follows it.

use std::process::Command;

use crate::harness::english_text::english_sentences;
use crate::harness::test_project::{BLACKBOARD_EXE, CommandOutput, TestProject, program_command};

/// Returns a project whose configuration names a language.
fn project_in_language(language: &str) -> TestProject {
    let project = TestProject::uninitialized();
    project.run_ok("user", &["init", "--lang", language]);
    project
}

fn run(command: &mut Command, arguments: &[&str]) -> CommandOutput {
    CommandOutput::from_output(command.args(arguments).output().unwrap())
}

/// Asserts that a text has Chinese characters and no English sentence.
fn assert_chinese(text: &str) {
    let has_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    assert!(text.contains(has_chinese), "{text}");
    assert_eq!(english_sentences(text), Vec::<String>::new(), "{text}");
}

#[test]
fn language_follows_flag_then_variable_then_project_or_locale() {
    let (english, chinese) = (project_in_language("en"), project_in_language("zh"));
    for (project, flag, variable, locale, is_chinese) in [
        (&english, None, None, None, false),
        (&english, None, None, Some("de_DE.UTF-8"), false),
        (&english, None, None, Some("zh_CN.UTF-8"), true),
        (&english, None, Some("zh"), None, true),
        (&english, None, Some("zh_CN"), None, true),
        (&english, None, Some("en"), Some("zh_CN.UTF-8"), false),
        (&english, Some("zh"), Some("en"), None, true),
        (&chinese, None, None, None, true),
        (&chinese, None, None, Some("en_US.UTF-8"), true),
        (&chinese, None, Some(""), None, true),
        (&chinese, None, Some("fr"), None, true),
        (&chinese, None, Some("en"), None, false),
        (&chinese, Some("en"), Some("zh"), Some("zh_CN.UTF-8"), false),
    ] {
        let case = format!("{flag:?} {variable:?} {locale:?}");
        let command = || {
            let mut command = project.command();
            command.envs(variable.map(|value| ("POLIS_LANG", value)));
            command.envs(locale.map(|value| ("LANG", value)));
            command.args(flag.iter().flat_map(|flag| ["--lang", *flag]));
            command
        };
        let help = run(&mut command(), &["task", "--help"]);
        assert_eq!(help.stdout.contains("用法："), is_chinese, "{case}");
        assert_eq!(help.stdout.contains("Usage:"), !is_chinese, "{case}");
        let usage = run(&mut command(), &["task", "lits"]);
        assert_eq!(usage.stderr.starts_with("错误："), is_chinese, "{case}");
        assert_eq!(usage.stderr.starts_with("error: "), !is_chinese, "{case}");
        let refused = run(&mut command(), &["task", "get", "77"]);
        assert_eq!(refused.stderr.starts_with("错误："), is_chinese, "{case}");
        assert_eq!(refused.stderr.starts_with("Error: "), !is_chinese, "{case}");
    }
}

#[test]
fn flag_is_accepted_before_and_after_subcommand() {
    let project = project_in_language("en");
    for arguments in [
        &["--lang", "zh", "task", "--help"][..],
        &["task", "--lang=zh", "--help"],
        &["task", "create", "--lang", "zh"],
        &["task", "create", "--subject", "x", "--lang=zh", "--unknown"],
    ] {
        let output = run(&mut project.command(), arguments);
        assert!(
            (output.stdout + &output.stderr).contains("用法：polis task"),
            "{arguments:?}"
        );
    }
    // After `--` it belongs to the command that is run.
    let output = run(
        &mut project.command(),
        &["exec", "--unknown", "--", "tool", "--lang", "zh"],
    );
    assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
}

#[test]
fn commands_speak_chinese_in_a_chinese_project() {
    let project = project_in_language("zh");
    for (arguments, exit_code) in [
        (&["task", "list"][..], 0),
        (&["task", "create", "--subject", "写报告"], 0),
        (&["task", "list"], 0),
        (&["task", "get", "1"], 0),
        (&["task", "get", "77"], 4),
        (&["task", "list", "--limit", "0"], 2),
        (&["task"], 2),
        (&["agent", "add", "a b", "--role", "architect"], 2),
        (&["board", "read", "nowhere"], 2),
        (&["config", "check"], 0),
        (&["serve", "--help"], 0),
        (&["help", "run"], 0),
        (&["help", "task", "--lang", "zh"], 0),
        (&["--lang", "zh"], 2),
        (&["task", "--lang=zh"], 2),
        (&["message", "check", "--wait", "soon"], 2),
    ] {
        let output = run(&mut project.command(), arguments);
        assert_eq!(
            output.exit_code,
            Some(exit_code),
            "{arguments:?} {output:?}"
        );
        assert_chinese(&(output.stdout + &output.stderr));
    }
    let shown = run(&mut project.command(), &["config", "show"]).stdout;
    assert!(
        shown.contains("sandbox.timeout = \"1m\"\n    命令的默认超时。"),
        "{shown}"
    );
}

#[test]
fn help_is_shown_with_a_language_after_it() {
    let project = project_in_language("zh");
    let help = run(&mut project.command(), &["help", "task", "--lang", "en"]).stdout;
    assert!(help.contains("Usage: polis task"), "{help}");
    let help = run(&mut project.command(), &["--lang", "zh"]).stderr;
    assert!(help.contains("用法：polis"), "{help}");
}

#[test]
fn blackboard_program_has_the_same_language() {
    let project = project_in_language("zh");
    let mut command = program_command(BLACKBOARD_EXE, project.path());
    let help = run(&mut command, &["--help"]).stdout;
    assert_chinese(&help);
    assert!(help.contains("用法：blackboard [选项] <命令>"), "{help}");
    let mut command = program_command(BLACKBOARD_EXE, project.path());
    let help = run(&mut command, &["write", "--lang", "en", "--help"]).stdout;
    assert!(help.contains("Usage: blackboard write"), "{help}");
}

#[test]
fn generated_configuration_has_chinese_comments() {
    let project = project_in_language("zh");
    let text = std::fs::read_to_string(project.data_path("polis.toml")).unwrap();
    assert!(text.contains("\nlanguage = \"zh\"\n"), "{text}");
    let comments = text
        .lines()
        .filter(|line| line.starts_with("# ") && !line.contains(" = "));
    for comment in comments.filter(|line| !line.ends_with(']')) {
        assert_chinese(comment);
    }
}

#[test]
fn mistake_in_configuration_is_described_in_its_language() {
    let project = project_in_language("zh");
    for (mistake, expected) in [
        ("langage = \"zh\"", "是否指 \"language\""),
        ("[tasks]\ndefault_lease = 5", "应为字符串，实际为整数"),
        ("[tasks", "TOML 语法错误"),
    ] {
        let path = project.data_path("polis.toml");
        std::fs::write(path, format!("language = \"zh\"\n{mistake}\n")).unwrap();
        let refused = run(&mut project.command(), &["task", "list"]);
        assert_eq!(refused.exit_code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.starts_with("错误：polis.toml 第 "),
            "{refused:?}"
        );
        assert!(refused.stderr.contains(expected), "{refused:?}");
        let help = run(&mut project.command(), &["--help"]);
        assert!(help.stdout.contains("用法：polis"), "{help:?}");
    }
}

#[test]
fn language_of_untrusted_project_is_ignored() {
    let project = project_in_language("zh");
    let state = tempfile::TempDir::new().unwrap();
    let command = || {
        let mut command = project.command();
        command.env("POLIS_STATE_DIR", state.path());
        command
    };
    let help = run(&mut command(), &["--help"]);
    assert!(help.stdout.contains("Usage: polis"), "{help:?}");
    let refused = run(&mut command(), &["task", "list"]);
    assert!(
        refused.stderr.starts_with("Error: The polis project"),
        "{refused:?}"
    );
    let refused = run(command().env("LANG", "zh_CN.UTF-8"), &["task", "list"]);
    assert!(refused.stderr.starts_with("错误："), "{refused:?}");
    assert_chinese(&refused.stderr);
}

#[test]
fn json_output_has_the_same_names_in_each_language() {
    let project = project_in_language("zh");
    let documents: Vec<_> = ["en", "zh"]
        .iter()
        .map(|language| {
            let mut command = project.command();
            let output = run(
                command.env("POLIS_LANG", language),
                &["--json", "config", "show"],
            );
            output.expect_document()
        })
        .collect();
    assert_eq!(documents[0], documents[1]);
    let usage = run(&mut project.command(), &["--json", "task", "lits"]);
    let document: serde_json::Value = serde_json::from_str(&usage.stderr).unwrap();
    assert_eq!(document["error"]["code"], "invalid_input");
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("未知的子命令 'lits'"), "{message}");
}

#[test]
fn flag_chooses_language_of_team_roles() {
    let project = project_in_language("en");
    let show = |arguments: &[&str]| run(&mut project.command(), arguments).stdout;
    let english = show(&["society", "team", "show"]);
    let chinese = show(&["society", "team", "show", "--lang", "zh"]);
    let is_chinese = |text: &str| {
        text.matches(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
            .count()
            > 500
    };
    assert!(!is_chinese(&english) && is_chinese(&chinese));
    assert_eq!(show(&["--lang", "zh", "society", "team", "show"]), chinese);
}
