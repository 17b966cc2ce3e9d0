//! Key binding tests: navigation, selection, filters, forms, task actions and the mouse, with their effects
//! on the store and on the frame.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, TaskStatus};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{
    AppEffect, AppMessage, DisplayError, Overlay, Route, StatusNotice, UserAction, update_app,
};
use polis_view::UiLanguage;

use crate::test_tui::{
    TestTui, open_default_tui, open_narrow_with_board, task_id, update_task_as_lead,
};

fn task_status_and_owner(tui: &TestTui, number: u64) -> (TaskStatus, String) {
    let view = tui
        .block_on(op::get_task(&tui.app().person_request(), task_id(number)))
        .unwrap();
    (view.task.status, view.task.owner)
}

#[test]
fn digits_and_tab_key_switch_tabs() {
    let mut tui = open_default_tui(Tab::Overview);
    for (key, tab) in ["1", "2", "3", "4", "5", "6"].iter().zip(Tab::ALL) {
        tui.press_keys(key);
        assert_eq!(tui.app.tab, tab);
    }
    tui.press_keys("<tab>");
    assert_eq!(tui.app.tab, Tab::Overview);
}

#[test]
fn selection_stays_on_rows_and_skips_headings() {
    let mut tui = open_default_tui(Tab::Tasks);
    for (keys, selected) in [
        ("", 1),
        ("k", 1),
        ("j", 3),
        ("j", 4),
        ("jjj", 4),
        ("gg", 1),
        ("G", 4),
        ("<c-u>", 1),
        ("<c-d>", 4),
        ("k", 3),
        ("k", 1),
    ] {
        tui.press_keys(keys);
        assert_eq!(tui.app.page().unwrap().selected, selected, "{keys}");
    }
}

#[test]
fn enter_opens_item_and_escape_goes_back() {
    let mut tui = open_default_tui(Tab::Tasks);
    for (keys, place) in [
        ("<enter>", Route::Task(task_id(1))),
        ("<esc>", Route::Tasks),
        ("jl", Route::Task(task_id(3))),
        ("h", Route::Tasks),
        ("h", Route::Tasks),
        ("3<enter>", Route::Board(BoardName::Global)),
        ("v", Route::Versions(BoardName::Global)),
        ("<enter>", Route::VersionDiff(BoardName::Global, 2)),
        ("hh", Route::Board(BoardName::Global)),
        ("o", Route::Decisions(BoardName::Global)),
        ("33", Route::Boards),
    ] {
        tui.press_keys(keys);
        assert_eq!(tui.app.page().unwrap().route, place, "{keys}");
    }
}

#[test]
fn tasks_are_claimed_moved_completed_and_deleted() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("jc");
    assert_eq!(
        task_status_and_owner(&tui, 3),
        (TaskStatus::InProgress, "user".into())
    );
    assert_eq!(
        tui.app.notice,
        Some(StatusNotice::Done("Claimed #3.".into()))
    );
    tui.press_keys("ggu");
    assert_eq!(
        task_status_and_owner(&tui, 3),
        (TaskStatus::InProgress, String::new())
    );
    tui.press_keys("c]");
    assert_eq!(task_status_and_owner(&tui, 3).0, TaskStatus::Completed);
    tui.press_keys("GD");
    assert!(matches!(tui.app.overlay, Some(Overlay::Confirm { .. })));
    tui.press_keys("n");
    assert_eq!(task_status_and_owner(&tui, 3).0, TaskStatus::Completed);
    tui.press_keys("Dy");
    assert_eq!(task_status_and_owner(&tui, 3).0, TaskStatus::Deleted);
    assert!(!tui.shows_text("Deploy to staging"));
}

/// A completed task cannot be reopened, and a single key is easily pressed by mistake.
#[test]
fn completing_another_agents_task_asks_for_confirmation() {
    for key in ["]", "x"] {
        let mut tui = open_default_tui(Tab::Tasks);
        tui.press_keys(key);
        let Some(Overlay::Confirm { question, .. }) = &tui.app.overlay else {
            panic!("{key}: {:?}", tui.app.overlay);
        };
        assert!(question.contains("backend holds task #1"), "{question}");
        tui.press_keys("n");
        assert_eq!(
            task_status_and_owner(&tui, 1),
            (TaskStatus::InProgress, "backend".into())
        );
        tui.press_keys(key);
        tui.press_keys("y");
        assert_eq!(task_status_and_owner(&tui, 1).0, TaskStatus::Completed);
    }
}

#[test]
fn refusal_shows_code_message_and_hint() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("[");
    let Some(Overlay::Error(refused, None)) = &tui.app.overlay else {
        panic!("{:?}", tui.app.overlay);
    };
    assert_eq!(refused.code, "invalid_transition");
    assert!(tui.shows_text("invalid_transition") && tui.shows_text("→ choose an allowed status"));
    tui.press_keys("<esc>");
    assert!(tui.app.overlay.is_none());
    assert_eq!(task_status_and_owner(&tui, 1).0, TaskStatus::InProgress);
}

#[test]
fn task_form_creates_task_and_requires_subject() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("a<enter>");
    assert!(
        matches!(tui.app.overlay, Some(Overlay::Form(_))),
        "a subject is needed"
    );
    tui.press_keys("写 the docs<tab>at length<enter>");
    assert_eq!(
        tui.app.notice,
        Some(StatusNotice::Done("Created task #4.".into()))
    );
    assert!(tui.shows_text("写 the docs"));
    let made = tui
        .block_on(op::get_task(&tui.app().person_request(), task_id(4)))
        .unwrap();
    assert_eq!(made.task.description, "at length");
}

#[test]
fn tasks_are_listed_by_priority_with_mark() {
    let mut tui = TestTui::with_empty_store(UiLanguage::En, (100, 30), Tab::Tasks);
    tui.load_first_page();
    tui.press_keys("aplain<enter>");
    tui.press_keys("aurgent<tab><tab><tab><tab>critical<enter>");
    tui.press_keys("anewest<enter>");
    let frame = tui.frame();
    let line = |text: &str| frame.iter().position(|line| line.contains(text));
    let [urgent, newest, plain] = ["[critical] urgent", "newest", "plain"]
        .map(|text| line(text).unwrap_or_else(|| panic!("{text}: {}", frame.join("\n"))));
    assert!(urgent < newest && newest < plain, "{}", frame.join("\n"));
    tui.press_keys("aodd<tab><tab><tab><tab>urgent<enter>");
    assert!(
        tui.shows_text("Unknown priority"),
        "{}",
        tui.frame().join("\n")
    );
}

#[test]
fn pasted_comment_is_sent_on_one_line_without_escapes() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("<enter>m");
    tui.send(AppMessage::Paste("two\nlines \u{1b}[2J".into()));
    tui.press_keys("<enter>");
    assert!(tui.shows_text("two lines [2J"));
}

#[test]
fn filter_applies_while_typing_and_escape_clears_it() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("/登录");
    assert!(tui.shows_text("#1") && !tui.shows_text("#2"));
    tui.press_keys("<enter><esc>");
    assert!(tui.shows_text("#1") && tui.shows_text("#2"));
    tui.press_keys("/zzz<esc>");
    assert!(tui.shows_text("#2"));
    tui.press_keys("3/mid");
    assert!(tui.shows_text("mid/backend-leader") && !tui.shows_text("global"));
}

#[test]
fn text_search_jumps_between_matches() {
    let text: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
    let mut tui = open_narrow_with_board(text);
    tui.press_keys("<enter>/line 5<enter>");
    let at = |tui: &TestTui| tui.frame()[2].clone();
    assert_eq!(at(&tui), "line 5");
    tui.press_keys("n");
    assert_eq!(at(&tui), "line 50");
    tui.press_keys("N");
    assert_eq!(at(&tui), "line 5");
    tui.press_keys("G");
    assert!(tui.shows_text("line 99"));
}

#[test]
fn mouse_selects_opens_scrolls_and_switches_tabs() {
    let mut tui = open_default_tui(Tab::Tasks);
    let mouse = |kind, column, row| {
        AppMessage::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let click = |column, row| mouse(MouseEventKind::Down(MouseButton::Left), column, row);
    tui.send(click(5, 5));
    assert_eq!(tui.app.page().unwrap().selected, 3);
    tui.send(click(5, 2));
    assert_eq!(
        tui.app.page().unwrap().selected,
        3,
        "a heading cannot be selected"
    );
    tui.send(click(5, 5));
    assert_eq!(tui.app.page().unwrap().route, Route::Task(task_id(3)));
    tui.send(click(3, 1));
    assert_eq!(tui.app.page().unwrap().route, Route::Tasks);
    tui.send(mouse(MouseEventKind::ScrollUp, 5, 5));
    assert_eq!(tui.app.page().unwrap().selected, 1);
    tui.send(click(25, 0));
    assert_eq!(tui.app.tab, Tab::Boards);
    tui.send(click(79, 0));
    assert_eq!(tui.app.tab, Tab::Boards);
}

#[test]
fn new_task_of_another_agent_keeps_selection() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("jj");
    let seen = tui.block_on(tui.app().store.last_sequence()).unwrap();
    let new = polis_core::task::create::TaskCreateParams {
        subject: "by somebody else".to_owned(),
        ..Default::default()
    };
    let backend: AgentId = "lead".parse().unwrap();
    tui.block_on(op::create_task(&tui.app().request(&backend), &new))
        .unwrap();
    assert!(!tui.shows_text("by somebody else"));
    tui.deliver_events_since(seen);
    assert!(tui.shows_text("by somebody else"));
    let page = tui.app.page().unwrap();
    assert_eq!(
        page.row(page.selected).unwrap().cells[1].text,
        "Write the tests"
    );
}

#[test]
fn unrelated_events_trigger_no_reload() {
    let mut tui = open_default_tui(Tab::Tasks);
    let events = tui
        .block_on(op::read_log(
            &tui.app().request(&AgentId::user()),
            &op::LogReadParams::default(),
        ))
        .unwrap()
        .events;
    let boards: Vec<_> = events
        .into_iter()
        .filter(|event| event.subject.starts_with("board/"))
        .collect();
    assert!(!boards.is_empty());
    assert_eq!(
        update_app(&mut tui.app, 0, AppMessage::EventsArrived(boards)),
        []
    );
}

#[test]
fn questions_are_answered_and_dismissed() {
    let mut tui = open_default_tui(Tab::Overview);
    assert!(tui.shows_text("Which database?"));
    tui.press_keys("mSQLite.<enter>");
    assert_eq!(
        tui.app.notice,
        Some(StatusNotice::Done("Sent to backend.".into()))
    );
    tui.press_keys("4j<enter>");
    assert!(tui.shows_text("SQLite.") && tui.shows_text("Which database?"));
    // Answered and dismissed messages no longer need attention.
    tui.press_keys("1");
    assert!(!tui.shows_text("Needs your attention: questions"));
    let mut tui = open_default_tui(Tab::Overview);
    tui.press_keys("x");
    assert_eq!(
        tui.app.notice,
        Some(StatusNotice::Done("Dismissed message 1.".into()))
    );
    assert!(!tui.shows_text("Needs your attention: questions"));
}

#[test]
fn decisions_are_vetoed_and_milestones_added_on_rulings_page() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("o");
    assert!(tui.shows_text("Use SQLite"));
    tui.press_keys("xtoo small<enter>");
    assert!(tui.shows_text("Rejected"), "{}", tui.frame().join("\n"));
    tui.press_keys("aBeta<enter>");
    assert!(tui.shows_text("Beta"), "{}", tui.frame().join("\n"));
    tui.press_keys("Gt");
    assert!(tui.shows_text("✓"), "{}", tui.frame().join("\n"));
}

#[test]
fn action_on_outdated_task_is_refused() {
    for keys in ["c", "u", "Aok<enter>"] {
        let mut tui = open_default_tui(Tab::Tasks);
        tui.press_keys("j");
        let seen = TaskUpdateParams {
            subject: Some("Something else".to_owned()),
            ..TaskUpdateParams::new(task_id(3))
        };
        update_task_as_lead(&tui, &seen);
        let before = tui
            .block_on(op::get_task(&tui.app().person_request(), task_id(3)))
            .unwrap()
            .task;
        tui.press_keys(keys);
        assert!(
            tui.shows_text("version_mismatch"),
            "{}",
            tui.frame().join("\n")
        );
        let after = tui
            .block_on(op::get_task(&tui.app().person_request(), task_id(3)))
            .unwrap()
            .task;
        assert_eq!((before.version, before.owner), (after.version, after.owner));
    }
}

#[test]
fn keys_on_too_small_terminal_do_nothing_but_quit() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.send(AppMessage::Resize(30, 8));
    tui.press_keys("jcD");
    assert_eq!(task_status_and_owner(&tui, 3).1, "");
    assert!(tui.app.overlay.is_none() && tui.unhandled_effects.is_empty());
    tui.send(AppMessage::Resize(80, 24));
    tui.press_keys("D");
    tui.send(AppMessage::Resize(30, 8));
    tui.press_keys("y");
    assert_eq!(task_status_and_owner(&tui, 1).0, TaskStatus::InProgress);
    tui.press_keys("q");
    assert_eq!(tui.unhandled_effects, [AppEffect::Quit]);
}

#[test]
fn failed_page_load_is_retried_when_store_returns() {
    let mut tui = open_default_tui(Tab::Tasks);
    let key = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    let away = || DisplayError {
        code: "store_unavailable".to_owned(),
        message: "The store is away.".to_owned(),
        hint: String::new(),
        is_temporary: true,
    };
    let fails = |tui: &mut TestTui| {
        let effects = update_app(&mut tui.app, 0, AppMessage::Key(key));
        let [AppEffect::Load(wish)] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        tui.send(AppMessage::Loaded(wish.clone(), Err(away())));
        // The loaded data stays visible.
        assert!(tui.shows_text("The store is away.") && tui.shows_text("#1"));
        assert_eq!(tui.app.next_tick(), Some(3_000));
    };
    fails(&mut tui);
    tui.send(AppMessage::Tick);
    assert!(!tui.shows_text("The store is away.") && tui.shows_text("#1"));
    fails(&mut tui);
    tui.press_keys("3");
    tui.send(AppMessage::StoreUnreachable(true));
    tui.send(AppMessage::EventsArrived(Vec::new()));
    tui.press_keys("2");
    assert!(!tui.shows_text("The store is away.") && tui.shows_text("#1"));
}

#[test]
fn follow_mode_stays_at_end_until_selection_moves() {
    let mut tui = TestTui::open_idle_team(UiLanguage::En, (60, 10), Tab::Events);
    let page = tui.app.page().unwrap();
    assert!(page.follow && page.selected + 1 == page.len());
    tui.press_keys("k");
    assert!(!tui.app.page().unwrap().follow);
    tui.press_keys("f");
    let page = tui.app.page().unwrap();
    assert!(page.follow && page.selected + 1 == page.len());
}

#[test]
fn board_in_follow_mode_shows_appended_text() {
    let mut tui = TestTui::open_idle_team(UiLanguage::En, (60, 10), Tab::Boards);
    tui.press_keys("<enter>f");
    let seen = tui.block_on(tui.app().store.last_sequence()).unwrap();
    let more = op::BoardAppendParams {
        board: BoardName::Global,
        content: "the very last".to_owned(),
    };
    tui.block_on(op::append_board(
        &tui.app().request(&AgentId::user()),
        &more,
    ))
    .unwrap();
    tui.deliver_events_since(seen);
    assert!(tui.shows_text("the very last"));
}

#[test]
fn q_and_ctrl_c_quit_and_ctrl_z_suspends() {
    for (key, modifiers, effect) in [
        ('q', KeyModifiers::NONE, AppEffect::Quit),
        ('c', KeyModifiers::CONTROL, AppEffect::Quit),
        ('z', KeyModifiers::CONTROL, AppEffect::Suspend),
    ] {
        let mut tui = open_default_tui(Tab::Overview);
        let key = KeyEvent::new(KeyCode::Char(key), modifiers);
        let effects = update_app(&mut tui.app, 0, AppMessage::Key(key));
        assert_eq!(effects, [effect]);
    }
}

#[test]
fn action_in_progress_shows_busy_mark() {
    let mut tui = open_default_tui(Tab::Tasks);
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
    let effects = update_app(&mut tui.app, 0, AppMessage::Key(key));
    let claim = UserAction::Claim {
        task: task_id(1),
        version: 2,
    };
    assert_eq!(effects, [AppEffect::RunAction(claim)]);
    assert_eq!(tui.app.running_actions, 1);
    assert!(tui.frame()[0].ends_with('…'), "{}", tui.frame()[0]);
    tui.execute_effects(effects);
    assert_eq!(tui.app.running_actions, 0);
    assert!(!tui.frame()[0].ends_with('…'), "{}", tui.frame()[0]);
}

#[test]
fn clock_ticks_only_on_pages_with_relative_times() {
    let mut tui = open_default_tui(Tab::Tasks);
    assert_eq!(tui.app.next_tick(), Some(60_000));
    assert!(tui.shows_text("5 min ago"));
    tui.clock.advance_millis(60_000);
    tui.send(AppMessage::Tick);
    assert!(tui.shows_text("6 min ago"));
    tui.press_keys("5");
    assert_eq!(tui.app.next_tick(), None);
}
