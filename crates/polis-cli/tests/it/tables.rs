//! Tests of tables for people: columns are aligned, wide characters included, and control characters do not reach the
//! terminal.

use unicode_width::UnicodeWidthStr as _;

use crate::board::{Board, on_both_stores};

/// Returns the display column at which a word begins.
fn column(line: &str, word: &str) -> usize {
    line[..line
        .find(word)
        .unwrap_or_else(|| panic!("{word} is not in {line}"))]
        .width()
}

fn chinese_lines_up(board: &Board) {
    board.ok(
        "user",
        &[
            "agent",
            "add",
            "程序员-1",
            "--role",
            "backend-leader",
            "--name",
            "小王同学",
        ],
    );
    board.ok(
        "user",
        &["agent", "add", "qa", "--role", "test-leader", "--name", "Q"],
    );
    board.ok(
        "user",
        &["task", "create", "--subject", "后端实现:订单服务"],
    );
    board.ok("user", &["task", "create", "--subject", "ship it"]);
    board.ok("程序员-1", &["task", "claim", "1"]);
    let tasks = board.shown("user", &["task", "list"]);
    let lines: Vec<&str> = tasks.lines().collect();
    let subject = column(lines[0], "SUBJECT");
    assert_eq!(column(lines[1], "后端实现"), subject, "{tasks}");
    assert_eq!(column(lines[2], "ship it"), subject, "{tasks}");
    assert_eq!(
        column(lines[1], "程序员-1"),
        column(lines[0], "OWNER"),
        "{tasks}"
    );
    let agents = board.shown("user", &["agent", "list"]);
    let lines: Vec<&str> = agents.lines().collect();
    let row = |name: &str| *lines.iter().find(|l| l.starts_with(name)).unwrap();
    assert_eq!(
        column(row("程序员-1"), "backend-leader"),
        column(lines[0], "ROLE"),
        "{agents}"
    );
    assert_eq!(
        column(row("qa"), "test-leader"),
        column(lines[0], "ROLE"),
        "{agents}"
    );
    assert_eq!(
        column(row("程序员-1"), "小王同学"),
        column(row("qa"), "Q"),
        "{agents}"
    );
}

fn imported_control_characters_do_not_reach_the_terminal(board: &Board) {
    let files = board.file("tasks");
    std::fs::create_dir(&files).unwrap();
    let task = "{\"id\":\"1\",\"subject\":\"a\\u001b[2Jb\",\"description\":\"x\\u0007\\ny\",\"status\":\"pending\",\
                \"owner\":\"e\\u001b]0;x\",\"activeForm\":\"q\\u009b1m\",\"metadata\":{\"k\":\"\\u001b[1m\"}}";
    std::fs::write(files.join("1.json"), task).unwrap();
    board.ok("user", &["task", "import", files.to_str().unwrap()]);
    for args in [
        &["task", "list"][..],
        &["task", "get", "1"],
        &["task", "history", "1"],
        &["log"],
        &["task", "graph"],
    ] {
        let shown = board.shown("user", args);
        let control = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{args:?}: {shown:?}");
    }
    assert_eq!(
        board.get("1")["subject"],
        "a\u{1b}[2Jb",
        "the text itself is kept"
    );
}

fn empty_lists_say_what_to_do(board: &Board) {
    for (args, says) in [
        (&["task", "list"][..], "polis task create"),
        (&["task", "ready"], "polis task graph"),
        (
            &["task", "list", "--status", "completed"],
            "polis task list",
        ),
        (&["agent", "list"], "polis agent add"),
        (&["agent", "tree"], "polis agent add"),
        (&["task", "graph"], "--add-blocked-by"),
        (&["task", "recommend"], "polis task graph"),
    ] {
        let shown = board.shown("user", args);
        assert!(shown.contains(says), "{args:?}: {shown}");
    }
}

on_both_stores!(
    chinese_lines_up,
    imported_control_characters_do_not_reach_the_terminal,
    empty_lists_say_what_to_do,
);
