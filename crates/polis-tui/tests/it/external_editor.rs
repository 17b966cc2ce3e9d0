//! External editor tests: boards and tasks edited in `$EDITOR`, saving with version checks, edit conflicts,
//! and drafts that are kept.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::board::BoardName;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, TaskStatus};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{
    AppEffect, AppMessage, DisplayError, EditDraft, Overlay, StatusNotice, update_app,
};

use crate::test_tui::{
    TestTui, open_default_tui, open_narrow_with_board, task_id, update_task_as_lead,
};

#[test]
fn board_edit_starts_from_content_and_saves_new_version() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("e");
    let Some(AppEffect::Edit(draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    assert_eq!(draft.version, 2);
    assert_eq!(draft.text, *draft.base);
    let same = draft.text.clone();
    tui.send(AppMessage::EditorClosed(draft.clone(), Ok(same)));
    assert_eq!(
        tui.app.notice,
        Some(StatusNotice::Done("No changes.".into()))
    );
    tui.send(AppMessage::EditorClosed(draft, Ok("# New\n".into())));
    assert!(tui.shows_text("Saved global as version 3") && tui.shows_text("New"));
}

/// Creates a draft of the global board, and a newer version by another author.
pub(crate) fn open_edit_conflict(mine: &str) -> TestTui {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("e");
    let Some(AppEffect::Edit(mut draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    draft.file = Some("/nowhere/draft.md".into());
    let theirs = op::BoardAppendParams {
        board: BoardName::Global,
        content: "theirs".to_owned(),
    };
    let lead: AgentId = "lead".parse().unwrap();
    tui.block_on(op::append_board(&tui.app().request(&lead), &theirs))
        .unwrap();
    let text = format!("{}{mine}", draft.text);
    tui.send(AppMessage::EditorClosed(draft, Ok(text)));
    assert!(matches!(tui.app.overlay, Some(Overlay::Conflict(_))));
    tui
}

/// Returns version and text of the global board.
pub(crate) fn read_global_board(tui: &TestTui) -> (u64, String) {
    let read = op::BoardReadParams::for_board(BoardName::Global);
    let view = tui
        .block_on(op::read_board(&tui.app().request(&AgentId::user()), &read))
        .unwrap();
    (view.version, view.content.unwrap().to_string())
}

#[test]
fn edit_conflict_shows_both_texts() {
    let tui = open_edit_conflict("mine\n");
    assert!(tui.shows_text("was changed by lead"));
    assert!(
        tui.shows_text("+mine") && tui.shows_text("-theirs"),
        "{}",
        tui.frame().join("\n")
    );
    assert!(read_global_board(&tui).1.contains("theirs"));
}

#[test]
fn edit_conflict_is_reopened_with_both_texts() {
    let mut tui = open_edit_conflict("mine\n");
    tui.press_keys("e");
    let Some(AppEffect::Edit(draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    assert_eq!(draft.version, 3);
    assert!(draft.text.contains("mine") && draft.text.contains("theirs"));
    assert!(draft.has_conflict_markers);
    // Closing the editor without resolving the conflict saves nothing.
    let unchanged = draft.text.clone();
    tui.send(AppMessage::EditorClosed(draft.clone(), Ok(unchanged)));
    assert!(matches!(
        tui.app.overlay,
        Some(Overlay::UnsavedDraft { .. })
    ));
    assert_eq!(read_global_board(&tui).0, 3);
    tui.press_keys("e");
    assert!(matches!(
        tui.unhandled_effects.pop(),
        Some(AppEffect::Edit(_))
    ));
    // Nor is any text with conflict markers saved, whatever else was changed in it, until that is requested.
    for text in [
        format!("more\n{}", draft.text),
        "a\n>>>>>>> current\n".into(),
    ] {
        tui.send(AppMessage::EditorClosed(draft.clone(), Ok(text)));
        tui.press_keys("r");
        assert!(
            tui.shows_text("The text still contains conflict markers")
                && tui.shows_text("S save with markers")
        );
        assert_eq!(read_global_board(&tui).0, 3);
        tui.press_keys("e");
        assert!(matches!(
            tui.unhandled_effects.pop(),
            Some(AppEffect::Edit(_))
        ));
    }
    // An editor that failed leaves the markers too.
    let failed = DisplayError {
        code: "editor_failed".to_owned(),
        message: "two\nlines".to_owned(),
        hint: String::new(),
        is_temporary: false,
    };
    tui.send(AppMessage::EditorClosed(draft.clone(), Err(failed)));
    assert!(tui.shows_text("two lines") && tui.shows_text("r save anyway"));
    tui.press_keys("r");
    assert!(tui.shows_text("The text still contains conflict markers"));
    assert_eq!(read_global_board(&tui).0, 3);
    tui.press_keys("<esc>");
    tui.send(AppMessage::EditorClosed(
        draft,
        Ok("theirs and mine\n".into()),
    ));
    assert_eq!(read_global_board(&tui), (4, "theirs and mine\n".into()));
    assert!(matches!(
        tui.unhandled_effects.pop(),
        Some(AppEffect::RemoveDraftFile(_))
    ));
}

#[test]
fn conflict_markers_are_saved_only_on_explicit_key() {
    let mut tui = open_edit_conflict("mine\n");
    tui.press_keys("e");
    let Some(AppEffect::Edit(draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    let text = draft.text.clone();
    tui.send(AppMessage::EditorClosed(draft, Ok(text.clone())));
    tui.press_keys("S");
    assert_eq!(read_global_board(&tui), (4, text));
}

/// Opens the editor on the selected task and returns its draft.
fn edit_selected_task(tui: &mut TestTui) -> EditDraft {
    tui.press_keys("e");
    let Some(AppEffect::Edit(mut draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    draft.file = Some("/nowhere/task.md".into());
    draft
}

/// Returns subject and description of a task.
fn task_texts(tui: &TestTui, number: u64) -> (String, String) {
    let view = tui
        .block_on(op::get_task(&tui.app().person_request(), task_id(number)))
        .unwrap();
    (view.task.subject, view.task.description)
}

#[test]
fn task_subject_and_description_are_edited_as_one_text() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("j");
    let draft = edit_selected_task(&mut tui);
    assert_eq!(draft.text, "Deploy to staging\n\nDo it **well**.\n");
    let same = "Deploy to staging\n\n\nDo it **well**.".to_owned();
    tui.send(AppMessage::EditorClosed(draft.clone(), Ok(same)));
    assert!(tui.shows_text("No changes."));
    // A claim in the meantime is not a change of the text.
    let claimed = TaskUpdateParams {
        status: Some(TaskStatus::InProgress),
        ..TaskUpdateParams::new(task_id(3))
    };
    update_task_as_lead(&tui, &claimed);
    let text = "Deploy\n\nin\n\ntwo parts\n".to_owned();
    tui.send(AppMessage::EditorClosed(draft, Ok(text)));
    assert_eq!(
        task_texts(&tui, 3),
        ("Deploy".into(), "in\n\ntwo parts".into())
    );
    assert!(tui.shows_text("Saved #3 as version"));
    let draft = edit_selected_task(&mut tui);
    tui.send(AppMessage::EditorClosed(draft, Ok("\n".into())));
    assert!(tui.shows_text("invalid_subject") && tui.shows_text("/nowhere/task.md"));
}

#[test]
fn task_edit_conflict_saves_chosen_text() {
    for (keys, saved) in [
        ("xy", ("Theirs again", "Do it **well**.")),
        ("oy", ("Mine", "Do it **well**.")),
    ] {
        let mut tui = open_default_tui(Tab::Tasks);
        tui.press_keys("j<enter>");
        let draft = edit_selected_task(&mut tui);
        let theirs = TaskUpdateParams {
            subject: Some("Theirs".to_owned()),
            ..TaskUpdateParams::new(task_id(3))
        };
        update_task_as_lead(&tui, &theirs);
        let text = draft.text.replace("Deploy to staging", "Mine");
        tui.send(AppMessage::EditorClosed(draft, Ok(text)));
        assert!(tui.shows_text("#3 was changed by lead"));
        assert!(tui.shows_text("+Mine") && tui.shows_text("-Theirs"));
        assert_eq!(task_texts(&tui, 3).0, "Theirs");
        tui.press_keys("e");
        let Some(AppEffect::Edit(again)) = tui.unhandled_effects.pop() else {
            panic!("{:?}", tui.unhandled_effects);
        };
        assert!(again.text.starts_with("<<<<<<< yours\nMine\n"));
        let unchanged = again.text.clone();
        tui.send(AppMessage::EditorClosed(again.clone(), Ok(unchanged)));
        assert!(tui.shows_text("The text still contains conflict markers"));
        tui.press_keys("<esc>");
        // Another author is faster a second time.
        let theirs = TaskUpdateParams {
            subject: Some("Theirs again".to_owned()),
            ..TaskUpdateParams::new(task_id(3))
        };
        update_task_as_lead(&tui, &theirs);
        let text = "Mine\n\nDo it **well**.\n".to_owned();
        tui.send(AppMessage::EditorClosed(again, Ok(text)));
        assert!(tui.shows_text("-Theirs again"));
        tui.press_keys(keys);
        let (subject, description) = task_texts(&tui, 3);
        assert_eq!((subject.as_str(), description.as_str()), saved);
        assert!(matches!(
            tui.unhandled_effects.pop(),
            Some(AppEffect::RemoveDraftFile(_))
        ));
    }
}

#[test]
fn keys_typed_while_text_loads_are_applied_afterwards() {
    for (keys, first) in [
        ("G", "line 91"),
        ("Gk", "line 90"),
        ("jjj", "line 1"),
        ("jGggjjjj", "line 2"),
        ("/line 5<enter>n", "line 50"),
    ] {
        let text: String = (0..100).map(|n| format!("- line {n}\n")).collect();
        let mut tui = open_narrow_with_board(text);
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        let effects = update_app(&mut tui.app, 0, AppMessage::Key(enter));
        tui.press_keys(keys);
        assert!(tui.app.page().unwrap().data.is_none());
        tui.execute_effects(effects);
        assert!(
            tui.frame()[2].ends_with(first),
            "{keys}: {}",
            tui.frame()[2]
        );
    }
}

#[test]
fn edit_conflict_is_overwritten_or_discarded_after_confirmation() {
    let mut tui = open_edit_conflict("mine\n");
    // Neither is done without confirmation, nor by a key with a modifier.
    tui.press_keys("<c-o><c-x>");
    assert!(matches!(tui.app.overlay, Some(Overlay::Conflict(_))));
    tui.press_keys("o<c-y>n");
    assert!(matches!(tui.app.overlay, Some(Overlay::Conflict(_))));
    assert_eq!(read_global_board(&tui).0, 3);
    tui.press_keys("oy");
    let (version, text) = read_global_board(&tui);
    assert_eq!(version, 4);
    assert!(text.contains("mine") && !text.contains("theirs"));
    assert!(matches!(
        tui.unhandled_effects.pop(),
        Some(AppEffect::RemoveDraftFile(_))
    ));
    let mut tui = open_edit_conflict("mine\n");
    tui.press_keys("x");
    assert!(tui.shows_text("Discard your draft of global permanently?"));
    tui.press_keys("n");
    assert!(tui.unhandled_effects.is_empty());
    tui.press_keys("xy");
    assert_eq!(read_global_board(&tui).0, 3);
    assert!(matches!(
        tui.unhandled_effects.pop(),
        Some(AppEffect::RemoveDraftFile(_))
    ));
}

#[test]
fn write_after_conflict_is_shown_is_not_overwritten() {
    let mut tui = open_edit_conflict("mine\n");
    let third = op::BoardAppendParams {
        board: BoardName::Global,
        content: "third".to_owned(),
    };
    let lead: AgentId = "lead".parse().unwrap();
    tui.block_on(op::append_board(&tui.app().request(&lead), &third))
        .unwrap();
    tui.press_keys("oy");
    assert!(matches!(tui.app.overlay, Some(Overlay::Conflict(_))));
    assert!(tui.shows_text("-third") && read_global_board(&tui).1.contains("third"));
    assert!(tui.unhandled_effects.is_empty(), "the draft file is kept");
    tui.press_keys("oy");
    let (version, text) = read_global_board(&tui);
    assert_eq!(version, 5);
    assert!(text.ends_with("mine\n") && !text.contains("third"));
}

#[test]
fn edit_conflict_waits_until_open_form_is_closed() {
    let mut tui = open_edit_conflict("mine\n");
    let Some(Overlay::Conflict(shown)) = tui.app.overlay.take() else {
        panic!("{:?}", tui.app.overlay);
    };
    tui.press_keys("2mno");
    let clashed = |text: &str| AppMessage::SaveConflict {
        draft: shown.draft.clone(),
        version: 3,
        text: text.to_owned(),
        by: "lead".to_owned(),
    };
    tui.send(clashed("one"));
    tui.send(clashed("two"));
    assert!(
        tui.shows_text("Comment on #1"),
        "{}",
        tui.frame().join("\n")
    );
    tui.press_keys(" x<enter>");
    let said = tui.block_on(op::list_task_comments(
        &tui.app().person_request(),
        &op::TaskCommentsParams::for_task(task_id(1)),
    ));
    assert_eq!(said.unwrap().comments[0].body, "no x");
    for text in ["-one", "-two"] {
        assert!(tui.shows_text(text), "{}", tui.frame().join("\n"));
        tui.press_keys("xy");
    }
    assert!(tui.app.overlay.is_none());
}

#[test]
fn identical_edit_is_not_a_conflict() {
    let mut tui = open_edit_conflict("mine\n");
    let Some(Overlay::Conflict(shown)) = tui.app.overlay.take() else {
        panic!("{:?}", tui.app.overlay);
    };
    tui.send(AppMessage::SaveConflict {
        text: shown.draft.text.clone(),
        draft: shown.draft,
        version: 3,
        by: "lead".to_owned(),
    });
    assert!(tui.app.overlay.is_none() && tui.shows_text("already matches your text"));
    assert!(matches!(
        tui.unhandled_effects.pop(),
        Some(AppEffect::RemoveDraftFile(_))
    ));
}

#[test]
fn unreadable_draft_cannot_be_saved() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("e");
    let Some(AppEffect::Edit(mut draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    draft.file = Some("/nowhere/draft.md".into());
    draft.unreadable = true;
    let refused = DisplayError {
        code: "editor_failed".to_owned(),
        message: "not UTF-8".to_owned(),
        hint: String::new(),
        is_temporary: false,
    };
    tui.send(AppMessage::EditorClosed(draft, Err(refused)));
    assert!(tui.shows_text("e edit again   x discard   Esc later"));
    tui.press_keys("rS");
    assert_eq!(read_global_board(&tui).0, 2);
    assert!(tui.unhandled_effects.is_empty());
    assert_eq!(
        tui.app.draft_files,
        [std::path::Path::new("/nowhere/draft.md")]
    );
    tui.press_keys("e");
    assert!(
        matches!(tui.unhandled_effects.pop(), Some(AppEffect::Edit(draft)) if draft.unreadable)
    );
}

#[test]
fn editor_opens_only_on_page_that_requested_it() {
    for keys in ["1", "h", "?"] {
        let mut tui = open_default_tui(Tab::Boards);
        let key = KeyEvent::new(KeyCode::Char('e'), KeyModifiers::NONE);
        let effects = update_app(&mut tui.app, 0, AppMessage::Key(key));
        tui.press_keys(keys);
        tui.execute_effects(effects);
        tui.press_keys("<esc>3");
        assert!(
            tui.unhandled_effects.is_empty(),
            "{keys}: {:?}",
            tui.unhandled_effects
        );
    }
}

#[test]
fn refused_text_is_kept_in_draft_file() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("e");
    let Some(AppEffect::Edit(mut draft)) = tui.unhandled_effects.pop() else {
        panic!("{:?}", tui.unhandled_effects);
    };
    draft.file = Some("/nowhere/draft.md".into());
    let large = "x".repeat(11 << 20);
    tui.send(AppMessage::EditorClosed(draft, Ok(large)));
    assert!(matches!(
        tui.app.overlay,
        Some(Overlay::UnsavedDraft { .. })
    ));
    assert!(tui.shows_text("/nowhere/draft.md") && tui.shows_text("board_too_large"));
    tui.press_keys("<esc>");
    assert!(tui.unhandled_effects.is_empty(), "the draft file is kept");
}

#[test]
fn overlay_shows_only_its_own_keys() {
    let mut tui = open_default_tui(Tab::Tasks);
    for (keys, offered) in [
        ("?", "j k scroll   any other key closes"),
        ("<esc>D", "y yes   n no"),
        ("na", "Enter submit, Tab next field, Esc cancel"),
        ("<esc>[", "invalid_transition"),
    ] {
        tui.press_keys(keys);
        let last = tui.frame().pop().unwrap();
        assert!(last.starts_with(offered), "{keys}: {last}");
    }
    let tui = open_edit_conflict("mine\n");
    let last = tui.frame().pop().unwrap();
    assert!(last.starts_with("e merge and edit   o overwrite"), "{last}");
}
