//! Filters of lists, searches in texts, and jumping to the end of a partially loaded list.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_tui::Tab;
use polis_tui::app::{Effect, Message, Place, update};
use polis_view::Lang;

use crate::hall::{Hall, create, open};

fn filter(hall: &Hall) -> &str {
    &hall.app.page().unwrap().filter
}

#[test]
fn a_second_search_begins_with_nothing_and_the_first_can_be_had_again() {
    let mut hall = open(Tab::Boards);
    hall.keys("/mid<enter>/");
    assert!(hall.has("global"));
    hall.keys("glo<enter>");
    assert_eq!(filter(&hall), "glo");
    hall.keys("/x<esc>");
    assert_eq!(filter(&hall), "glo");
    hall.keys("/");
    hall.tell(Message::Key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE)));
    hall.keys("b<enter>");
    assert_eq!(filter(&hall), "glob");
}

#[test]
fn a_search_in_a_text_without_a_match_says_so() {
    let mut hall = open(Tab::Boards);
    hall.keys("<enter>/nowhere<enter>");
    assert!(hall.has("Not found: nowhere"));
    hall.keys("j");
    assert!(!hall.has("Not found"));
    for keys in ["n", "N"] {
        hall.keys(keys);
        assert!(hall.has("Not found: nowhere"));
    }
    hall.keys("/build<enter>n");
    assert!(!hall.has("Not found"));
    // Also if the text was not loaded yet.
    let mut hall = open(Tab::Boards);
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    let effects = update(&mut hall.app, 0, Message::Key(enter));
    hall.keys("/nowhere<enter>");
    hall.carry_out(effects);
    assert!(hall.has("Not found: nowhere"));
}

#[test]
fn a_filter_without_a_match_says_so_in_every_list() {
    for (tab, keys) in [
        (Tab::Now, ""),
        (Tab::Boards, ""),
        (Tab::Boards, "v"),
        (Tab::Agents, ""),
        (Tab::Workspaces, ""),
        (Tab::Workspaces, "jc"),
    ] {
        let mut hall = Hall::busy(Lang::En, (80, 24), tab);
        hall.keys(keys);
        hall.keys("/zzz");
        let frame = hall.frame();
        assert!(frame[1].ends_with("0/0"), "{tab:?}{keys}: {}", frame[1]);
        assert!(
            hall.has("Nothing here holds \"zzz\". Esc ends the filter."),
            "{tab:?}{keys}"
        );
    }
}

#[test]
fn escape_ends_a_filter_before_it_leaves_the_page() {
    let mut hall = Hall::busy(Lang::En, (80, 24), Tab::Workspaces);
    hall.keys("jc");
    let here = hall.app.page().unwrap().place.clone();
    assert!(matches!(here, Place::Commands(_)));
    hall.keys("/make<enter><esc>");
    assert_eq!(hall.app.page().unwrap().place, here);
    assert_eq!(filter(&hall), "");
    hall.keys("<esc>");
    assert_eq!(hall.app.page().unwrap().place, Place::Workspaces);
    hall.keys("3<enter>/build<enter><esc>");
    assert!(matches!(hall.app.page().unwrap().place, Place::Board(_)));
    hall.keys("<esc>");
    assert_eq!(hall.app.page().unwrap().place, Place::Boards);
}

#[test]
fn what_was_found_by_a_filter_stays_selected_after_it() {
    for (tab, wanted) in [
        (Tab::Boards, "backend"),
        (Tab::Agents, "backend"),
        (Tab::Tasks, "tests"),
    ] {
        let mut hall = open(tab);
        hall.keys(&format!("/{wanted}<enter>"));
        let selected = hall.app.page().unwrap().thing();
        hall.keys("<esc>");
        let page = hall.app.page().unwrap();
        assert!(page.filter.is_empty() && page.selected > 0, "{tab:?}");
        assert!(page.thing().is_same(&selected), "{tab:?}");
    }
}

#[test]
fn the_end_of_a_long_list_is_reached_by_one_key() {
    let mut hall = open(Tab::Tasks);
    create(&hall, 700);
    hall.keys("<c-l>G");
    let page = hall.app.page().unwrap();
    assert_eq!(page.position(), (703, 703));
    assert!(hall.has("Write the tests"), "the oldest that waits");
    hall.keys("6gg");
    let page = hall.app.page().unwrap();
    assert!(page.selected == 0 && hall.frame()[2].starts_with("1 "));
}

#[test]
fn another_key_ends_the_way_to_the_end() {
    let mut hall = open(Tab::Tasks);
    create(&hall, 700);
    hall.keys("<c-l>");
    let g = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::NONE);
    let effects = update(&mut hall.app, 0, Message::Key(g));
    assert!(matches!(effects.as_slice(), [Effect::Load(_)]));
    assert!(hall.has("reads…"), "{}", hall.frame()[1]);
    hall.keys("gg");
    hall.carry_out(effects);
    let page = hall.app.page().unwrap();
    assert_eq!((page.rows, page.loading.is_none()), (400, true));
    assert!(!hall.has("reads…"));
}
