//! Page loading tests: which data is loaded when and how much of it (incremental event log, task reloads,
//! statistics).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::task::TaskField;
use polis_core::{AgentId, Event};
use polis_ops::op;
use polis_testkit::sample_task;
use polis_tui::Tab;
use polis_tui::app::{AppEffect, AppMessage, LoadRange, LoadRequest, StatsLoading, update_app};
use polis_tui::page_content::{LoadedEvents, PageData};
use polis_view::task_fields::{TaskValueStyle, format_task_field};
use polis_view::{UiLanguage, labels};

use crate::test_tui::{TestTui, create_tasks, open_default_tui};

/// Returns the last sequence number of the log.
fn last_sequence(tui: &TestTui) -> u64 {
    tui.block_on(tui.app().store.last_sequence()).unwrap()
}

fn events_since(tui: &TestTui, since: u64) -> Vec<Event> {
    let read = op::LogReadParams {
        since,
        ..op::LogReadParams::default()
    };
    let page = tui.block_on(op::read_log(&tui.app().request(&AgentId::user()), &read));
    page.unwrap().events
}

/// Returns the load request that a message triggers, and executes it.
fn trigger_load(tui: &mut TestTui, message: AppMessage) -> LoadRequest {
    let now = tui.app().clock.now_millis();
    let mut effects = update_app(&mut tui.app, now, message);
    let Some(AppEffect::Load(wish)) = effects.pop() else {
        panic!("{effects:?}");
    };
    tui.execute_effects(vec![AppEffect::Load(wish.clone())]);
    wish
}

fn event_sheet(tui: &TestTui) -> &LoadedEvents {
    match &tui.app.page().unwrap().data {
        Some(PageData::Events(sheet)) => sheet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn event_log_loads_only_newer_or_older_events() {
    let mut tui = open_default_tui(Tab::Tasks);
    create_tasks(&tui, 1_500);
    let known = last_sequence(&tui);
    tui.press_keys("6");
    assert_eq!(event_sheet(&tui).events.len(), 200);
    create_tasks(&tui, 2);
    let events = events_since(&tui, known);
    let asked = trigger_load(&mut tui, AppMessage::EventsArrived(events));
    assert_eq!(asked.range, LoadRange::Since(known));
    assert_eq!(event_sheet(&tui).events.len(), 202);
    // Up to the beginning; the newer events are still loaded.
    let first = event_sheet(&tui).first_seq;
    tui.press_keys("g");
    let g = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::NONE);
    let asked = trigger_load(&mut tui, AppMessage::Key(g));
    assert_eq!(asked.range, LoadRange::Before(first));
    let all = event_sheet(&tui).events.iter().map(|event| event.seq);
    assert!(
        all.eq(1..=last_sequence(&tui)),
        "every event once, in order"
    );
    assert!(!event_sheet(&tui).has_more);
}

#[test]
fn event_search_shows_range_and_continues_on_request() {
    let mut tui = open_default_tui(Tab::Events);
    tui.press_keys("/of many");
    let found = |from: u64, to: u64, more: bool| LoadedEvents {
        events: Vec::new(),
        search: "of many".to_owned(),
        first_seq: from,
        last_seq: to,
        has_more: more,
    };
    assert!(tui.shows_text("No matches."));
    let redraw = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    tui.press_keys("<enter>");
    let effects = update_app(&mut tui.app, 0, AppMessage::Key(redraw));
    let [AppEffect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let answer = PageData::Events(found(50_001, 100_000, true));
    tui.send(AppMessage::Loaded(asked.clone(), Ok(answer)));
    assert!(
        tui.shows_text("Searched back to event 50001."),
        "{}",
        tui.frame().join("\n")
    );
    tui.press_keys("g");
    let g = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::NONE);
    let now = tui.app().clock.now_millis();
    let effects = update_app(&mut tui.app, now, AppMessage::Key(g));
    let [AppEffect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(asked.range, LoadRange::Before(50_001));
    let answer = PageData::Events(found(1, 50_000, false));
    tui.send(AppMessage::Loaded(asked.clone(), Ok(answer)));
    assert_eq!(
        (event_sheet(&tui).first_seq, event_sheet(&tui).last_seq),
        (1, 100_000)
    );
    assert!(tui.shows_text("No matches."));
}

#[test]
fn disjoint_event_ranges_are_not_joined() {
    let part = |from, to| LoadedEvents {
        events: Vec::new(),
        search: String::new(),
        first_seq: from,
        last_seq: to,
        has_more: false,
    };
    for (new, range) in [((11, 20), (5, 20)), ((1, 4), (1, 10)), ((13, 20), (13, 20))] {
        let joined = part(5, 10).joined_with(part(new.0, new.1));
        assert_eq!((joined.first_seq, joined.last_seq), range);
    }
    let other = LoadedEvents {
        search: "x".to_owned(),
        ..part(11, 20)
    };
    assert_eq!(part(5, 10).joined_with(other).first_seq, 11);
}

#[test]
fn task_reload_is_limited_to_rows_near_selection() {
    let mut tui = open_default_tui(Tab::Tasks);
    create_tasks(&tui, 450);
    let since = last_sequence(&tui);
    tui.press_keys("<c-l>G");
    assert_eq!(tui.app.page().unwrap().requested_rows, 800);
    create_tasks(&tui, 1);
    let events = events_since(&tui, since);
    assert_eq!(
        trigger_load(&mut tui, AppMessage::EventsArrived(events.clone())).rows,
        600
    );
    tui.press_keys("gg");
    assert_eq!(
        trigger_load(&mut tui, AppMessage::EventsArrived(events)).rows,
        200
    );
}

#[test]
fn overview_is_shown_before_statistics() {
    let mut tui = TestTui::with_empty_store(UiLanguage::En, (80, 24), Tab::Overview);
    let effects = tui.app.initial_effects();
    let [AppEffect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let answer = tui.block_on(polis_tui::event_loop::load_page(&tui.screen, asked));
    let effects = update_app(&mut tui.app, 0, AppMessage::Loaded(asked.clone(), answer));
    assert_eq!(effects, [AppEffect::ComputeStats]);
    assert!(tui.shows_text("Computing statistics") && tui.shows_text("Latest events"));
    // Events in the meantime cause another computation afterwards, not a concurrent one.
    tui.press_keys("<c-l>");
    assert_eq!(tui.app.stats_loading, StatsLoading::RunningOutdated);
    tui.execute_effects(effects);
    assert!(tui.shows_text("role match"));
    assert_eq!(tui.app.stats_loading, StatsLoading::Idle);
}

#[test]
fn old_events_are_evicted_only_while_following() {
    let mut tui = open_default_tui(Tab::Events);
    let known = event_sheet(&tui).events.clone();
    let many = |first: u64, last: u64| LoadedEvents {
        events: (first..=last)
            .map(|seq| Event {
                seq,
                ..known[0].clone()
            })
            .collect(),
        search: String::new(),
        first_seq: first,
        last_seq: last,
        has_more: false,
    };
    let redraw = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    let mut told = |keys: &str, new: LoadedEvents| {
        tui.press_keys(keys);
        let effects = update_app(&mut tui.app, 0, AppMessage::Key(redraw));
        let [AppEffect::Load(asked)] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        let loaded = AppMessage::Loaded(asked.clone(), Ok(PageData::Events(new)));
        update_app(&mut tui.app, 0, loaded);
        (event_sheet(&tui).first_seq, event_sheet(&tui).last_seq)
    };
    assert_eq!(told("gg", many(13, 10_500)), (1, 10_500));
    assert_eq!(told("", many(10_501, 10_600)), (1, 10_600));
    assert_eq!(told("Gf", many(10_601, 10_700)), (701, 10_700));
}

#[test]
fn task_page_shows_every_task_field() {
    let mut tui = TestTui::with_empty_store(UiLanguage::En, (100, 60), Tab::Tasks);
    let id = tui.block_on(sample_task::import_sample_task(tui.app()));
    tui.load_first_page();
    tui.press_keys("/parcels<enter><enter>");
    let view = tui
        .block_on(op::get_task(&tui.app().person_request(), id))
        .unwrap();
    let now = tui.app().clock.now_millis();
    let style = TaskValueStyle::Readable { now };
    let frame = tui.frame();
    let page = frame.join("\n");
    for &field in TaskField::ALL {
        let label = labels::task_field_label(field, UiLanguage::En);
        let value = format_task_field(&view, field, style, UiLanguage::En);
        match value {
            Some(value) => assert!(
                frame
                    .iter()
                    .any(|line| line.contains(label) && line.contains(&value)),
                "{field:?}: {page}"
            ),
            None => assert!(
                page.contains(sample_task::sample_field_value(field).1),
                "{field:?}: {page}"
            ),
        }
    }
}
