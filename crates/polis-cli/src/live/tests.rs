//! Tests of the live view: the rendered status block, news lines and JSON documents after progress events,
//! number formatting, and the line editor.

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_i18n::UiLanguage;
use polis_society::progress_event::{ProgressEvent, ProgressStep};

use super::live_terminal::LineEditor;
use super::run_state::{LiveRun, MemberSnapshot, NewsItem};
use super::{format_elapsed, format_tokens, progress_line, status_block};
use crate::cli::GlobalArgs;
use crate::output::CliOutput;
use crate::person_language::PersonLanguage;

fn idle_member(agent: &str, parent: Option<&str>, role: &str) -> MemberSnapshot {
    MemberSnapshot {
        agent: agent.to_owned(),
        parent: parent.map(ToOwned::to_owned),
        role: role.to_owned(),
        status: MemberStatus::Idle,
        reason: None,
        tokens: 0,
    }
}

fn sample_team() -> Vec<MemberSnapshot> {
    vec![
        idle_member("root", None, "root"),
        idle_member("arch", Some("root"), "架构师"),
        idle_member("lexer-dev", Some("arch"), "程序员"),
        idle_member("解析", Some("arch"), "程序员"),
        idle_member("helper", Some("lexer-dev"), "tester"),
    ]
}

fn progress_of(agent: &str, step: ProgressStep) -> ProgressEvent {
    ProgressEvent {
        member: MemberKey::new("demo".parse().unwrap(), agent.parse().unwrap()),
        step,
    }
}

fn answered_step(prompt: u64, micros: u64, calls: usize, text: &str) -> ProgressStep {
    ProgressStep::ResponseReceived {
        text: text.to_owned(),
        calls,
        used: ModelUsage {
            prompt,
            response: 100,
            micros,
            ..ModelUsage::default()
        },
    }
}

fn render_status(screen: &LiveRun, now: i64, size: (usize, usize)) -> String {
    status_block::render_block(screen, now, size, &CliOutput::new(true, false)).join("\n")
}

fn chinese_output() -> CliOutput {
    let globals = GlobalArgs {
        dir: None,
        store: None,
        agent: None,
        json: true,
        verbose: false,
        lang: None,
        language: PersonLanguage::fixed(UiLanguage::Zh),
    };
    CliOutput::for_flags(&globals)
}

#[test]
fn status_block_renders_member_tree() {
    let mut screen = LiveRun::new("calculator", 1_000);
    screen.set_members(1_000, sample_team());
    let calling = ProgressStep::ToolCallStarted {
        tool: "run_command".to_owned(),
        about: "sh tests/lexer_test.sh".to_owned(),
    };
    screen.apply_progress(
        2_000,
        &progress_of("arch", answered_step(12_000, 4_200, 2, "Three modules.")),
    );
    screen.apply_progress(3_000, &progress_of("lexer-dev", calling));
    screen.apply_progress(4_000, &progress_of("解析", ProgressStep::RequestStarted));
    let paused = ProgressStep::StatusChanged(
        MemberStatus::Paused,
        Some("the budget is used up".to_owned()),
    );
    screen.apply_progress(5_000, &progress_of("helper", paused));
    assert_eq!(
        render_status(&screen, 66_000, (100, 24)),
        [
            "calculator  1:05  5 agents  1 turn  12.1k tokens  cost 0.0042",
            "root                      idle",
            "└─ arch (架构师)          ready",
            "   ├─ lexer-dev (程序员)  run_command 1:03 sh tests/lexer_test.sh",
            "   │  └─ helper (tester)  is paused: the budget is used up",
            "   └─ 解析 (程序员)       thinking 1:02",
        ]
        .join("\n")
    );
}

#[test]
fn chinese_output_aligns_columns_by_display_width() {
    let out = chinese_output();
    let mut screen = LiveRun::new("计算器", 0);
    screen.set_members(0, sample_team());
    screen.apply_progress(0, &progress_of("解析", ProgressStep::RequestStarted));
    let paused = ProgressStep::StatusChanged(MemberStatus::Paused, Some("预算已用完".to_owned()));
    let news = screen
        .apply_progress(0, &progress_of("helper", paused))
        .unwrap();
    assert_eq!(
        status_block::render_block(&screen, 7_000, (100, 5), &out).join("\n"),
        [
            "计算器  7 秒  5 个智能体  0 个回合  0 token",
            "root                      空闲",
            "   │  └─ helper (tester)  已暂停：预算已用完",
            "   └─ 解析 (程序员)       思考中 7 秒",
            "……另有 2 个",
        ]
        .join("\n")
    );
    assert_eq!(
        progress_line::render_news(&news, 7_000, 9, &out),
        "  7 秒  helper        已暂停：预算已用完"
    );
    let message = NewsItem::MessageToPerson {
        agent: "arch".to_owned(),
        id: 3,
        text: "用什么语言？".to_owned(),
    };
    assert_eq!(
        progress_line::render_news(&message, 65_000, 9, &out),
        "  1:05  arch          发给您（消息 3）：用什么语言？"
    );
}

#[test]
fn small_terminal_shows_busy_members_first() {
    let mut screen = LiveRun::new("calculator", 0);
    screen.set_members(0, sample_team());
    screen.apply_progress(0, &progress_of("解析", ProgressStep::RequestStarted));
    let text = render_status(&screen, 1_000, (30, 4));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("解析"), "{text}");
    assert!(text.ends_with("… and 3 more"), "{text}");
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 30, "{line}");
    }
}

#[test]
fn dismissed_member_disappears_and_others_keep_activity() {
    let mut screen = LiveRun::new("t", 0);
    screen.set_members(0, sample_team());
    screen.apply_progress(1, &progress_of("解析", ProgressStep::RequestStarted));
    screen.apply_progress(
        2,
        &progress_of(
            "helper",
            ProgressStep::StatusChanged(MemberStatus::Dismissed, None),
        ),
    );
    assert!(!render_status(&screen, 3, (80, 24)).contains("helper"));
    let mut snapshots = sample_team();
    snapshots.retain(|snapshot| snapshot.agent != "lexer-dev");
    snapshots.push(MemberSnapshot {
        status: MemberStatus::Dismissed,
        ..idle_member("lexer-dev", Some("arch"), "程序员")
    });
    screen.set_members(4, snapshots);
    let text = render_status(&screen, 2_001, (80, 24));
    assert!(text.contains("解析 (程序员)  thinking 2s"), "{text}");
    assert!(!text.contains("lexer-dev"), "{text}");
    assert!(
        text.contains("\nhelper (tester)"),
        "who lost its parent is still there: {text}"
    );
}

#[test]
fn control_characters_are_not_sent_to_terminal() {
    let mut screen = LiveRun::new("a\u{1b}[2J", 0);
    screen.set_members(0, sample_team());
    let evil = ProgressStep::ToolCallStarted {
        tool: "run_command".to_owned(),
        about: "echo \u{1b}[31m\nrm".to_owned(),
    };
    screen.apply_progress(0, &progress_of("arch", evil));
    assert!(!render_status(&screen, 0, (80, 24)).contains('\u{1b}'));
    let news = NewsItem::MessageToPerson {
        agent: "arch".to_owned(),
        id: 1,
        text: "\u{1b}[2J\u{202e}x".to_owned(),
    };
    assert!(
        !progress_line::render_news(&news, 0, 0, &CliOutput::new(true, false))
            .contains(['\u{1b}', '\u{202e}'])
    );
}

#[test]
fn news_lines_contain_time_and_agent() {
    let out = CliOutput::new(true, false);
    let mut screen = LiveRun::new("t", 0);
    screen.set_members(0, sample_team());
    let news = screen
        .apply_progress(
            1,
            &progress_of("arch", answered_step(1, 0, 0, "Done.\nReally.")),
        )
        .unwrap();
    assert_eq!(
        progress_line::render_news(&news, 65_000, 9, &out),
        "  1:05  arch          Done.\n                      Really."
    );
    let calling = ProgressStep::ToolCallStarted {
        tool: "write_file".to_owned(),
        about: "calc.sh".to_owned(),
    };
    assert_eq!(
        screen.apply_progress(1, &progress_of("解析", calling)),
        None
    );
    let called = ProgressStep::ToolCallEnded {
        tool: "write_file".to_owned(),
        end: CallOutcome::Failed,
        ms: 1_500,
    };
    let called = screen
        .apply_progress(2, &progress_of("解析", called))
        .unwrap();
    assert_eq!(
        progress_line::render_news(&called, 2_000, 9, &out),
        "    2s  解析          → write_file calc.sh: refused or failed (1s)"
    );
    let waits = progress_of(
        "arch",
        ProgressStep::RequestRetried("asked too often".to_owned()),
    );
    assert!(screen.apply_progress(3, &waits).is_some());
    assert_eq!(screen.apply_progress(4, &waits), None, "said once");
    assert_eq!(
        progress_line::progress_document(
            &progress_of("arch", ProgressStep::TextStreamed("x".to_owned())),
            1
        ),
        None
    );
    let document = progress_line::progress_document(
        &progress_of("arch", ProgressStep::MessageToUser(7, "?".to_owned())),
        9,
    )
    .unwrap();
    assert_eq!(
        document,
        serde_json::json!({"kind": "message", "id": 7, "text": "?", "at": 9, "runId": "demo", "taskId": "demo", "agent": "arch"})
    );
}

#[test]
fn numbers_are_formatted_compactly() {
    for (millis, text) in [
        (0, "0s"),
        (59_999, "59s"),
        (60_000, "1:00"),
        (3_723_000, "1:02:03"),
        (-5, "0s"),
    ] {
        assert_eq!(format_elapsed(millis, UiLanguage::En), text);
    }
    assert_eq!(format_elapsed(59_999, UiLanguage::Zh), "59 秒");
    assert_eq!(format_elapsed(3_723_000, UiLanguage::Zh), "1:02:03");
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (12_345, "12.3k"),
        (999_999, "999.9k"),
        (4_567_890, "4.56M"),
    ] {
        assert_eq!(format_tokens(number), text);
    }
}

#[test]
fn line_editor_handles_utf8_backspace_and_arrows() {
    let mut editor = LineEditor::default();
    let bytes = "好的".as_bytes();
    assert!(editor.handle_keys(&bytes[..2]).is_empty());
    assert!(editor.handle_keys(&bytes[2..]).is_empty());
    assert_eq!(
        editor.handle_keys(b"x\x7f\x1b[A\x1b[3~\x1bOC ok\n"),
        ["好的 ok"]
    );
    assert_eq!(editor.handle_keys(b"wrong\x15a b\x17c\r"), ["a c"]);
    assert_eq!(editor.handle_keys(b"\xff\xfeyes\x00\nno\n"), ["yes", "no"]);
}
