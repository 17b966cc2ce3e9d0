//! Keyboard and mouse commands, and their effects.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, TaskStatus};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{Act, Effect, Message, Notice, Overlay, Place, Refused, update};
use polis_view::Lang;

use crate::hall::{Hall, change, narrow_with_global, open, task};

fn status(hall: &Hall, number: u64) -> (TaskStatus, String) {
    let view = hall.wait(op::get_task(hall.polis(), task(number))).unwrap();
    (view.task.status, view.task.owner)
}

#[test]
fn digits_and_tab_lead_to_every_tab() {
    let mut hall = open(Tab::Now);
    for (key, tab) in ["1", "2", "3", "4", "5", "6"].iter().zip(Tab::ALL) {
        hall.keys(key);
        assert_eq!(hall.app.tab, tab);
    }
    hall.keys("<tab>");
    assert_eq!(hall.app.tab, Tab::Now);
}

#[test]
fn moving_never_leaves_the_rows_nor_stands_on_a_heading() {
    let mut hall = open(Tab::Tasks);
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
        hall.keys(keys);
        assert_eq!(hall.app.page().unwrap().selected, selected, "{keys}");
    }
}

#[test]
fn enter_opens_and_escape_goes_back() {
    let mut hall = open(Tab::Tasks);
    for (keys, place) in [
        ("<enter>", Place::Task(task(1))),
        ("<esc>", Place::Tasks),
        ("jl", Place::Task(task(3))),
        ("h", Place::Tasks),
        ("h", Place::Tasks),
        ("3<enter>", Place::Board(BoardName::Global)),
        ("v", Place::Versions(BoardName::Global)),
        ("<enter>", Place::Change(BoardName::Global, 2)),
        ("hh", Place::Board(BoardName::Global)),
        ("o", Place::Rulings(BoardName::Global)),
        ("33", Place::Boards),
    ] {
        hall.keys(keys);
        assert_eq!(hall.app.page().unwrap().place, place, "{keys}");
    }
}

#[test]
fn tasks_are_claimed_moved_completed_and_deleted() {
    let mut hall = open(Tab::Tasks);
    hall.keys("jc");
    assert_eq!(status(&hall, 3), (TaskStatus::InProgress, "user".into()));
    assert_eq!(hall.app.notice, Some(Notice::Done("#3 is yours.".into())));
    hall.keys("ggu");
    assert_eq!(status(&hall, 3), (TaskStatus::InProgress, String::new()));
    hall.keys("c]");
    assert_eq!(status(&hall, 3).0, TaskStatus::Completed);
    hall.keys("GD");
    assert!(matches!(hall.app.overlay, Some(Overlay::Confirm { .. })));
    hall.keys("n");
    assert_eq!(status(&hall, 3).0, TaskStatus::Completed);
    hall.keys("Dy");
    assert_eq!(status(&hall, 3).0, TaskStatus::Deleted);
    assert!(!hall.has("Deploy to staging"));
}

/// A completed task cannot be reopened, and a single key is easily pressed by mistake.
#[test]
fn completing_another_agents_task_asks_first() {
    for key in ["]", "x"] {
        let mut hall = open(Tab::Tasks);
        hall.keys(key);
        let Some(Overlay::Confirm { question, .. }) = &hall.app.overlay else {
            panic!("{key}: {:?}", hall.app.overlay);
        };
        assert!(question.contains("backend holds task #1"), "{question}");
        hall.keys("n");
        assert_eq!(status(&hall, 1), (TaskStatus::InProgress, "backend".into()));
        hall.keys(key);
        hall.keys("y");
        assert_eq!(status(&hall, 1).0, TaskStatus::Completed);
    }
}

#[test]
fn a_refusal_shows_its_code_sentence_and_next_step() {
    let mut hall = open(Tab::Tasks);
    hall.keys("[");
    let Some(Overlay::Refused(refused, None)) = &hall.app.overlay else {
        panic!("{:?}", hall.app.overlay);
    };
    assert_eq!(refused.code, "invalid_transition");
    assert!(hall.has("invalid_transition") && hall.has("→ to give it back"));
    hall.keys("<esc>");
    assert!(hall.app.overlay.is_none());
    assert_eq!(status(&hall, 1).0, TaskStatus::InProgress);
}

#[test]
fn a_task_is_created_from_what_was_typed() {
    let mut hall = open(Tab::Tasks);
    hall.keys("a<enter>");
    assert!(
        matches!(hall.app.overlay, Some(Overlay::Form(_))),
        "a subject is needed"
    );
    hall.keys("写 the docs<tab>at length<enter>");
    assert_eq!(
        hall.app.notice,
        Some(Notice::Done("Task #4 was created.".into()))
    );
    assert!(hall.has("写 the docs"));
    let made = hall.wait(op::get_task(hall.polis(), task(4))).unwrap();
    assert_eq!(made.task.description, "at length");
}

#[test]
fn a_comment_and_a_paste_are_sent_whole() {
    let mut hall = open(Tab::Tasks);
    hall.keys("<enter>m");
    hall.tell(Message::Paste("two\nlines \u{1b}[2J".into()));
    hall.keys("<enter>");
    assert!(hall.has("two lines [2J"));
}

#[test]
fn the_filter_narrows_while_it_is_typed_and_escape_undoes_it() {
    let mut hall = open(Tab::Tasks);
    hall.keys("/登录");
    assert!(hall.has("#1") && !hall.has("#2"));
    hall.keys("<enter><esc>");
    assert!(hall.has("#1") && hall.has("#2"));
    hall.keys("/zzz<esc>");
    assert!(hall.has("#2"));
    hall.keys("3/mid");
    assert!(hall.has("mid/backend-leader") && !hall.has("global"));
}

#[test]
fn a_search_in_a_text_leads_from_match_to_match() {
    let text: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
    let mut hall = narrow_with_global(text);
    hall.keys("<enter>/line 5<enter>");
    let at = |hall: &Hall| hall.frame()[2].clone();
    assert_eq!(at(&hall), "line 5");
    hall.keys("n");
    assert_eq!(at(&hall), "line 50");
    hall.keys("N");
    assert_eq!(at(&hall), "line 5");
    hall.keys("G");
    assert!(hall.has("line 99"));
}

#[test]
fn the_mouse_selects_opens_scrolls_and_changes_tabs() {
    let mut hall = open(Tab::Tasks);
    let mouse = |kind, column, row| {
        Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let click = |column, row| mouse(MouseEventKind::Down(MouseButton::Left), column, row);
    hall.tell(click(5, 5));
    assert_eq!(hall.app.page().unwrap().selected, 3);
    hall.tell(click(5, 2));
    assert_eq!(hall.app.page().unwrap().selected, 3, "a heading");
    hall.tell(click(5, 5));
    assert_eq!(hall.app.page().unwrap().place, Place::Task(task(3)));
    hall.tell(click(3, 1));
    assert_eq!(hall.app.page().unwrap().place, Place::Tasks);
    hall.tell(mouse(MouseEventKind::ScrollUp, 5, 5));
    assert_eq!(hall.app.page().unwrap().selected, 1);
    hall.tell(click(20, 0));
    assert_eq!(hall.app.tab, Tab::Boards);
    hall.tell(click(79, 0));
    assert_eq!(hall.app.tab, Tab::Boards);
}

#[test]
fn what_others_do_appears_and_the_selection_stays_where_it_was() {
    let mut hall = open(Tab::Tasks);
    hall.keys("jj");
    let seen = hall.wait(hall.polis().store.last_sequence()).unwrap();
    let new = polis_core::task::create::TaskCreate {
        subject: "by somebody else".to_owned(),
        ..Default::default()
    };
    let backend: AgentId = "lead".parse().unwrap();
    hall.wait(op::create_task(hall.polis(), &backend, &new))
        .unwrap();
    assert!(!hall.has("by somebody else"));
    hall.news(seen);
    assert!(hall.has("by somebody else"));
    let page = hall.app.page().unwrap();
    assert_eq!(
        page.row(page.selected).unwrap().cells[1].text,
        "Write the tests"
    );
}

#[test]
fn news_about_something_else_read_nothing_again() {
    let mut hall = open(Tab::Tasks);
    let events = hall
        .wait(op::read_log(
            hall.polis(),
            &AgentId::user(),
            &op::LogRead::default(),
        ))
        .unwrap()
        .events;
    let boards: Vec<_> = events
        .into_iter()
        .filter(|event| event.subject.starts_with("board/"))
        .collect();
    assert!(!boards.is_empty());
    assert_eq!(update(&mut hall.app, 0, Message::News(boards)), []);
}

#[test]
fn questions_are_answered_and_laid_aside() {
    let mut hall = open(Tab::Now);
    assert!(hall.has("Which database?"));
    hall.keys("mSQLite.<enter>");
    assert_eq!(
        hall.app.notice,
        Some(Notice::Done("Sent to backend.".into()))
    );
    hall.keys("4j<enter>");
    assert!(hall.has("SQLite.") && hall.has("Which database?"));
    // Answered and dismissed messages no longer need attention.
    hall.keys("1");
    assert!(!hall.has("Waits for you: questions"));
    let mut hall = open(Tab::Now);
    hall.keys("x");
    assert_eq!(
        hall.app.notice,
        Some(Notice::Done("Message 1 is laid aside.".into()))
    );
    assert!(!hall.has("Waits for you: questions"));
}

#[test]
fn decisions_are_vetoed_and_proposed_on_their_page() {
    let mut hall = open(Tab::Boards);
    hall.keys("o");
    assert!(hall.has("Use SQLite"));
    hall.keys("xtoo small<enter>");
    assert!(hall.has("rejected"), "{}", hall.frame().join("\n"));
    hall.keys("aBeta<enter>");
    assert!(hall.has("Beta"), "{}", hall.frame().join("\n"));
    hall.keys("Gt");
    assert!(hall.has("✓"), "{}", hall.frame().join("\n"));
}

#[test]
fn a_task_that_changed_since_it_was_seen_is_not_changed_by_a_key() {
    for keys in ["c", "u", "Aok<enter>"] {
        let mut hall = open(Tab::Tasks);
        hall.keys("j");
        let seen = TaskUpdate {
            subject: Some("Something else".to_owned()),
            ..TaskUpdate::of(task(3))
        };
        change(&hall, &seen);
        let before = hall.wait(op::get_task(hall.polis(), task(3))).unwrap().task;
        hall.keys(keys);
        assert!(hall.has("version_mismatch"), "{}", hall.frame().join("\n"));
        let after = hall.wait(op::get_task(hall.polis(), task(3))).unwrap().task;
        assert_eq!((before.version, before.owner), (after.version, after.owner));
    }
}

#[test]
fn where_nothing_can_be_seen_nothing_is_done() {
    let mut hall = open(Tab::Tasks);
    hall.tell(Message::Resize(30, 8));
    hall.keys("jcD");
    assert_eq!(status(&hall, 3).1, "");
    assert!(hall.app.overlay.is_none() && hall.outside.is_empty());
    hall.tell(Message::Resize(80, 24));
    hall.keys("D");
    hall.tell(Message::Resize(30, 8));
    hall.keys("y");
    assert_eq!(status(&hall, 1).0, TaskStatus::InProgress);
    hall.keys("q");
    assert_eq!(hall.outside, [Effect::Quit]);
}

#[test]
fn a_page_that_could_not_be_read_is_read_when_the_store_is_back() {
    let mut hall = open(Tab::Tasks);
    let key = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    let away = || Refused {
        code: "store_unavailable".to_owned(),
        message: "The store is away.".to_owned(),
        hint: String::new(),
        detail: String::new(),
        passing: true,
    };
    let fails = |hall: &mut Hall| {
        let effects = update(&mut hall.app, 0, Message::Key(key));
        let [Effect::Load(wish)] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        hall.tell(Message::Loaded(wish.clone(), Err(away())));
        // The loaded data stays visible.
        assert!(hall.has("The store is away.") && hall.has("#1"));
        assert_eq!(hall.app.next_tick(), Some(3_000));
    };
    fails(&mut hall);
    hall.tell(Message::Tick);
    assert!(!hall.has("The store is away.") && hall.has("#1"));
    fails(&mut hall);
    hall.keys("3");
    hall.tell(Message::Away(true));
    hall.tell(Message::News(Vec::new()));
    hall.keys("2");
    assert!(!hall.has("The store is away.") && hall.has("#1"));
}

#[test]
fn following_stays_at_the_end_until_somebody_looks_back() {
    let mut hall = Hall::open(Lang::En, (60, 10), Tab::Events);
    let page = hall.app.page().unwrap();
    assert!(page.follow && page.selected + 1 == page.len());
    hall.keys("k");
    assert!(!hall.app.page().unwrap().follow);
    hall.keys("f");
    let page = hall.app.page().unwrap();
    assert!(page.follow && page.selected + 1 == page.len());
}

#[test]
fn a_board_that_follows_shows_its_end_as_it_grows() {
    let mut hall = Hall::open(Lang::En, (60, 10), Tab::Boards);
    hall.keys("<enter>f");
    let seen = hall.wait(hall.polis().store.last_sequence()).unwrap();
    let more = op::BoardAppend {
        board: BoardName::Global,
        content: "the very last".to_owned(),
    };
    hall.wait(op::append_board(hall.polis(), &AgentId::user(), &more))
        .unwrap();
    hall.news(seen);
    assert!(hall.has("the very last"));
}

#[test]
fn q_and_control_c_quit_and_control_z_suspends() {
    for (key, modifiers, effect) in [
        ('q', KeyModifiers::NONE, Effect::Quit),
        ('c', KeyModifiers::CONTROL, Effect::Quit),
        ('z', KeyModifiers::CONTROL, Effect::Suspend),
    ] {
        let mut hall = open(Tab::Now);
        let key = KeyEvent::new(KeyCode::Char(key), modifiers);
        let effects = update(&mut hall.app, 0, Message::Key(key));
        assert_eq!(effects, [effect]);
    }
}

#[test]
fn an_act_under_way_is_told_of_once() {
    let mut hall = open(Tab::Tasks);
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
    let effects = update(&mut hall.app, 0, Message::Key(key));
    let claim = Act::Claim {
        task: task(1),
        version: 2,
    };
    assert_eq!(effects, [Effect::Act(claim)]);
    assert_eq!(hall.app.busy, 1);
    assert!(hall.frame()[0].ends_with('…'), "{}", hall.frame()[0]);
    hall.carry_out(effects);
    assert_eq!(hall.app.busy, 0);
    assert!(!hall.frame()[0].ends_with('…'), "{}", hall.frame()[0]);
}

#[test]
fn the_time_is_looked_at_only_where_it_is_shown() {
    let mut hall = open(Tab::Tasks);
    assert_eq!(hall.app.next_tick(), Some(60_000));
    assert!(hall.has("5 min ago"));
    hall.clock.advance(60_000);
    hall.tell(Message::Tick);
    assert!(hall.has("6 min ago"));
    hall.keys("5");
    assert_eq!(hall.app.next_tick(), None);
}
