//! Tests of loading: which data is loaded when, and how much of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polis_core::{AgentId, Event};
use polis_ops::op;
use polis_tui::Tab;
use polis_tui::app::{Counting, Effect, Message, Part, Wish, update};
use polis_tui::show::{Data, EventSheet};
use polis_view::Lang;

use crate::hall::{Hall, create, open};

fn last(hall: &Hall) -> u64 {
    hall.wait(hall.polis().store.last_sequence()).unwrap()
}

fn events_since(hall: &Hall, since: u64) -> Vec<Event> {
    let read = op::LogRead {
        since,
        ..op::LogRead::default()
    };
    let page = hall.wait(op::read_log(hall.polis(), &AgentId::user(), &read));
    page.unwrap().events
}

/// Returns the load request that a message triggers, and executes it.
fn wish(hall: &mut Hall, message: Message) -> Wish {
    let now = hall.polis().clock.now_millis();
    let mut effects = update(&mut hall.app, now, message);
    let Some(Effect::Load(wish)) = effects.pop() else {
        panic!("{effects:?}");
    };
    hall.carry_out(vec![Effect::Load(wish.clone())]);
    wish
}

fn sheet(hall: &Hall) -> &EventSheet {
    match &hall.app.page().unwrap().data {
        Some(Data::Events(sheet)) => sheet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_the_log_only_what_is_new_or_older_is_read() {
    let mut hall = open(Tab::Tasks);
    create(&hall, 1_500);
    let known = last(&hall);
    hall.keys("6");
    assert_eq!(sheet(&hall).events.len(), 200);
    create(&hall, 2);
    let events = events_since(&hall, known);
    let asked = wish(&mut hall, Message::News(events));
    assert_eq!(asked.part, Part::Since(known));
    assert_eq!(sheet(&hall).events.len(), 202);
    // Up to the beginning; the newer events are still loaded.
    let first = sheet(&hall).from;
    hall.keys("g");
    let g = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::NONE);
    let asked = wish(&mut hall, Message::Key(g));
    assert_eq!(asked.part, Part::Before(first));
    let all = sheet(&hall).events.iter().map(|event| event.seq);
    assert!(all.eq(1..=last(&hall)), "each of them once, in order");
    assert!(!sheet(&hall).more);
}

#[test]
fn a_search_says_how_far_back_it_looked_and_goes_on_when_it_is_asked() {
    let mut hall = open(Tab::Events);
    hall.keys("/of many");
    let found = |from: u64, to: u64, more: bool| EventSheet {
        events: Vec::new(),
        search: "of many".to_owned(),
        from,
        to,
        more,
    };
    assert!(hall.has("Nothing was found."));
    let redraw = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    hall.keys("<enter>");
    let effects = update(&mut hall.app, 0, Message::Key(redraw));
    let [Effect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let answer = Data::Events(found(50_001, 100_000, true));
    hall.tell(Message::Loaded(asked.clone(), Ok(answer)));
    assert!(
        hall.has("Searched back to event 50001."),
        "{}",
        hall.frame().join("\n")
    );
    hall.keys("g");
    let g = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::NONE);
    let now = hall.polis().clock.now_millis();
    let effects = update(&mut hall.app, now, Message::Key(g));
    let [Effect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(asked.part, Part::Before(50_001));
    let answer = Data::Events(found(1, 50_000, false));
    hall.tell(Message::Loaded(asked.clone(), Ok(answer)));
    assert_eq!((sheet(&hall).from, sheet(&hall).to), (1, 100_000));
    assert!(hall.has("Nothing was found."));
}

#[test]
fn parts_of_the_log_that_do_not_meet_are_not_joined() {
    let part = |from, to| EventSheet {
        events: Vec::new(),
        search: String::new(),
        from,
        to,
        more: false,
    };
    for (new, range) in [((11, 20), (5, 20)), ((1, 4), (1, 10)), ((13, 20), (13, 20))] {
        let joined = part(5, 10).joined_by(part(new.0, new.1));
        assert_eq!((joined.from, joined.to), range);
    }
    let other = EventSheet {
        search: "x".to_owned(),
        ..part(11, 20)
    };
    assert_eq!(part(5, 10).joined_by(other).from, 11);
}

#[test]
fn no_more_tasks_are_read_again_than_are_near_the_selection() {
    let mut hall = open(Tab::Tasks);
    create(&hall, 450);
    let since = last(&hall);
    hall.keys("<c-l>G");
    assert_eq!(hall.app.page().unwrap().rows, 800);
    create(&hall, 1);
    let events = events_since(&hall, since);
    assert_eq!(wish(&mut hall, Message::News(events.clone())).rows, 600);
    hall.keys("gg");
    assert_eq!(wish(&mut hall, Message::News(events)).rows, 200);
}

#[test]
fn this_minute_does_not_wait_for_the_figures() {
    let mut hall = Hall::empty(Lang::En, (80, 24), Tab::Now);
    let effects = hall.app.begin();
    let [Effect::Load(asked)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let answer = hall.wait(polis_tui::run::load(&hall.screen, asked));
    let effects = update(&mut hall.app, 0, Message::Loaded(asked.clone(), answer));
    assert_eq!(effects, [Effect::Figures]);
    assert!(hall.has("The figures are being counted") && hall.has("Last events"));
    // Events in the meantime cause another computation afterwards, not a concurrent one.
    hall.keys("<c-l>");
    assert_eq!(hall.app.counting, Counting::NowAndAgain);
    hall.carry_out(effects);
    assert!(hall.has("role match"));
    assert_eq!(hall.app.counting, Counting::No);
}

#[test]
fn what_is_far_back_is_let_go_only_while_nobody_looks_at_it() {
    let mut hall = open(Tab::Events);
    let known = sheet(&hall).events.clone();
    let many = |first: u64, last: u64| EventSheet {
        events: (first..=last)
            .map(|seq| Event {
                seq,
                ..known[0].clone()
            })
            .collect(),
        search: String::new(),
        from: first,
        to: last,
        more: false,
    };
    let redraw = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    let mut told = |keys: &str, new: EventSheet| {
        hall.keys(keys);
        let effects = update(&mut hall.app, 0, Message::Key(redraw));
        let [Effect::Load(asked)] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        let loaded = Message::Loaded(asked.clone(), Ok(Data::Events(new)));
        update(&mut hall.app, 0, loaded);
        (sheet(&hall).from, sheet(&hall).to)
    };
    assert_eq!(told("gg", many(13, 10_500)), (1, 10_500));
    assert_eq!(told("", many(10_501, 10_600)), (1, 10_600));
    assert_eq!(told("Gf", many(10_601, 10_700)), (701, 10_700));
}
