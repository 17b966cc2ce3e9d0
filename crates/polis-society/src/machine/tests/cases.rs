//! Table tests of the state machine: its effects, event by event.

use polis_core::society::approval::Decision;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Entry};
use polis_core::time::Timestamp;

use super::super::{Cost, Effect, Event, Machine};
use super::stage::{Store, answer, person};
use crate::model::{Answer, Finish, ModelError, ModelFault};

/// Gives these responses one after another; then "done".
fn script(answers: Vec<Answer>) -> impl FnMut(&str) -> Answer {
    let mut answers = answers.into_iter();
    move |_| answers.next().unwrap_or_else(|| answer("done", &[]))
}

fn lived(store: &mut Store, answers: Vec<Answer>) -> Machine {
    let mut machine = store.load(person());
    store.play(&mut machine, &mut script(answers));
    store.check_pairs();
    machine
}

#[test]
fn without_mail_it_sleeps_and_writes_nothing() {
    let mut store = Store::default();
    lived(&mut store, vec![]);
    assert_eq!((store.revision, store.shape().as_str()), (1, ""));
}

#[test]
fn a_step_is_one_commit_whatever_the_tools() {
    let cases = [
        (vec![], "HS", 1),
        (vec![("1", "look", "{}")], "HSD S", 2),
        (vec![("1", "put", "{}")], "HSD S", 2),
        (vec![("1", "look", "{}"), ("2", "put", "{}")], "HSDD S", 2),
        (vec![("1", "put", "{}"), ("2", "put", "{}")], "HSD D S", 3),
        // Calls with outside effects are recorded before they start.
        (vec![("1", "run", "{}")], "HS D S", 3),
        (
            vec![("1", "write", "{}"), ("2", "run", "{}")],
            "HS D D S",
            4,
        ),
        (vec![("1", "put", "{}"), ("2", "mail", "{}")], "HSD D S", 3),
        // Received messages are committed before the mailbox is read.
        (vec![("1", "mail", "{}")], "HS D S", 3),
        (vec![("1", "nosuch", "{}")], "HSD S", 2),
        (vec![("1", "put", "[1")], "HSD S", 2),
        (vec![("1", "put", "")], "HSD S", 2),
        (vec![("1", "get_context_status", "{}")], "HSD S", 2),
    ];
    for (calls, shape, commits) in cases {
        let mut store = Store::default();
        store.send("hello");
        let done = calls.len();
        let text = if calls.is_empty() { "done" } else { "" };
        lived(&mut store, vec![answer(text, &calls)]);
        assert_eq!(store.shape(), shape, "{calls:?}");
        assert_eq!(store.revision - 1, commits, "{calls:?}");
        assert_eq!(store.results().len(), done);
        assert_eq!(store.state.status, MemberStatus::Idle);
        assert_eq!((store.state.doing.as_ref(), store.state.heard), (None, 1));
    }
}

#[test]
fn what_is_wrong_with_a_call_is_told_to_the_model() {
    let cases = [
        ("nosuch", "{}", "tool_not_found"),
        ("put", "[1,2]", "invalid_input"),
        ("put", "{\"a\":", "invalid_input"),
        ("put", "null", "invalid_input"),
    ];
    for (tool, arguments, code) in cases {
        let mut store = Store::default();
        store.send("hello");
        lived(&mut store, vec![answer("", &[("1", tool, arguments)])]);
        let (end, text) = store.results().remove(0);
        assert_eq!(end, CallEnd::Failed);
        assert!(text.starts_with(code), "{text}");
        assert!(store.done.is_empty());
    }
}

#[test]
fn a_message_that_comes_while_it_thinks_is_heard_at_the_next_step() {
    let mut store = Store::default();
    store.send("first");
    let mut machine = store.load(person());
    assert!(matches!(machine.go(), Effect::LookForMail));
    machine.on(Event::Mail(store.unread.clone()));
    assert!(matches!(machine.on(Event::Funded), Effect::Ask));
    store.send("second");
    let said = answer("", &[("1", "look", "{}")]);
    let mut effect = machine.on(Event::Answered(Box::new(said)));
    let mut seen = Vec::new();
    let mut model = |prompt: &str| {
        seen.push(prompt.contains("second"));
        answer("done", &[])
    };
    loop {
        let prompt = machine.context.prompt("").to_owned();
        match store.carry_out(&machine, effect, &mut model, &prompt) {
            Some(event) => effect = machine.on(event),
            None => break,
        }
    }
    assert_eq!(seen, [true]);
    assert_eq!(
        (store.shape().as_str(), store.heard()),
        ("HSD HS", vec![1, 2])
    );
}

#[test]
fn after_a_crash_a_command_is_told_as_interrupted_and_a_file_is_written_again() {
    for (tool, end, times) in [("run", CallEnd::Interrupted, 1), ("write", CallEnd::Ok, 2)] {
        let mut store = Store::default();
        store.send("hello");
        let mut machine = store.load(person());
        let mut effect = machine.go();
        let mut model = script(vec![answer("", &[("1", tool, "{}")])]);
        // It is executed, and the process ends before the result is recorded.
        while store.done.is_empty() {
            let event = store.carry_out(&machine, effect, &mut model, "").unwrap();
            effect = machine.on(event);
        }
        assert_eq!(store.state.doing.as_deref(), Some("1"));
        assert!(store.state.tool.is_some(), "others see what it does");
        lived(&mut store, vec![]);
        assert_eq!(store.results()[0].0, end, "{tool}");
        assert_eq!(store.done["1"], times, "{tool}");
        assert_eq!(store.shape(), "HS D S");
    }
}

#[test]
fn a_call_that_has_to_be_allowed_waits_and_is_carried_out_once_or_not_at_all() {
    for allowed in [true, false] {
        let mut store = Store::default();
        store.send("hello");
        let calls = [
            ("1", "look", "{}"),
            ("2", "danger", "{}"),
            ("3", "put", "{}"),
        ];
        lived(&mut store, vec![answer("", &calls)]);
        assert_eq!(store.state.status, MemberStatus::Asking);
        assert_eq!(
            (store.asked.as_slice(), store.shape().as_str()),
            (&[(0, 1)][..], "HSD")
        );
        // A message does not make it continue, and approval is not requested twice.
        store.send("well?");
        lived(&mut store, vec![]);
        assert_eq!((store.asked.len(), store.shape().as_str()), (1, "HSD"));
        let decision = Decision {
            allowed,
            note: Some("not today".to_owned()),
            by: "user".parse().unwrap(),
            at: Timestamp::from_millis(0),
        };
        store.decisions.insert((0, 1), decision);
        lived(&mut store, vec![]);
        let done = store.done.get("2").copied().unwrap_or(0);
        assert_eq!(done, u32::from(allowed));
        let (end, text) = store.results().remove(1);
        assert_eq!(end == CallEnd::Denied, !allowed);
        assert_eq!(text.contains("not today"), !allowed, "{text}");
        assert_eq!(store.done["3"], 1);
        assert_eq!(store.state.status, MemberStatus::Idle);
        assert_eq!(store.heard(), [1, 2]);
    }
}

#[test]
fn the_same_call_again_and_again_is_warned_of_and_stopped_across_restarts() {
    let mut store = Store::default();
    store.send("hello");
    for _ in 0..20 {
        if store.state.status == MemberStatus::Paused {
            break;
        }
        // One step of each session.
        let mut machine = store.load(person());
        let mut effect = machine.go();
        let before = store.revision;
        let mut model = |_: &str| answer("", &[("1", "look", "{\"a\":1}")]);
        while store.revision == before {
            let event = store.carry_out(&machine, effect, &mut model, "").unwrap();
            effect = machine.on(event);
        }
    }
    assert_eq!(store.done["1"], 3);
    let warned = store
        .results()
        .iter()
        .filter(|(_, text)| text.starts_with("repeated_call"))
        .count();
    assert_eq!((warned, store.results().len()), (3, 6));
    assert!(store.told[0].contains("look"), "{:?}", store.told);
    assert!(store.state.why.is_some());
    store.check_pairs();
}

#[test]
fn circles_of_every_sort_end_and_one_answer_alone_does_not() {
    let look = ("1", "look", "{}");
    let cases = [
        // Both calls get a warning; the member is stopped once.
        (vec![look, ("2", "look", "[]")], 6, 11),
        (vec![("1", "nosuch", "{}")], 6, 6),
        (vec![("1", "put", "{\"half")], 6, 6),
        (vec![("1", "put", "{}")], 15, 15),
        (vec![("1", "run", "{}")], 15, 15),
        (vec![look; 10], 6, 51),
    ];
    for (calls, answers, results) in cases {
        let mut store = Store::default();
        store.send("hello");
        let mut machine = store.load(person());
        let mut asked = 0;
        store.play(&mut machine, &mut |_| {
            asked += 1;
            answer("", &calls)
        });
        assert_eq!(store.state.status, MemberStatus::Paused, "{calls:?}");
        assert_eq!((asked, store.told.len()), (answers, 1), "{calls:?}");
        assert_eq!(store.results().len(), results, "{calls:?}");
        // After new instructions and a resume, the rest of the response does not stop it again.
        store.state.status = MemberStatus::Working;
        store.send("do something else");
        lived(&mut store, vec![answer("", &calls)]);
        assert_eq!(store.state.status, MemberStatus::Idle, "{calls:?}");
        assert_eq!((store.told.len(), store.heard()), (1, vec![1, 2]));
    }
    let mut store = Store::default();
    store.send("hello");
    lived(&mut store, vec![answer("", &[look; 15])]);
    assert_eq!(store.state.status, MemberStatus::Idle);
    assert_eq!(store.done["1"], 15);
}

#[test]
fn a_model_that_fails_for_good_parks_it_and_what_it_heard_stays_unread() {
    let mut store = Store::default();
    store.send("hello");
    let mut machine = store.load(person());
    machine.go();
    machine.on(Event::Mail(store.unread.clone()));
    machine.on(Event::Funded);
    let effect = machine.on(Event::Failed(ModelError {
        kind: ModelFault::Permanent,
        message: "no such model".to_owned(),
    }));
    let event = store
        .carry_out(&machine, effect, &mut script(vec![]), "")
        .unwrap();
    assert!(matches!(machine.on(event), Effect::Sleep));
    assert_eq!(store.state.status, MemberStatus::Parked);
    assert_eq!(
        (store.unread.len(), store.state.heard, store.told.len()),
        (1, 0, 1)
    );
    assert!(store.told[0].contains("no such model"));
    // The human user resumes it.
    store.state.status = MemberStatus::Working;
    lived(&mut store, vec![]);
    assert_eq!(store.heard(), [1]);
}

#[test]
fn without_money_it_pauses_and_goes_on_where_it_was() {
    for cost in [Cost::Answer, Cost::Command] {
        let mut store = Store::default();
        store.send("hello");
        let mut machine = store.load(person());
        let mut model = script(vec![answer("", &[("1", "run", "{}")])]);
        let mut effect = machine.go();
        loop {
            let event = match effect {
                Effect::Fund(asked) if asked == cost => Event::Broke("All is spent.".to_owned()),
                effect => match store.carry_out(&machine, effect, &mut model, "") {
                    Some(event) => event,
                    None => break,
                },
            };
            effect = machine.on(event);
        }
        assert_eq!(store.state.status, MemberStatus::Paused);
        assert_eq!(store.state.why.as_deref(), Some("All is spent."));
        assert_eq!(store.unread.len(), usize::from(cost == Cost::Answer));
        lived(&mut store, vec![]);
        assert_eq!(store.done.len(), 0, "a paused one does nothing");
        store.state.status = MemberStatus::Working;
        lived(
            &mut store,
            match cost {
                Cost::Answer => vec![answer("", &[("1", "run", "{}")])],
                Cost::Command => vec![],
            },
        );
        assert_eq!(store.done["1"], 1);
        assert_eq!(store.state.account.spent.commands, 1);
    }
}

#[test]
fn a_purse_that_moves_under_it_does_not_cost_the_answer() {
    for tool in ["look", "put", "run"] {
        let mut store = Store::default();
        store.send("hello");
        let mut machine = store.load(person());
        let mut effect = machine.go();
        let mut asked = 0;
        let mut model = |_: &str| {
            asked += 1;
            match asked {
                1 => answer("", &[("1", tool, "{}")]),
                _ => answer("done", &[]),
            }
        };
        let mut drawn = true;
        loop {
            // A child draws from its budget before every commit.
            if matches!(
                effect,
                Effect::Commit(_) | Effect::Call { join: Some(_), .. }
            ) {
                drawn = !drawn;
                if !drawn {
                    store.state.account.lent.tokens += 7;
                    store.revision += 1;
                }
            }
            match store.carry_out(&machine, effect, &mut model, "") {
                Some(event) => effect = machine.on(event),
                None => break,
            }
        }
        assert_eq!(asked, 2, "{tool}");
        assert!(store.state.account.lent.tokens > 0);
        assert!(store.state.account.spent.turns == 2);
        store.check_pairs();
    }
}

#[test]
fn paused_while_it_thinks_it_keeps_the_answer_and_carries_nothing_out() {
    for tool in ["put", "run", "look"] {
        let mut store = Store::default();
        store.send("hello");
        let mut machine = store.load(person());
        let mut effect = machine.go();
        let mut asked = 0;
        let mut model = |_: &str| {
            asked += 1;
            match asked {
                1 => answer("", &[("1", tool, "{}")]),
                _ => answer("done", &[]),
            }
        };
        loop {
            if matches!(
                effect,
                Effect::Commit(_) | Effect::Call { join: Some(_), .. }
            ) {
                store.state.status = MemberStatus::Paused;
                store.revision += 1;
            }
            match store.carry_out(&machine, effect, &mut model, "") {
                Some(event) => effect = machine.on(event),
                None => break,
            }
            if matches!(effect, Effect::Commit(_)) && store.state.status == MemberStatus::Paused {
                let event = store.carry_out(&machine, effect, &mut model, "").unwrap();
                effect = machine.on(event);
            }
        }
        assert_eq!(store.state.status, MemberStatus::Paused);
        assert_eq!(store.state.doing, None);
        assert_eq!(store.done.len(), usize::from(tool == "look"), "{tool}");
        store.state.status = MemberStatus::Working;
        let mut machine = store.load(person());
        store.play(&mut machine, &mut model);
        store.check_pairs();
        assert_eq!((asked, store.done["1"]), (2, 1), "{tool}");
    }
}

#[test]
fn dismissed_it_does_nothing_more() {
    let mut store = Store::default();
    store.send("hello");
    let mut machine = store.load(person());
    machine.go();
    machine.on(Event::Mail(store.unread.clone()));
    machine.on(Event::Funded);
    machine.on(Event::Answered(Box::new(answer("", &[("1", "put", "{}")]))));
    store.state.status = MemberStatus::Gone;
    assert!(matches!(machine.on(store.moved()), Effect::Gone));
    for event in [Event::Funded, Event::Mail(vec![]), Event::Committed(9)] {
        assert!(matches!(machine.on(event), Effect::Gone));
    }
    assert!(matches!(store.load(person()).go(), Effect::Gone));
}

#[test]
fn an_answer_that_was_cut_off_is_not_carried_out() {
    for calls in [vec![], vec![("1", "put", "{\"half"), ("2", "put", "{}")]] {
        let mut store = Store::default();
        store.send("hello");
        let mut cut = answer("so", &calls);
        cut.finish = Finish::Length;
        lived(&mut store, vec![cut.clone()]);
        assert!(store.done.is_empty());
        let shape = if calls.is_empty() { "HST S" } else { "HSDD S" };
        assert_eq!(store.shape(), shape);
        // After three in a row the member is parked, for the human user to check.
        store.send("again");
        lived(&mut store, vec![cut; 3]);
        assert_eq!(store.state.status, MemberStatus::Parked);
        assert_eq!(store.told.len(), 1);
    }
}

#[test]
fn answer_that_announces_calls_without_any_is_asked_again() {
    let mut store = Store::default();
    store.send("hello");
    let mut announced = answer("I will write the file now.", &[]);
    announced.finish = Finish::Calls;
    let good = answer("", &[("1", "put", "{}")]);
    lived(&mut store, vec![announced, good]);
    assert_eq!(store.shape(), "HST SD S");
    assert_eq!(store.state.status, MemberStatus::Idle);
}

/// Some servers set `finish_reason` to `tool_calls` on every answer, also on the last one of a turn.
#[test]
fn text_that_announces_calls_twice_without_any_ends_the_turn() {
    let mut store = Store::default();
    let mut announced = answer("It is done.", &[]);
    announced.finish = Finish::Calls;
    for shape in ["HST S", "HST S HST S"] {
        store.send("hello");
        lived(&mut store, vec![announced.clone(); 2]);
        assert_eq!(
            (store.shape().as_str(), store.state.status),
            (shape, MemberStatus::Idle)
        );
        assert_eq!((store.state.why.as_ref(), store.told.len()), (None, 0));
    }
}

#[test]
fn announced_calls_without_calls_or_text_park_the_member() {
    let mut store = Store::default();
    store.send("hello");
    let mut announced = answer(" ", &[]);
    announced.finish = Finish::Calls;
    lived(&mut store, vec![announced; 3]);
    assert_eq!(store.state.status, MemberStatus::Parked);
}

#[test]
fn empty_answer_is_asked_again_and_never_ends_a_turn_silently() {
    let empty = || answer(" ", &[]);
    let put = || answer("", &[("1", "put", "{}")]);
    for (answers, shape, is_told) in [
        (vec![empty(), put()], "HST SD S", false),
        (vec![empty(), empty()], "HST S", true),
        (vec![put(), empty(), put()], "HSD ST SD S", false),
        (vec![put(), empty(), answer("done", &[])], "HSD ST S", false),
        (vec![put(), empty(), empty()], "HSD ST S", true),
    ] {
        let mut store = Store::default();
        store.send("hello");
        lived(&mut store, answers);
        assert_eq!(
            (store.shape().as_str(), store.state.status),
            (shape, MemberStatus::Idle)
        );
        assert_eq!(store.told.len(), usize::from(is_told), "{shape}");
        assert_eq!(store.state.why.is_some(), is_told, "{shape}");
        // The next message is answered as usual.
        store.send("go on");
        lived(&mut store, vec![answer("done", &[])]);
        assert_eq!(
            (store.state.why.as_ref(), store.heard()),
            (None, vec![1, 2])
        );
        assert_eq!(store.told.len(), usize::from(is_told));
    }
}

#[test]
fn calls_of_an_answer_that_was_cut_off_are_not_said_to_be_carried_out() {
    let mut store = Store::default();
    store.send("hello");
    let mut cut = answer("", &[("1", "put", "{}"), ("2", "put", "{}")]);
    cut.dropped_calls = 70;
    cut.finish = Finish::Length;
    lived(&mut store, vec![cut]);
    assert_eq!(store.shape(), "HSDD S");
    assert!(store.done.is_empty());
}

#[test]
fn calls_beyond_the_limit_are_named_to_the_model_after_the_results() {
    let mut store = Store::default();
    store.send("hello");
    let mut many = answer("", &[("1", "put", "{}"), ("2", "put", "{}")]);
    many.dropped_calls = 70;
    lived(&mut store, vec![many]);
    assert_eq!(store.shape(), "HSD D T S");
    store.check_pairs();
    let told = (store.turns.iter().flat_map(|(_, turn)| &turn.of)).find_map(|entry| match entry {
        Entry::Told { m } => Some(crate::message::content(m.text())),
        _ => None,
    });
    let told = told.unwrap();
    assert!(
        told.contains("72 calls") && told.contains("first 2"),
        "{told}"
    );
}

#[test]
fn a_full_context_is_summed_up_and_the_pairs_stay_whole() {
    let mut store = Store::default();
    let mut small = person();
    small.limit = 2_000;
    let long = "word ".repeat(200);
    for n in 0..30 {
        store.send(&format!("{n} {long}"));
        let mut machine = store.load(small.clone());
        let arguments = format!("{{\"n\":{n}}}");
        let mut model = |prompt: &str| match prompt.contains("Your context is nearly full") {
            true => answer("all was well", &[]),
            false if prompt.contains(&format!("did {{\\\"n\\\":{n}")) => answer("done", &[]),
            false => answer("", &[("1", "look", arguments.as_str())]),
        };
        let mut effect = machine.go();
        loop {
            let mut prompt = machine.context.prompt("").to_owned();
            if let Effect::Sum(_) = effect {
                prompt.push_str("Your context is nearly full");
            }
            match store.carry_out(&machine, effect, &mut model, &prompt) {
                Some(event) => effect = machine.on(event),
                None => break,
            }
        }
        assert!(machine.context.tokens() < 2_000, "{n}");
        store.check_pairs();
    }
    assert!(store.shape().contains('Σ'));
    let machine = store.load(small);
    assert!(machine.context.summary().unwrap().contains("all was well"));
    assert!(store.state.since > 10);
    assert_eq!(store.heard(), (1..=30).collect::<Vec<_>>());
}

#[test]
fn a_context_that_is_too_long_whatever_was_estimated_is_cut_until_it_fits() {
    for fits in [30_000, 8_000, 1_500] {
        let mut store = Store::default();
        store.send(&"long ".repeat(8_000));
        let mut machine = store.load(person());
        let mut effect = machine.go();
        let mut tries = 0;
        let mut model = |_: &str| answer("fine", &[]);
        loop {
            let prompt = machine.context.prompt("").to_owned();
            let event = match &effect {
                Effect::Ask | Effect::Sum(_) if prompt.len() > fits => {
                    tries += 1;
                    assert!(tries < 40);
                    Event::Failed(ModelError {
                        kind: ModelFault::TooLong,
                        message: "too long".to_owned(),
                    })
                }
                _ => match store.carry_out(&machine, effect, &mut model, &prompt) {
                    Some(event) => event,
                    None => break,
                },
            };
            effect = machine.on(event);
        }
        assert_eq!(store.state.status, MemberStatus::Idle, "{fits}");
        assert_eq!(store.heard(), [1]);
        store.check_pairs();
    }
}

#[test]
fn a_context_that_cannot_be_made_to_fit_parks_it() {
    let mut store = Store::default();
    store.send("hello");
    let mut machine = store.load(person());
    let mut effect = machine.go();
    loop {
        let event = match effect {
            Effect::Ask | Effect::Sum(_) => Event::Failed(ModelError {
                kind: ModelFault::TooLong,
                message: "too long".to_owned(),
            }),
            _ => match store.carry_out(&machine, effect, &mut script(vec![]), "") {
                Some(event) => event,
                None => break,
            },
        };
        effect = machine.on(event);
    }
    assert_eq!(store.state.status, MemberStatus::Parked);
    assert_eq!(store.told.len(), 1);
}

#[test]
fn it_can_make_its_context_smaller_itself() {
    let mut store = Store::default();
    store.send("one");
    lived(&mut store, vec![]);
    store.send("two");
    let calls = [
        ("1", "compress_context", "{\"summary\":\"one was said\"}"),
        ("2", "put", "{}"),
    ];
    let machine = lived(&mut store, vec![answer("", &calls)]);
    assert_eq!(store.shape(), "HS HSDD Σ S");
    let summary = machine.context.summary().unwrap().to_owned();
    assert!(summary.contains("one was said"));
    assert_eq!(store.state.since, 1);
    // The same after a restart.
    let mut again = store.load(person());
    let mut before = machine;
    assert_eq!(again.context.prompt(""), before.context.prompt(""));
}
