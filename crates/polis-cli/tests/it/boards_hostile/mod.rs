//! Tests of boards under attack: huge and pathological Markdown here, invalid text in [`input`], and symlinks and pipes
//! planted in the place of files in [`planted`].
//!
//! `POLIS_HOSTILE_MB` sets the size of the texts; the durations of slow cases are then printed.

mod input;
mod planted;

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::board::{Answer, Board, feed};

/// Timeout far above the duration of any case, to detect hangs.
const LONG: Duration = Duration::from_secs(120);

fn size() -> usize {
    let megabytes = std::env::var_os("POLIS_HOSTILE_MB").and_then(|mb| mb.to_str()?.parse().ok());
    // The largest text that still accepts an append.
    megabytes.map_or(64 << 10, |mb: usize| (mb << 20) - (16 << 10))
}

/// Repeats a pattern up to the size.
fn filled(pattern: &str) -> String {
    pattern.repeat(size() / pattern.len())
}

fn twisted() -> Vec<(&'static str, String)> {
    let steps = |mark: &str, deepest: usize| {
        let line = |depth: usize| format!("{}{mark} x\n", " ".repeat(depth * 2));
        let ladder: String = (0..deepest).map(line).collect();
        ladder.repeat((size() / ladder.len()).max(1))
    };
    vec![
        ("lists in one line", filled("- ")),
        ("numbers in one line", filled("1. ")),
        ("quotes in one line", filled("> ")),
        ("quotes without room", filled(">")),
        ("lists and quotes", filled("> - ")),
        ("a ladder of lists", steps("-", 200)),
        ("a deep ladder of lists", steps("-", 500)),
        ("a ladder of tasks", steps("- [ ]", 100)),
        ("headings", filled("#\n")),
        ("headings with text", filled("## Same\n")),
        ("underlined headings", filled("a\n=\n")),
        ("one line", filled("x")),
        ("one line of words", filled("wort ")),
        ("one wide line", filled("宽")),
        ("line ends", filled("\n")),
        ("carriage returns", filled("\r")),
        ("fences", filled("```\n~~~\n")),
        (
            "a fence that never ends",
            format!("```\n{}", filled("# no heading\n")),
        ),
        ("fences in quotes", filled("> ```\n>> ~~~\n")),
        ("brackets", filled("[")),
        ("links in links", filled("[a](")),
        ("pictures", filled("![[")),
        ("stars", filled("*a_b**")),
        ("stars alone", filled("*")),
        (
            "back ticks",
            (1..)
                .map(|n| format!("{}a", "`".repeat(n)))
                .take(700)
                .collect(),
        ),
        ("tables", filled("|a|b|\n|-|-|\n|c|d|\n")),
        (
            "a wide table",
            format!("{}\n{}\n", "|a".repeat(20_000), "|-".repeat(20_000)),
        ),
        ("markup", filled("<div>\n\n")),
        ("comments", filled("<!-- ")),
        ("entities", filled("&amp;&#0;&#x10ffff;")),
        ("references", filled("[a]: b\n[a]\n")),
        ("escapes", filled("\\*\\_")),
        (
            "front matter that never ends",
            format!("---\n{}", filled("a: b\n")),
        ),
        ("combining marks", filled("a\u{301}\u{302}\u{303}")),
        (
            "decisions",
            filled("### Decision [D]\n- **Time**: x\n- **Signers**: a, b\n"),
        ),
        (
            "decisions in Chinese",
            filled("### 决策 [D]\n- **时间**: x\n- **签字**: a\n"),
        ),
        ("milestones", filled("- [ ] **M**: d\n")),
    ]
}

/// Runs a command that must end, with any answer, without crashing.
fn ends(board: &Board, args: &[&str], input: &[u8], what: &str) -> Answer {
    ends_with(&mut board.json_command("user", args), input, what)
}

fn ends_with(command: &mut Command, input: &[u8], what: &str) -> Answer {
    let begun = Instant::now();
    let answer = feed(command, input);
    let took = begun.elapsed();
    if std::env::var_os("POLIS_HOSTILE_MB").is_some() && took > Duration::from_millis(500) {
        let _ = writeln!(std::io::stderr(), "{took:>8.2?}  {what}");
    }
    assert!(took < LONG, "{what}: {took:?}");
    assert!(
        answer.exit.is_some(),
        "{what}: fell over: {:.300}",
        answer.stderr
    );
    assert_ne!(answer.exit, Some(1), "{what}: {:.300}", answer.stderr);
    assert!(
        !answer.stderr.contains("panicked"),
        "{what}: {:.300}",
        answer.stderr
    );
    answer
}

#[test]
fn twisted_markdown_is_read_and_edited() {
    for (name, text) in twisted() {
        let board = Board::embedded();
        let run = |args: &[&str], input: &str| {
            let verb = args.iter().take(4).copied().collect::<Vec<_>>().join(" ");
            ends(&board, args, input.as_bytes(), &format!("{name}: {verb}"))
        };
        let write = ["board", "write", "global", "--content", "-"];
        assert_eq!(run(&write, &text).exit, Some(0), "{name}");
        let read = run(&["board", "read", "global"], "").document();
        assert!(read["content"] == *text, "{name}: read back otherwise");
        run(&["board", "read", "global", "--section", "Same"], "");
        run(
            &["board", "read", "global", "--section", "nothing like it"],
            "",
        );
        run(&["board", "decisions", "global"], "");
        run(&["board", "milestones", "global"], "");
        for width in ["", "40"] {
            let mut command = board.command();
            command.env("COLUMNS", width);
            command.args(["board", "read", "global", "--render"]);
            let rendered = ends_with(&mut command, b"", &format!("{name}: render"));
            assert_eq!(rendered.exit, Some(0), "{name}");
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
