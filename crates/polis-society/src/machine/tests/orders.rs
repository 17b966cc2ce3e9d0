//! Property tests: the invariants hold for any order of events, with crashes, budget draws, pauses and dismissals at
//! any moment.

use polis_core::society::approval::Decision;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::Entry;
use polis_core::time::Timestamp;
use proptest::prelude::*;

use super::super::{Effect, Event};
use super::stage::{Store, answer, person};
use crate::model::{Answer, Finish, ModelError, ModelFault};

/// What happens before an effect is performed.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// Nothing.
    Well,
    /// The process ends, with the effect performed or not.
    Crash(bool),
    /// A child draws from its budget.
    Drawn,
    /// The human user pauses it.
    Paused,
    /// A message arrives.
    Mail,
    /// The model fails, or the budget is exhausted.
    No,
    /// The model refuses the context as too long.
    TooLong,
    /// It is dismissed.
    Dismissed,
    /// An event that does not answer the effect.
    Nonsense,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        20 => Just(Fate::Well),
        3 => any::<bool>().prop_map(Fate::Crash),
        2 => Just(Fate::Drawn),
        1 => Just(Fate::Paused),
        3 => Just(Fate::Mail),
        1 => Just(Fate::No),
        1 => Just(Fate::TooLong),
        1 => Just(Fate::Nonsense),
    ]
}

/// The calls of a response; none ends the turn.
fn calls() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..8_usize, 0..4_u8), 0..4)
}

const TOOLS: [&str; 8] = [
    "look",
    "put",
    "mail",
    "write",
    "run",
    "danger",
    "nosuch",
    "compress_context",
];

/// Creates responses with unique call ids.
struct Script {
    answers: Vec<Vec<(usize, u8)>>,
    given: usize,
}

impl Script {
    fn next(&mut self) -> Answer {
        let calls = self.answers.get(self.given % self.answers.len().max(1));
        self.given += 1;
        let calls = calls.cloned().unwrap_or_default();
        let calls: Vec<(String, &str, String)> = (calls.iter().enumerate())
            .map(|(n, (tool, argument))| {
                let arguments = match argument {
                    0 => "{".to_owned(),
                    other => format!("{{\"n\":{other}}}"),
                };
                (format!("{}-{n}", self.given), TOOLS[*tool], arguments)
            })
            .collect();
        let calls: Vec<(&str, &str, &str)> = (calls.iter())
            .map(|(id, tool, arguments)| (id.as_str(), *tool, arguments.as_str()))
            .collect();
        let mut made = answer("words", &calls);
        if self.given.is_multiple_of(13) {
            made.finish = Finish::Length;
        }
        made
    }
}

/// Plays the events against one member and checks the invariants.
fn live(fates: &[Fate], answers: Vec<Vec<(usize, u8)>>, mails: usize) -> Store {
    let mut store = Store::default();
    let mut script = Script { answers, given: 0 };
    for n in 0..mails {
        store.send(&format!("mail {n}"));
    }
    let mut machine = store.load(person());
    let mut effect = machine.go();
    for fate in fates {
        let gone = store.state.status == MemberStatus::Gone;
        let mut event = None;
        match fate {
            Fate::Well => {}
            Fate::Drawn => {
                store.state.account.lent.tokens += 1;
                store.revision += 1;
            }
            Fate::Paused if !gone => {
                store.state.status = MemberStatus::Paused;
                store.revision += 1;
            }
            Fate::Dismissed => {
                store.state.status = MemberStatus::Gone;
                store.revision += 1;
            }
            Fate::Paused => {}
            Fate::Mail => store.send("more"),
            Fate::No => {
                event = match effect {
                    Effect::Fund(_) => Some(Event::Broke("No.".to_owned())),
                    Effect::Ask | Effect::Sum(_) => Some(failure(ModelFault::Permanent)),
                    _ => None,
                }
            }
            Fate::TooLong => {
                event = match effect {
                    Effect::Ask | Effect::Sum(_) => Some(failure(ModelFault::TooLong)),
                    _ => None,
                }
            }
            Fate::Crash(done) => {
                if *done {
                    let mut model = |_: &str| script.next();
                    store.carry_out(&machine, effect, &mut model, "");
                }
                machine = store.load(person());
                effect = machine.go();
                continue;
            }
            Fate::Nonsense => event = Some(Event::Mail(Vec::new())),
        }
        // A sleeping member is woken, a blocked one is resumed, and one that waits for approval gets a decision.
        if matches!(effect, Effect::Sleep | Effect::Reload | Effect::Gone) {
            if matches!(
                store.state.status,
                MemberStatus::Paused | MemberStatus::Parked
            ) {
                store.state.status = MemberStatus::Working;
                store.revision += 1;
            }
            for asked in store.asked.clone() {
                let decision = Decision {
                    allowed: asked.0 % 2 == 0,
                    note: None,
                    by: "user".parse().unwrap(),
                    at: Timestamp::from_millis(0),
                };
                store.decisions.insert(asked, decision);
            }
            machine = store.load(person());
            effect = machine.go();
            continue;
        }
        let event = match event {
            Some(event) => event,
            None => {
                let mut model = |_: &str| script.next();
                let committed = store.revision;
                let came = store.carry_out(&machine, effect, &mut model, "").unwrap();
                assert!(
                    !gone || store.revision == committed,
                    "a dismissed one writes"
                );
                came
            }
        };
        effect = machine.on(event);
    }
    store
}

fn failure(kind: ModelFault) -> Event {
    Event::Failed(ModelError {
        kind,
        message: "failed".to_owned(),
    })
}

fn check(store: &Store) {
    store.check_pairs();
    // Each message is received once, in order.
    let heard = store.heard();
    let mut sorted = heard.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(heard, sorted);
    assert_eq!(heard.len() as u64, store.state.heard);
    let unread = store.unread.len() as u64;
    assert_eq!(store.state.heard + unread, store.sent);
    for (_, turn) in &store.turns {
        assert!(!turn.of.is_empty());
    }
    let tool_of = |id: &str| {
        let entries = store.turns.iter().flat_map(|(_, turn)| &turn.of);
        let said = entries.filter_map(|entry| match entry {
            Entry::Said { m, .. } => Some(crate::message::calls(m)),
            _ => None,
        });
        said.flatten()
            .find(|call| call.id == id)
            .map(|call| call.tool)
    };
    for (id, times) in &store.done {
        match tool_of(id).as_deref() {
            Some("put" | "mail" | "run" | "danger") => {
                assert_eq!(*times, 1, "{id} was carried out again");
            }
            // Reads may be repeated, also those of a response that a crash lost.
            Some("write" | "look") | None => {}
            other => panic!("{id} of {other:?} was carried out"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_the_promises_hold(
        fates in prop::collection::vec(fate(), 0..200),
        answers in prop::collection::vec(calls(), 1..12),
        mails in 0..4_usize,
    ) {
        check(&live(&fates, answers, mails));
    }

    #[test]
    fn after_a_dismissal_nothing_is_written(
        before in prop::collection::vec(fate(), 0..60),
        after in prop::collection::vec(fate(), 0..60),
        answers in prop::collection::vec(calls(), 1..12),
    ) {
        let mut fates = before;
        fates.push(Fate::Dismissed);
        fates.extend(after.into_iter().filter(|fate| !matches!(fate, Fate::Drawn)));
        let store = live(&fates, answers, 2);
        check(&store);
        prop_assert_eq!(store.state.status, MemberStatus::Gone);
    }
}
