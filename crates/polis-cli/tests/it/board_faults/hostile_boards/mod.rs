//! Tests of boards under attack: huge and pathological Markdown here, invalid text in
//! [`hostile_board_input`], and symlinks and FIFOs planted in place of files in [`planted_board_files`].
//!
//! `POLIS_HOSTILE_MB` sets the size of the texts; the durations of slow cases are then printed.

mod hostile_board_input;
mod planted_board_files;

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::test_project::{CommandOutput, TestProject, run_with_stdin};

/// Timeout far above the duration of any case, to detect hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

fn hostile_text_bytes() -> usize {
    let megabytes = std::env::var_os("POLIS_HOSTILE_MB").and_then(|mb| mb.to_str()?.parse().ok());
    // The largest text that still accepts an append.
    megabytes.map_or(64 << 10, |mb: usize| (mb << 20) - (16 << 10))
}

/// Repeats a pattern up to the size.
fn repeat_to_size(pattern: &str) -> String {
    pattern.repeat(hostile_text_bytes() / pattern.len())
}

fn pathological_texts() -> Vec<(&'static str, String)> {
    let steps = |mark: &str, deepest: usize| {
        let line = |depth: usize| format!("{}{mark} x\n", " ".repeat(depth * 2));
        let ladder: String = (0..deepest).map(line).collect();
        ladder.repeat((hostile_text_bytes() / ladder.len()).max(1))
    };
    vec![
        ("lists in one line", repeat_to_size("- ")),
        ("numbers in one line", repeat_to_size("1. ")),
        ("quotes in one line", repeat_to_size("> ")),
        ("quotes without room", repeat_to_size(">")),
        ("lists and quotes", repeat_to_size("> - ")),
        ("a ladder of lists", steps("-", 200)),
        ("a deep ladder of lists", steps("-", 500)),
        ("a ladder of tasks", steps("- [ ]", 100)),
        ("headings", repeat_to_size("#\n")),
        ("headings with text", repeat_to_size("## Same\n")),
        ("underlined headings", repeat_to_size("a\n=\n")),
        ("one line", repeat_to_size("x")),
        ("one line of words", repeat_to_size("wort ")),
        ("one wide line", repeat_to_size("宽")),
        ("line ends", repeat_to_size("\n")),
        ("carriage returns", repeat_to_size("\r")),
        ("fences", repeat_to_size("```\n~~~\n")),
        (
            "a fence that never ends",
            format!("```\n{}", repeat_to_size("# no heading\n")),
        ),
        ("fences in quotes", repeat_to_size("> ```\n>> ~~~\n")),
        ("brackets", repeat_to_size("[")),
        ("links in links", repeat_to_size("[a](")),
        ("pictures", repeat_to_size("![[")),
        ("stars", repeat_to_size("*a_b**")),
        ("stars alone", repeat_to_size("*")),
        (
            "back ticks",
            (1..)
                .map(|n| format!("{}a", "`".repeat(n)))
                .take(700)
                .collect(),
        ),
        ("tables", repeat_to_size("|a|b|\n|-|-|\n|c|d|\n")),
        (
            "a wide table",
            format!("{}\n{}\n", "|a".repeat(20_000), "|-".repeat(20_000)),
        ),
        ("markup", repeat_to_size("<div>\n\n")),
        ("comments", repeat_to_size("<!-- ")),
        ("entities", repeat_to_size("&amp;&#0;&#x10ffff;")),
        ("references", repeat_to_size("[a]: b\n[a]\n")),
        ("escapes", repeat_to_size("\\*\\_")),
        (
            "front matter that never ends",
            format!("---\n{}", repeat_to_size("a: b\n")),
        ),
        ("combining marks", repeat_to_size("a\u{301}\u{302}\u{303}")),
        (
            "decisions",
            repeat_to_size("### Decision [D]\n- **Time**: x\n- **Signers**: a, b\n"),
        ),
        (
            "decisions in Chinese",
            repeat_to_size("### 决策 [D]\n- **时间**: x\n- **签字**: a\n"),
        ),
        ("milestones", repeat_to_size("- [ ] **M**: d\n")),
    ]
}

/// Runs a command that must end, with any answer, without crashing.
fn run_to_end(project: &TestProject, args: &[&str], input: &[u8], what: &str) -> CommandOutput {
    run_command_to_end(&mut project.json_command("user", args), input, what)
}

fn run_command_to_end(command: &mut Command, input: &[u8], what: &str) -> CommandOutput {
    let begun = Instant::now();
    let answer = run_with_stdin(command, input);
    let took = begun.elapsed();
    if std::env::var_os("POLIS_HOSTILE_MB").is_some() && took > Duration::from_millis(500) {
        let _ = writeln!(std::io::stderr(), "{took:>8.2?}  {what}");
    }
    assert!(took < HANG_TIMEOUT, "{what}: {took:?}");
    assert!(
        answer.exit_code.is_some(),
        "{what}: crashed: {:.300}",
        answer.stderr
    );
    assert_ne!(answer.exit_code, Some(1), "{what}: {:.300}", answer.stderr);
    assert!(
        !answer.stderr.contains("panicked"),
        "{what}: {:.300}",
        answer.stderr
    );
    answer
}

#[test]
fn pathological_markdown_is_read_and_edited() {
    for (name, text) in pathological_texts() {
        let project = TestProject::embedded();
        let run = |args: &[&str], input: &str| {
            let verb = args.iter().take(4).copied().collect::<Vec<_>>().join(" ");
            run_to_end(&project, args, input.as_bytes(), &format!("{name}: {verb}"))
        };
        let write = ["board", "write", "global", "--content", "-"];
        assert_eq!(run(&write, &text).exit_code, Some(0), "{name}");
        let read = run(&["board", "read", "global"], "").expect_document();
        assert!(read["content"] == *text, "{name}: read back differently");
        run(&["board", "read", "global", "--section", "Same"], "");
        run(
            &["board", "read", "global", "--section", "nothing like it"],
            "",
        );
        run(&["board", "decisions", "global"], "");
        run(&["board", "milestones", "global"], "");
        for width in ["", "40"] {
            let mut command = project.command();
            command.env("COLUMNS", width);
            command.args(["board", "read", "global", "--render"]);
            let rendered = run_command_to_end(&mut command, b"", &format!("{name}: render"));
            assert_eq!(rendered.exit_code, Some(0), "{name}");
        }
        run(
            &[
                "board",
                "section",
                "set",
                "global",
                "Mine",
                "--content",
                "text",
            ],
            "",
        );
        run(
            &[
                "board",
                "section",
                "append",
                "global",
                "Mine",
                "--content",
                "more",
            ],
            "",
        );
        run(&["board", "section", "delete", "global", "Mine"], "");
        run(
            &["board", "decision", "propose", "--content", "We go on."],
            "",
        );
        run(
            &["board", "milestone", "add", "M1", "--description", "d"],
            "",
        );
        run(&["board", "append", "global", "--content", "entry"], "");
        run(&["board", "diff", "global", "0", "1"], "");
        run(&["board", "diff", "global", "1"], "");
        // Merges with the original text, and with one that has nothing in common.
        let mut mine = text.clone();
        mine.insert_str(0, "mine\n");
        let merge = [
            "board",
            "write",
            "global",
            "--expect",
            "1",
            "--merge",
            "--content",
            "-",
        ];
        run(&merge, &mine);
        run(&merge, "short");
        run(&["board", "history", "global"], "");
    }
}
