//! Postponed input tests: a draft or form that could not be saved can be closed and resumed later, and no key
//! that was typed for something else discards it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::task::update::TaskUpdateParams;
use polis_tui::Tab;
use polis_tui::app::{AppEffect, AppMessage, Overlay, update_app};

use crate::external_editor::{open_edit_conflict, read_global_board};
use crate::test_tui::{TestTui, open_default_tui, task_id, update_task_as_lead};

/// Sends one key and returns its effects without executing them.
fn press_key(tui: &mut TestTui, code: KeyCode, modifiers: KeyModifiers) -> Vec<AppEffect> {
    let key = KeyEvent::new(code, modifiers);
    update_app(&mut tui.app, 0, AppMessage::Key(key))
}

#[test]
fn edit_conflict_names_draft_file_and_allows_quit() {
    let mut tui = open_edit_conflict("mine\n");
    assert!(tui.shows_text("Your unsaved text is in /nowhere/draft.md"));
    assert!(tui.shows_text("Esc later"));
    for (key, effect) in [('z', AppEffect::Suspend), ('c', AppEffect::Quit)] {
        let effects = press_key(&mut tui, KeyCode::Char(key), KeyModifiers::CONTROL);
        assert_eq!(effects, [effect]);
        assert!(matches!(tui.app.overlay, Some(Overlay::Conflict(_))));
    }
    assert_eq!(
        tui.app.draft_files,
        [std::path::Path::new("/nowhere/draft.md")]
    );
}

#[test]
fn postponed_draft_is_restored_on_edit() {
    for (later, page) in [("<esc>", "h"), ("q", "")] {
        let mut tui = open_edit_conflict("mine\n");
        tui.press_keys(later);
        assert!(tui.app.overlay.is_none() && tui.unhandled_effects.is_empty());
        assert!(tui.shows_text("press e on global to resume it"));
        // On the board and in the list.
        tui.press_keys(page);
        assert!(tui.shows_text("[draft kept: e]"));
        tui.press_keys("e");
        assert!(tui.shows_text("was changed by lead") && tui.shows_text("+mine"));
        assert!(
            tui.unhandled_effects.is_empty(),
            "no editor on the text without it"
        );
        tui.press_keys("<esc>j");
        tui.press_keys("ke<esc>e");
        tui.press_keys("oy");
        assert!(read_global_board(&tui).1.contains("mine"));
        assert!(!tui.shows_text("[draft kept"));
        tui.unhandled_effects.clear();
        tui.press_keys("e");
        assert!(matches!(
            tui.unhandled_effects.pop(),
            Some(AppEffect::Edit(_))
        ));
    }
}

#[test]
fn keys_before_overlay_is_seen_are_ignored() {
    let mut tui = open_edit_conflict("mine\n");
    let Some(Overlay::Conflict(shown)) = tui.app.overlay.take() else {
        panic!("{:?}", tui.app.overlay);
    };
    let clashed = AppMessage::SaveConflict {
        draft: shown.draft,
        version: 3,
        text: "theirs".to_owned(),
        by: "lead".to_owned(),
    };
    assert_eq!(update_app(&mut tui.app, 0, clashed), []);
    for key in ['o', 'y', 'x', 'y', 'q'] {
        assert_eq!(
            press_key(&mut tui, KeyCode::Char(key), KeyModifiers::NONE),
            []
        );
        assert!(
            matches!(tui.app.overlay, Some(Overlay::Conflict(_))),
            "{key}"
        );
    }
    assert_eq!(
        press_key(&mut tui, KeyCode::Char('c'), KeyModifiers::CONTROL),
        [AppEffect::Quit]
    );
    assert_eq!(update_app(&mut tui.app, 0, AppMessage::OverlayDrawn), []);
    tui.press_keys("x");
    assert!(tui.shows_text("Discard your draft of global permanently?"));
}

#[test]
fn refused_form_is_restored_with_its_text() {
    let mut tui = open_default_tui(Tab::Tasks);
    tui.press_keys("j");
    let meanwhile = TaskUpdateParams {
        subject: Some("Something else".to_owned()),
        ..TaskUpdateParams::new(task_id(3))
    };
    update_task_as_lead(&tui, &meanwhile);
    tui.press_keys("Avery good<enter>");
    assert!(tui.shows_text("version_mismatch"));
    tui.press_keys("<esc>");
    assert!(tui.shows_text("Approve #3") && tui.shows_text("very good"));
    // The page behind it shows the current task, and the form refers to that version.
    assert!(tui.shows_text("Something else"));
    tui.press_keys(" indeed<enter>");
    assert!(
        !tui.shows_text("version_mismatch"),
        "{}",
        tui.frame().join("\n")
    );
    assert!(tui.app.submitted_forms.is_empty());
    // A form with several fields is restored too.
    tui.press_keys("<esc><esc>");
    tui.press_keys("aa subject<tab>at length<tab><tab>nonsense<enter>");
    assert!(matches!(tui.app.overlay, Some(Overlay::Error(..))));
    tui.press_keys("<esc>");
    assert!(
        tui.shows_text("a subject") && tui.shows_text("at length") && tui.shows_text("nonsense")
    );
    tui.press_keys("<esc>");
    assert!(tui.app.overlay.is_none());
}
