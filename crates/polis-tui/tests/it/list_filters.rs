//! List filter tests: filters of lists, searches in texts, and jumping to the end of a partially loaded list.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_tui::Tab;
use polis_tui::app::{AppEffect, AppMessage, Route, update_app};
use polis_view::UiLanguage;

use crate::test_tui::{TestTui, create_tasks, open_default_tui};

fn current_filter(tui: &TestTui) -> &str {
    &tui.app.page().unwrap().filter
}

#[test]
fn new_filter_starts_empty_and_history_recalls_last() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("/mid<enter>/");
    assert!(tui.shows_text("global"));
    tui.press_keys("glo<enter>");
    assert_eq!(current_filter(&tui), "glo");
    tui.press_keys("/x<esc>");
    assert_eq!(current_filter(&tui), "glo");
    tui.press_keys("/");
    tui.send(AppMessage::Key(KeyEvent::new(
        KeyCode::Up,
        KeyModifiers::NONE,
    )));
    tui.press_keys("b<enter>");
    assert_eq!(current_filter(&tui), "glob");
}

#[test]
fn text_search_without_match_shows_notice() {
    let mut tui = open_default_tui(Tab::Boards);
    tui.press_keys("<enter>/nowhere<enter>");
    assert!(tui.shows_text("Not found: nowhere"));
    tui.press_keys("j");
    assert!(!tui.shows_text("Not found"));
    for keys in ["n", "N"] {
        tui.press_keys(keys);
        assert!(tui.shows_text("Not found: nowhere"));
    }
    tui.press_keys("/build<enter>n");
    assert!(!tui.shows_text("Not found"));
    // Also if the text was not loaded yet.
    let mut tui = open_default_tui(Tab::Boards);
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    let effects = update_app(&mut tui.app, 0, AppMessage::Key(enter));
    tui.press_keys("/nowhere<enter>");
    tui.execute_effects(effects);
    assert!(tui.shows_text("Not found: nowhere"));
}

#[test]
fn filter_without_match_shows_notice_in_every_list() {
    for (tab, keys) in [
        (Tab::Overview, ""),
        (Tab::Boards, ""),
        (Tab::Boards, "v"),
        (Tab::Agents, ""),
        (Tab::Workspaces, ""),
        (Tab::Workspaces, "jc"),
    ] {
        let mut tui = TestTui::open_active_run(UiLanguage::En, (80, 24), tab);
        tui.press_keys(keys);
        tui.press_keys("/zzz");
        let frame = tui.frame();
        assert!(frame[1].ends_with("0/0"), "{tab:?}{keys}: {}", frame[1]);
        assert!(
            tui.shows_text("No match for \"zzz\". Esc clears the filter."),
            "{tab:?}{keys}"
        );
    }
}

#[test]
fn escape_clears_filter_before_leaving_page() {
    let mut tui = TestTui::open_active_run(UiLanguage::En, (80, 24), Tab::Workspaces);
    tui.press_keys("jc");
    let here = tui.app.page().unwrap().route.clone();
    assert!(matches!(here, Route::Commands(_)));
    tui.press_keys("/make<enter><esc>");
    assert_eq!(tui.app.page().unwrap().route, here);
    assert_eq!(current_filter(&tui), "");
    tui.press_keys("<esc>");
    assert_eq!(tui.app.page().unwrap().route, Route::Workspaces);
    tui.press_keys("3<enter>/build<enter><esc>");
    assert!(matches!(tui.app.page().unwrap().route, Route::Board(_)));
    tui.press_keys("<esc>");
    assert_eq!(tui.app.page().unwrap().route, Route::Boards);
}

#[test]
fn filtered_selection_is_kept_after_filter_is_cleared() {
    for (tab, wanted) in [
        (Tab::Boards, "backend"),
        (Tab::Agents, "backend"),
        (Tab::Tasks, "tests"),
    ] {
        let mut tui = open_default_tui(tab);
        tui.press_keys(&format!("/{wanted}<enter>"));
        let selected = tui.app.page().unwrap().selection();
        tui.press_keys("<esc>");
        let page = tui.app.page().unwrap();
        assert!(page.filter.is_empty() && page.selected > 0, "{tab:?}");
        assert!(page.selection().is_same_item(&selected), "{tab:?}");
    }
}

#[test]
fn end_key_loads_long_list_to_its_end() {
    let mut tui = open_default_tui(Tab::Tasks);
    create_tasks(&tui, 700);
    tui.press_keys("<c-l>G");
    let page = tui.app.page().unwrap();
    assert_eq!(page.position(), (703, 703));
    assert!(tui.shows_text("Write the tests"), "the oldest pending task");
    tui.press_keys("6gg");
    let page = tui.app.page().unwrap();
    assert!(page.selected == 0 && tui.frame()[2].starts_with("1 "));
}

#[test]
fn other_key_cancels_loading_to_end() {
    let mut tui = open_default_tui(Tab::Tasks);
    create_tasks(&tui, 700);
    tui.press_keys("<c-l>");
    let g = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::NONE);
    let effects = update_app(&mut tui.app, 0, AppMessage::Key(g));
    assert!(matches!(effects.as_slice(), [AppEffect::Load(_)]));
    assert!(tui.shows_text("loading…"), "{}", tui.frame()[1]);
    tui.press_keys("gg");
    tui.execute_effects(effects);
    let page = tui.app.page().unwrap();
    assert_eq!((page.requested_rows, page.loading.is_none()), (400, true));
    assert!(!tui.shows_text("loading…"));
}
