//! Keys, the mouse, and what they ask for.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, TaskId, TaskStatus};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{Act, Draft, Effect, Message, Notice, Overlay, Place, Refused, update};
use polis_view::Lang;

use crate::hall::Hall;

fn open(tab: Tab) -> Hall {
    Hall::open(Lang::En, (80, 24), tab)
}

fn task(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

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

#[test]
fn a_refusal_shows_its_code_sentence_and_next_step() {
    let mut hall = open(Tab::Tasks);
    hall.keys("[");
    let Some(Overlay::Refused(refused)) = &hall.app.overlay else {
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
    let mut hall = Hall::empty(Lang::En, (60, 12), Tab::Boards);
    let text: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
    let board = op::BoardOverwrite {
        board: BoardName::Global,
        content: text,
        expected_version: None,
        merge: false,
    };
    hall.wait(op::write_board(hall.polis(), &AgentId::user(), &board))
        .unwrap();
    hall.begin();
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
    // What was answered waits no more; what is laid aside neither.
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
fn a_board_is_edited_from_what_is_there_and_saved_with_its_version() {
    let mut hall = open(Tab::Boards);
    hall.keys("e");
    let Some(Effect::Edit(draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    assert_eq!(draft.version, 2);
    assert_eq!(draft.text, *draft.base);
    let same = draft.text.clone();
    hall.tell(Message::Edited(draft.clone(), Ok(same)));
    assert_eq!(
        hall.app.notice,
        Some(Notice::Done("Nothing was changed.".into()))
    );
    hall.tell(Message::Edited(draft, Ok("# New\n".into())));
    assert!(hall.has("was saved as version 3") && hall.has("New"));
}

/// A draft of the global board, and somebody else's version after it.
fn clash(mine: &str) -> Hall {
    let mut hall = open(Tab::Boards);
    hall.keys("e");
    let Some(Effect::Edit(mut draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    draft.file = Some("/nowhere/draft.md".into());
    let theirs = op::BoardAppend {
        board: BoardName::Global,
        content: "theirs".to_owned(),
    };
    let lead: AgentId = "lead".parse().unwrap();
    hall.wait(op::append_board(hall.polis(), &lead, &theirs))
        .unwrap();
    let text = format!("{}{mine}", draft.text);
    hall.tell(Message::Edited(draft, Ok(text)));
    assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))));
    hall
}

fn global(hall: &Hall) -> (u64, String) {
    let read = op::BoardRead::of(BoardName::Global);
    let view = hall
        .wait(op::read_board(hall.polis(), &AgentId::user(), &read))
        .unwrap();
    (view.version, view.content.unwrap().to_string())
}

#[test]
fn a_clash_is_shown_and_nothing_of_either_is_lost() {
    let hall = clash("mine\n");
    assert!(hall.has("was changed by lead meanwhile"));
    assert!(
        hall.has("+mine") && hall.has("-theirs"),
        "{}",
        hall.frame().join("\n")
    );
    assert!(global(&hall).1.contains("theirs"));
}

#[test]
fn a_clash_is_edited_again_with_both() {
    let mut hall = clash("mine\n");
    hall.keys("e");
    let Some(Effect::Edit(draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    assert_eq!(draft.version, 3);
    assert!(draft.text.contains("mine") && draft.text.contains("theirs"));
    assert!(draft.marked);
    // Closing the editor without having chosen saves nothing.
    let unchanged = draft.text.clone();
    hall.tell(Message::Edited(draft.clone(), Ok(unchanged)));
    assert!(matches!(hall.app.overlay, Some(Overlay::Kept { .. })));
    assert_eq!(global(&hall).0, 3);
    hall.keys("e");
    assert!(matches!(hall.outside.pop(), Some(Effect::Edit(_))));
    // Nor does any text with the marks in it, whatever else was done to it, until that is asked for.
    for text in [
        format!("more\n{}", draft.text),
        "a\n>>>>>>> current\n".into(),
    ] {
        hall.tell(Message::Edited(draft.clone(), Ok(text)));
        hall.keys("r");
        assert!(hall.has("Marks of the conflict") && hall.has("S save it with the marks"));
        assert_eq!(global(&hall).0, 3);
        hall.keys("e");
        assert!(matches!(hall.outside.pop(), Some(Effect::Edit(_))));
    }
    // An editor that failed leaves them as well.
    let failed = Refused {
        code: "editor_failed".to_owned(),
        message: "two\nlines".to_owned(),
        hint: String::new(),
        detail: String::new(),
        passing: false,
    };
    hall.tell(Message::Edited(draft.clone(), Err(failed)));
    assert!(hall.has("two lines"));
    hall.keys("r");
    assert!(hall.has("Marks of the conflict"));
    assert_eq!(global(&hall).0, 3);
    hall.keys("<esc>");
    hall.tell(Message::Edited(draft, Ok("theirs and mine\n".into())));
    assert_eq!(global(&hall), (4, "theirs and mine\n".into()));
    assert!(matches!(hall.outside.pop(), Some(Effect::Forget(_))));
}

#[test]
fn marks_are_saved_only_by_a_key_of_their_own() {
    let mut hall = clash("mine\n");
    hall.keys("e");
    let Some(Effect::Edit(draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    let text = draft.text.clone();
    hall.tell(Message::Edited(draft, Ok(text.clone())));
    hall.keys("S");
    assert_eq!(global(&hall), (4, text));
}

fn edited_task(hall: &mut Hall) -> Draft {
    hall.keys("e");
    let Some(Effect::Edit(mut draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    draft.file = Some("/nowhere/task.md".into());
    draft
}

fn change(hall: &Hall, change: &TaskUpdate) {
    let lead: AgentId = "lead".parse().unwrap();
    hall.wait(op::update_task(hall.polis(), &lead, change))
        .unwrap();
}

fn texts(hall: &Hall, number: u64) -> (String, String) {
    let view = hall.wait(op::get_task(hall.polis(), task(number))).unwrap();
    (view.task.subject, view.task.description)
}

#[test]
fn a_tasks_subject_and_description_are_edited_as_one_text() {
    let mut hall = open(Tab::Tasks);
    hall.keys("j");
    let draft = edited_task(&mut hall);
    assert_eq!(draft.text, "Deploy to staging\n\nDo it **well**.\n");
    let same = "Deploy to staging\n\n\nDo it **well**.".to_owned();
    hall.tell(Message::Edited(draft.clone(), Ok(same)));
    assert!(hall.has("Nothing was changed."));
    // That somebody takes it meanwhile is no change of the text.
    let claimed = TaskUpdate {
        status: Some(TaskStatus::InProgress),
        ..TaskUpdate::of(task(3))
    };
    change(&hall, &claimed);
    let text = "Deploy\n\nin\n\ntwo parts\n".to_owned();
    hall.tell(Message::Edited(draft, Ok(text)));
    assert_eq!(texts(&hall, 3), ("Deploy".into(), "in\n\ntwo parts".into()));
    assert!(hall.has("#3 was saved as version"));
    let draft = edited_task(&mut hall);
    hall.tell(Message::Edited(draft, Ok("\n".into())));
    assert!(hall.has("invalid_subject") && hall.has("/nowhere/task.md"));
}

#[test]
fn a_task_that_two_edit_is_nobodys_loss() {
    for (keys, saved) in [
        ("xy", ("Theirs again", "Do it **well**.")),
        ("oy", ("Mine", "Do it **well**.")),
    ] {
        let mut hall = open(Tab::Tasks);
        hall.keys("j<enter>");
        let draft = edited_task(&mut hall);
        let theirs = TaskUpdate {
            subject: Some("Theirs".to_owned()),
            ..TaskUpdate::of(task(3))
        };
        change(&hall, &theirs);
        let text = draft.text.replace("Deploy to staging", "Mine");
        hall.tell(Message::Edited(draft, Ok(text)));
        assert!(hall.has("#3 was changed by lead meanwhile"));
        assert!(hall.has("+Mine") && hall.has("-Theirs"));
        assert_eq!(texts(&hall, 3).0, "Theirs");
        hall.keys("e");
        let Some(Effect::Edit(again)) = hall.outside.pop() else {
            panic!("{:?}", hall.outside);
        };
        assert!(again.text.starts_with("<<<<<<< yours\nMine\n"));
        let unchanged = again.text.clone();
        hall.tell(Message::Edited(again.clone(), Ok(unchanged)));
        assert!(hall.has("Marks of the conflict"));
        hall.keys("<esc>");
        // Somebody was faster a second time.
        let theirs = TaskUpdate {
            subject: Some("Theirs again".to_owned()),
            ..TaskUpdate::of(task(3))
        };
        change(&hall, &theirs);
        let text = "Mine\n\nDo it **well**.\n".to_owned();
        hall.tell(Message::Edited(again, Ok(text)));
        assert!(hall.has("-Theirs again"));
        hall.keys(keys);
        let (subject, description) = texts(&hall, 3);
        assert_eq!((subject.as_str(), description.as_str()), saved);
        assert!(matches!(hall.outside.pop(), Some(Effect::Forget(_))));
    }
}

#[test]
fn keys_typed_while_a_text_is_read_count_when_it_is_there() {
    for (keys, first) in [
        ("G", "line 91"),
        ("Gk", "line 90"),
        ("jjj", "line 1"),
        ("jGggjjjj", "line 2"),
        ("/line 5<enter>n", "line 50"),
    ] {
        let mut hall = Hall::empty(Lang::En, (60, 12), Tab::Boards);
        let text: String = (0..100).map(|n| format!("- line {n}\n")).collect();
        let board = op::BoardOverwrite {
            board: BoardName::Global,
            content: text,
            expected_version: None,
            merge: false,
        };
        hall.wait(op::write_board(hall.polis(), &AgentId::user(), &board))
            .unwrap();
        hall.begin();
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        let effects = update(&mut hall.app, 0, Message::Key(enter));
        hall.keys(keys);
        assert!(hall.app.page().unwrap().data.is_none());
        hall.carry_out(effects);
        assert!(
            hall.frame()[2].ends_with(first),
            "{keys}: {}",
            hall.frame()[2]
        );
    }
}

#[test]
fn an_open_box_offers_its_own_keys_and_no_others() {
    let mut hall = open(Tab::Tasks);
    for (keys, offered) in [
        ("?", "j k scroll   any other key closes"),
        ("<esc>D", "y yes   n no"),
        ("na", "Enter sends, Tab next, Esc drops"),
        ("<esc>[", "invalid_transition"),
    ] {
        hall.keys(keys);
        let last = hall.frame().pop().unwrap();
        assert!(last.starts_with(offered), "{keys}: {last}");
    }
    let hall = clash("mine\n");
    let last = hall.frame().pop().unwrap();
    assert!(
        last.starts_with("e edit again with both   o save"),
        "{last}"
    );
}

#[test]
fn a_clash_is_saved_over_or_dropped() {
    let mut hall = clash("mine\n");
    // Neither is done by a key alone, nor by one that is pressed with another.
    hall.keys("<c-o><c-x>");
    assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))));
    hall.keys("o<c-y>n");
    assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))));
    assert_eq!(global(&hall).0, 3);
    hall.keys("oy");
    let (version, text) = global(&hall);
    assert_eq!(version, 4);
    assert!(text.contains("mine") && !text.contains("theirs"));
    assert!(matches!(hall.outside.pop(), Some(Effect::Forget(_))));
    let mut hall = clash("mine\n");
    hall.keys("x");
    assert!(hall.has("Drop your text of global for good?"));
    hall.keys("n");
    assert!(hall.outside.is_empty());
    hall.keys("xy");
    assert_eq!(global(&hall).0, 3);
    assert!(matches!(hall.outside.pop(), Some(Effect::Forget(_))));
}

#[test]
fn who_wrote_after_the_clash_was_shown_is_not_written_over() {
    let mut hall = clash("mine\n");
    let third = op::BoardAppend {
        board: BoardName::Global,
        content: "third".to_owned(),
    };
    let lead: AgentId = "lead".parse().unwrap();
    hall.wait(op::append_board(hall.polis(), &lead, &third))
        .unwrap();
    hall.keys("oy");
    assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))));
    assert!(hall.has("-third") && global(&hall).1.contains("third"));
    assert!(hall.outside.is_empty(), "the file stays");
    hall.keys("oy");
    let (version, text) = global(&hall);
    assert_eq!(version, 5);
    assert!(text.ends_with("mine\n") && !text.contains("third"));
}

#[test]
fn a_clash_waits_until_what_is_typed_is_done() {
    let mut hall = clash("mine\n");
    let Some(Overlay::Clash(shown)) = hall.app.overlay.take() else {
        panic!("{:?}", hall.app.overlay);
    };
    hall.keys("2mno");
    let clashed = |text: &str| Message::Clashed {
        draft: shown.draft.clone(),
        version: 3,
        text: text.to_owned(),
        by: "lead".to_owned(),
    };
    hall.tell(clashed("one"));
    hall.tell(clashed("two"));
    assert!(hall.has("Comment on #1"), "{}", hall.frame().join("\n"));
    hall.keys(" x<enter>");
    let said = hall.wait(op::task_comments(
        hall.polis(),
        &op::TaskComments::of(task(1)),
    ));
    assert_eq!(said.unwrap().comments[0].body, "no x");
    for text in ["-one", "-two"] {
        assert!(hall.has(text), "{}", hall.frame().join("\n"));
        hall.keys("xy");
    }
    assert!(hall.app.overlay.is_none());
}

#[test]
fn who_wrote_the_same_has_clashed_with_nobody() {
    let mut hall = clash("mine\n");
    let Some(Overlay::Clash(shown)) = hall.app.overlay.take() else {
        panic!("{:?}", hall.app.overlay);
    };
    hall.tell(Message::Clashed {
        text: shown.draft.text.clone(),
        draft: shown.draft,
        version: 3,
        by: "lead".to_owned(),
    });
    assert!(hall.app.overlay.is_none() && hall.has("reads as in your text already"));
    assert!(matches!(hall.outside.pop(), Some(Effect::Forget(_))));
}

#[test]
fn what_is_only_in_the_file_is_not_sent_from_here() {
    let mut hall = open(Tab::Boards);
    hall.keys("e");
    let Some(Effect::Edit(mut draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    draft.file = Some("/nowhere/draft.md".into());
    draft.unread = true;
    let refused = Refused {
        code: "editor_failed".to_owned(),
        message: "not UTF-8".to_owned(),
        hint: String::new(),
        detail: String::new(),
        passing: false,
    };
    hall.tell(Message::Edited(draft, Err(refused)));
    assert!(hall.has("e edit again   x drop it   Esc later"));
    hall.keys("rS");
    assert_eq!(global(&hall).0, 2);
    assert!(hall.outside.is_empty());
    assert_eq!(hall.app.files, [std::path::Path::new("/nowhere/draft.md")]);
    hall.keys("e");
    assert!(matches!(hall.outside.pop(), Some(Effect::Edit(draft)) if draft.unread));
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
fn an_editor_opens_only_where_the_person_still_waits_for_it() {
    for keys in ["1", "h", "?"] {
        let mut hall = open(Tab::Boards);
        let key = KeyEvent::new(KeyCode::Char('e'), KeyModifiers::NONE);
        let effects = update(&mut hall.app, 0, Message::Key(key));
        hall.keys(keys);
        hall.carry_out(effects);
        hall.keys("<esc>3");
        assert!(hall.outside.is_empty(), "{keys}: {:?}", hall.outside);
    }
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
        // What was read before stays in view beside it.
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
fn a_text_that_is_refused_is_kept() {
    let mut hall = open(Tab::Boards);
    hall.keys("e");
    let Some(Effect::Edit(mut draft)) = hall.outside.pop() else {
        panic!("{:?}", hall.outside);
    };
    draft.file = Some("/nowhere/draft.md".into());
    let large = "x".repeat(11 << 20);
    hall.tell(Message::Edited(draft, Ok(large)));
    assert!(matches!(hall.app.overlay, Some(Overlay::Kept { .. })));
    assert!(hall.has("/nowhere/draft.md") && hall.has("board_too_large"));
    hall.keys("<esc>");
    assert!(hall.outside.is_empty(), "the file stays");
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
