//! Tests of the live view: renders the screen as text after progress events.

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use polis_society::progress::{Progress, Step};

use super::run_state::{News, Post, Screen};
use super::terminal::Editor;
use super::{elapsed, line, money, status_block, tokens};
use crate::output::Output;

fn post(agent: &str, parent: Option<&str>, role: &str) -> Post {
    Post {
        agent: agent.to_owned(),
        parent: parent.map(ToOwned::to_owned),
        role: role.to_owned(),
        status: MemberStatus::Idle,
        why: None,
        tokens: 0,
    }
}

fn team() -> Vec<Post> {
    vec![
        post("root", None, "root"),
        post("arch", Some("root"), "架构师"),
        post("lexer-dev", Some("arch"), "程序员"),
        post("解析", Some("arch"), "程序员"),
        post("helper", Some("lexer-dev"), "tester"),
    ]
}

fn progress(agent: &str, step: Step) -> Progress {
    Progress {
        member: MemberKey::new("demo".parse().unwrap(), agent.parse().unwrap()),
        step,
    }
}

fn answered(prompt: u64, micros: u64, calls: usize, text: &str) -> Step {
    Step::Answered {
        text: text.to_owned(),
        calls,
        used: Used {
            prompt,
            answer: 100,
            micros,
            ..Used::default()
        },
    }
}

fn shown(screen: &Screen, now: i64, size: (usize, usize)) -> String {
    status_block::lines(screen, now, size, &Output::new(true, false)).join("\n")
}

#[test]
fn a_society_at_work_is_a_tree_with_everything_in_line() {
    let mut screen = Screen::new("calculator", 1_000);
    screen.seat(1_000, team());
    let calling = Step::Calling {
        tool: "run_command".to_owned(),
        about: "sh tests/lexer_test.sh".to_owned(),
    };
    screen.feed(
        2_000,
        &progress("arch", answered(12_000, 4_200, 2, "Three modules.")),
    );
    screen.feed(3_000, &progress("lexer-dev", calling));
    screen.feed(4_000, &progress("解析", Step::Thinking));
    let paused = Step::Stands(
        MemberStatus::Paused,
        Some("the budget is used up".to_owned()),
    );
    screen.feed(5_000, &progress("helper", paused));
    assert_eq!(
        shown(&screen, 66_000, (100, 24)),
        [
            "calculator  1:05  5 agents  1 turn  12.1k tokens  cost 0.0042",
            "root                      waits for a message",
            "└─ arch (架构师)          is about to go on",
            "   ├─ lexer-dev (程序员)  run_command 1:03 sh tests/lexer_test.sh",
            "   │  └─ helper (tester)  is paused: the budget is used up",
            "   └─ 解析 (程序员)       thinks 1:02",
        ]
        .join("\n")
    );
}

#[test]
fn a_narrow_and_low_terminal_shows_the_busy_ones() {
    let mut screen = Screen::new("calculator", 0);
    screen.seat(0, team());
    screen.feed(0, &progress("解析", Step::Thinking));
    let text = shown(&screen, 1_000, (30, 4));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("解析"), "{text}");
    assert!(text.ends_with("… and 3 more"), "{text}");
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 30, "{line}");
    }
}

#[test]
fn who_is_dismissed_leaves_and_who_stays_keeps_what_it_does() {
    let mut screen = Screen::new("t", 0);
    screen.seat(0, team());
    screen.feed(1, &progress("解析", Step::Thinking));
    screen.feed(
        2,
        &progress("helper", Step::Stands(MemberStatus::Gone, None)),
    );
    assert!(!shown(&screen, 3, (80, 24)).contains("helper"));
    let mut posts = team();
    posts.retain(|post| post.agent != "lexer-dev");
    posts.push(Post {
        status: MemberStatus::Gone,
        ..post("lexer-dev", Some("arch"), "程序员")
    });
    screen.seat(4, posts);
    let text = shown(&screen, 2_001, (80, 24));
    assert!(text.contains("解析 (程序员)  thinks 2s"), "{text}");
    assert!(!text.contains("lexer-dev"), "{text}");
    assert!(
        text.contains("\nhelper (tester)"),
        "who lost its parent is still there: {text}"
    );
}

#[test]
fn nothing_anybody_says_drives_the_terminal() {
    let mut screen = Screen::new("a\u{1b}[2J", 0);
    screen.seat(0, team());
    let evil = Step::Calling {
        tool: "run_command".to_owned(),
        about: "echo \u{1b}[31m\nrm".to_owned(),
    };
    screen.feed(0, &progress("arch", evil));
    assert!(!shown(&screen, 0, (80, 24)).contains('\u{1b}'));
    let news = News::ToUser {
        agent: "arch".to_owned(),
        id: 1,
        text: "\u{1b}[2J\u{202e}x".to_owned(),
    };
    assert!(!line::text(&news, 0, 0, &Output::new(true, false)).contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn lines_say_who_and_when() {
    let out = Output::new(true, false);
    let mut screen = Screen::new("t", 0);
    screen.seat(0, team());
    let said = screen
        .feed(1, &progress("arch", answered(1, 0, 0, "Done.\nReally.")))
        .unwrap();
    assert_eq!(
        line::text(&said, 65_000, 9, &out),
        "  1:05  arch          Done.\n                      Really."
    );
    let calling = Step::Calling {
        tool: "write_file".to_owned(),
        about: "calc.sh".to_owned(),
    };
    assert_eq!(screen.feed(1, &progress("解析", calling)), None);
    let called = Step::Called {
        tool: "write_file".to_owned(),
        end: CallEnd::Failed,
        ms: 1_500,
    };
    let called = screen.feed(2, &progress("解析", called)).unwrap();
    assert_eq!(
        line::text(&called, 2_000, 9, &out),
        "    2s  解析          → write_file calc.sh: refused or failed (1s)"
    );
    let waits = progress("arch", Step::Waiting("asked too often".to_owned()));
    assert!(screen.feed(3, &waits).is_some());
    assert_eq!(screen.feed(4, &waits), None, "said once");
    assert_eq!(
        line::document(&progress("arch", Step::Words("x".to_owned())), 1),
        None
    );
    let document = line::document(&progress("arch", Step::ToUser(7, "?".to_owned())), 9).unwrap();
    assert_eq!(
        document,
        serde_json::json!({"kind": "message", "id": 7, "text": "?", "at": 9, "taskId": "demo", "agent": "arch"})
    );
}

#[test]
fn numbers_are_read_at_a_glance() {
    for (millis, text) in [
        (0, "0s"),
        (59_999, "59s"),
        (60_000, "1:00"),
        (3_723_000, "1:02:03"),
        (-5, "0s"),
    ] {
        assert_eq!(elapsed(millis), text);
    }
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (12_345, "12.3k"),
        (999_999, "999.9k"),
        (4_567_890, "4.56M"),
    ] {
        assert_eq!(tokens(number), text);
    }
    for (micros, text) in [
        (0, "0.00"),
        (1, "0.0001"),
        (4_200, "0.0042"),
        (990_000, "0.9900"),
        (12_300_000, "12.30"),
    ] {
        assert_eq!(money(micros), text);
    }
}

#[test]
fn a_line_is_typed_with_wide_characters_mistakes_and_arrows() {
    let mut editor = Editor::default();
    let bytes = "好的".as_bytes();
    assert!(editor.keys(&bytes[..2]).is_empty());
    assert!(editor.keys(&bytes[2..]).is_empty());
    assert_eq!(editor.keys(b"x\x7f\x1b[A\x1b[3~\x1bOC ok\n"), ["好的 ok"]);
    assert_eq!(editor.keys(b"wrong\x15a b\x17c\r"), ["a c"]);
    assert_eq!(editor.keys(b"\xff\xfeyes\x00\nno\n"), ["yes", "no"]);
}
