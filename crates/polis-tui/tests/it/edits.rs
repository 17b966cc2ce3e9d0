//! Texts edited in an external editor: saving, edit conflicts, and drafts that are kept.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, TaskStatus};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{Draft, Effect, Message, Notice, Overlay, Refused, update};

use crate::hall::{Hall, change, narrow_with_global, open, task};

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

/// Creates a draft of the global board, and a newer version by another author.
pub(crate) fn clash(mine: &str) -> Hall {
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

pub(crate) fn global(hall: &Hall) -> (u64, String) {
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
    // Closing the editor without resolving the conflict saves nothing.
    let unchanged = draft.text.clone();
    hall.tell(Message::Edited(draft.clone(), Ok(unchanged)));
    assert!(matches!(hall.app.overlay, Some(Overlay::Kept { .. })));
    assert_eq!(global(&hall).0, 3);
    hall.keys("e");
    assert!(matches!(hall.outside.pop(), Some(Effect::Edit(_))));
    // Nor is any text with conflict markers saved, whatever else was changed in it, until the user requests
    // it.
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
    // An editor that failed leaves the markers too.
    let failed = Refused {
        code: "editor_failed".to_owned(),
        message: "two\nlines".to_owned(),
        hint: String::new(),
        detail: String::new(),
        passing: false,
    };
    hall.tell(Message::Edited(draft.clone(), Err(failed)));
    assert!(hall.has("two lines") && hall.has("r save it all the same"));
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
    // A claim in the meantime is not a change of the text.
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
        // Another author is faster a second time.
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
        let text: String = (0..100).map(|n| format!("- line {n}\n")).collect();
        let mut hall = narrow_with_global(text);
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
fn a_clash_is_saved_over_or_dropped() {
    let mut hall = clash("mine\n");
    // Neither is done without confirmation, nor by a key with a modifier.
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
    assert!(last.starts_with("e edit both   o save"), "{last}");
}
