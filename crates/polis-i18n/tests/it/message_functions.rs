//! Generated functions return the text of the catalogue, exactly.

use polis_i18n::UiLanguage::{En, Zh};
use polis_i18n::msg;

#[test]
fn text_selected_by_number_follows_plural_rules() {
    let texts = |count: u64| {
        (
            msg::run_agent_count(En, count),
            msg::run_agent_count(Zh, count),
        )
    };
    assert_eq!(texts(0), ("0 agents".into(), "0 个智能体".into()));
    assert_eq!(texts(1), ("1 agent".into(), "1 个智能体".into()));
    assert_eq!(texts(2), ("2 agents".into(), "2 个智能体".into()));
    assert_eq!(msg::time_hours_and_minutes(En, 2, 0), "2 h");
    assert_eq!(msg::time_hours_and_minutes(Zh, 2, 5), "2 小时 5 分");
}

#[test]
fn inserted_text_is_neither_escaped_nor_isolated() {
    let title = msg::board_history_title(En, "<b>{0}</b> \u{5d0}");
    assert_eq!(title, "History of <b>{0}</b> \u{5d0}");
}

#[test]
fn quoted_spaces_are_kept() {
    assert_eq!(msg::tui_following(En), "[following] ");
    assert_eq!(msg::common_list_separator(En), ", ");
}
