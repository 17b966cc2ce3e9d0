//! Input that could not be saved or sent: it can be postponed and resumed, and is never lost by a key that
//! was meant for something else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::task::update::TaskUpdate;
use polis_tui::Tab;
use polis_tui::app::{Effect, Message, Overlay, update};

use crate::edits::{clash, global};
use crate::hall::{Hall, change, open, task};

fn press(hall: &mut Hall, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    let key = KeyEvent::new(code, modifiers);
    update(&mut hall.app, 0, Message::Key(key))
}

#[test]
fn a_clash_says_where_the_text_is_and_can_be_left() {
    let mut hall = clash("mine\n");
    assert!(hall.has("Your text is kept in /nowhere/draft.md"));
    assert!(hall.has("Esc later"));
    for (key, effect) in [('z', Effect::Suspend), ('c', Effect::Quit)] {
        let effects = press(&mut hall, KeyCode::Char(key), KeyModifiers::CONTROL);
        assert_eq!(effects, [effect]);
        assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))));
    }
    assert_eq!(hall.app.files, [std::path::Path::new("/nowhere/draft.md")]);
}

#[test]
fn a_text_that_was_put_off_is_there_again_when_it_is_edited() {
    for (later, page) in [("<esc>", "h"), ("q", "")] {
        let mut hall = clash("mine\n");
        hall.keys(later);
        assert!(hall.app.overlay.is_none() && hall.outside.is_empty());
        assert!(hall.has("e on global brings it back"));
        // On the board and in the list.
        hall.keys(page);
        assert!(hall.has("[your draft is kept: e]"));
        hall.keys("e");
        assert!(hall.has("was changed by lead meanwhile") && hall.has("+mine"));
        assert!(hall.outside.is_empty(), "no editor on the text without it");
        hall.keys("<esc>j");
        hall.keys("ke<esc>e");
        hall.keys("oy");
        assert!(global(&hall).1.contains("mine"));
        assert!(!hall.has("[your draft is kept"));
        hall.outside.clear();
        hall.keys("e");
        assert!(matches!(hall.outside.pop(), Some(Effect::Edit(_))));
    }
}

#[test]
fn keys_that_were_typed_before_a_box_was_seen_do_not_count_in_it() {
    let mut hall = clash("mine\n");
    let Some(Overlay::Clash(shown)) = hall.app.overlay.take() else {
        panic!("{:?}", hall.app.overlay);
    };
    let clashed = Message::Clashed {
        draft: shown.draft,
        version: 3,
        text: "theirs".to_owned(),
        by: "lead".to_owned(),
    };
    assert_eq!(update(&mut hall.app, 0, clashed), []);
    for key in ['o', 'y', 'x', 'y', 'q'] {
        assert_eq!(press(&mut hall, KeyCode::Char(key), KeyModifiers::NONE), []);
        assert!(matches!(hall.app.overlay, Some(Overlay::Clash(_))), "{key}");
    }
    assert_eq!(
        press(&mut hall, KeyCode::Char('c'), KeyModifiers::CONTROL),
        [Effect::Quit]
    );
    assert_eq!(update(&mut hall.app, 0, Message::Seen), []);
    hall.keys("x");
    assert!(hall.has("Drop your text of global for good?"));
}

#[test]
fn a_form_that_was_refused_is_there_again_with_its_text() {
    let mut hall = open(Tab::Tasks);
    hall.keys("j");
    let meanwhile = TaskUpdate {
        subject: Some("Something else".to_owned()),
        ..TaskUpdate::of(task(3))
    };
    change(&hall, &meanwhile);
    hall.keys("Avery good<enter>");
    assert!(hall.has("version_mismatch"));
    hall.keys("<esc>");
    assert!(hall.has("Approve #3") && hall.has("very good"));
    // The page behind it shows the current task, and the form refers to that version.
    assert!(hall.has("Something else"));
    hall.keys(" indeed<enter>");
    assert!(!hall.has("version_mismatch"), "{}", hall.frame().join("\n"));
    assert!(hall.app.sent.is_empty());
    // A form with several fields is restored too.
    hall.keys("<esc><esc>");
    hall.keys("aa subject<tab>at length<tab><tab>nonsense<enter>");
    assert!(matches!(hall.app.overlay, Some(Overlay::Refused(..))));
    hall.keys("<esc>");
    assert!(hall.has("a subject") && hall.has("at length") && hall.has("nonsense"));
    hall.keys("<esc>");
    assert!(hall.app.overlay.is_none());
}
