//! Property tests: the invariants hold for any order of events, with crashes, budget draws, pauses and
//! dismissals at any moment.

use polis_core::society::call_approval::ApprovalDecision;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::ConversationEntry;
use polis_core::timestamp::Timestamp;
use proptest::prelude::*;

use super::super::{MachineEffect, MachineEvent};
use super::simulated_store::{SimulatedStore, model_response, test_config};
use crate::model::{FinishReason, ModelError, ModelErrorKind, ModelResponse};

/// What happens before an effect is performed.
#[derive(Debug, Clone, Copy)]
enum Interference {
    /// Nothing: the effect succeeds.
    Undisturbed,
    /// The process ends, with the effect performed or not.
    Crash(bool),
    /// An agent below it draws from its budget.
    BudgetDrawn,
    /// The person pauses it.
    Paused,
    /// Another message arrives in the mailbox.
    MessageArrives,
    /// The model fails, or the budget is exhausted.
    RequestFails,
    /// The model refuses the context as too long.
    TooLong,
    /// An agent above it dismisses the member.
    Dismissed,
    /// An event that does not answer the effect.
    UnexpectedEvent,
}

fn any_interference() -> impl Strategy<Value = Interference> {
    prop_oneof![
        20 => Just(Interference::Undisturbed),
        3 => any::<bool>().prop_map(Interference::Crash),
        2 => Just(Interference::BudgetDrawn),
        1 => Just(Interference::Paused),
        3 => Just(Interference::MessageArrives),
        1 => Just(Interference::RequestFails),
        1 => Just(Interference::TooLong),
        1 => Just(Interference::UnexpectedEvent),
    ]
}

/// The calls of a response; none ends the turn.
fn any_calls() -> impl Strategy<Value = Vec<(usize, u8)>> {
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
struct ResponseGenerator {
    answers: Vec<Vec<(usize, u8)>>,
    position: usize,
}

impl ResponseGenerator {
    fn next_response(&mut self) -> ModelResponse {
        let calls = self.answers.get(self.position % self.answers.len().max(1));
        self.position += 1;
        let calls = calls.cloned().unwrap_or_default();
        let calls: Vec<(String, &str, String)> = (calls.iter().enumerate())
            .map(|(n, (tool, argument))| {
                let arguments = match argument {
                    0 => "{".to_owned(),
                    other => format!("{{\"n\":{other}}}"),
                };
                (format!("{}-{n}", self.position), TOOLS[*tool], arguments)
            })
            .collect();
        let calls: Vec<(&str, &str, &str)> = (calls.iter())
            .map(|(id, tool, arguments)| (id.as_str(), *tool, arguments.as_str()))
            .collect();
        let mut response = model_response("words", &calls);
        if self.position.is_multiple_of(13) {
            response.finish = FinishReason::Length;
        }
        response
    }
}

/// Plays the events against one member and checks the invariants.
fn run_with_interference(
    fates: &[Interference],
    answers: Vec<Vec<(usize, u8)>>,
    message_count: usize,
) -> SimulatedStore {
    let mut store = SimulatedStore::default();
    let mut script = ResponseGenerator {
        answers,
        position: 0,
    };
    for n in 0..message_count {
        store.send_message(&format!("mail {n}"));
    }
    let mut machine = store.load_machine(test_config());
    let mut effect = machine.next_effect();
    for fate in fates {
        let is_gone = store.state.status == MemberStatus::Dismissed;
        let mut event = None;
        match fate {
            Interference::Undisturbed => {}
            Interference::BudgetDrawn => {
                store.state.account.drawn_by_children.tokens += 1;
                store.revision += 1;
            }
            Interference::Paused if !is_gone => {
                store.state.status = MemberStatus::Paused;
                store.revision += 1;
            }
            Interference::Dismissed => {
                store.state.status = MemberStatus::Dismissed;
                store.revision += 1;
            }
            Interference::Paused => {}
            Interference::MessageArrives => store.send_message("more"),
            Interference::RequestFails => {
                event = match effect {
                    MachineEffect::DrawBudget(_) => {
                        Some(MachineEvent::BudgetExhausted("No.".to_owned()))
                    }
                    MachineEffect::RequestResponse | MachineEffect::RequestSummary(_) => {
                        Some(request_failed(ModelErrorKind::Permanent))
                    }
                    _ => None,
                }
            }
            Interference::TooLong => {
                event = match effect {
                    MachineEffect::RequestResponse | MachineEffect::RequestSummary(_) => {
                        Some(request_failed(ModelErrorKind::TooLong))
                    }
                    _ => None,
                }
            }
            Interference::Crash(done) => {
                if *done {
                    let mut model = |_: &str| script.next_response();
                    store.perform_effect(&machine, effect, &mut model, "");
                }
                machine = store.load_machine(test_config());
                effect = machine.next_effect();
                continue;
            }
            Interference::UnexpectedEvent => event = Some(MachineEvent::MailboxRead(Vec::new())),
        }
        // A sleeping member is woken, a blocked one is resumed, and one that waits for approval gets a
        // decision.
        if matches!(
            effect,
            MachineEffect::Sleep | MachineEffect::Reload | MachineEffect::Dismissed
        ) {
            if matches!(
                store.state.status,
                MemberStatus::Paused | MemberStatus::Parked
            ) {
                store.state.status = MemberStatus::Working;
                store.revision += 1;
            }
            for request in store.approval_requests.clone() {
                let decision = ApprovalDecision {
                    allowed: request.0 % 2 == 0,
                    note: None,
                    by: "user".parse().unwrap(),
                    at: Timestamp::from_millis(0),
                };
                store.decisions.insert(request, decision);
            }
            machine = store.load_machine(test_config());
            effect = machine.next_effect();
            continue;
        }
        let event = match event {
            Some(event) => event,
            None => {
                let mut model = |_: &str| script.next_response();
                let committed = store.revision;
                let next_event = store
                    .perform_effect(&machine, effect, &mut model, "")
                    .unwrap();
                assert!(
                    !is_gone || store.revision == committed,
                    "a dismissed member wrote to the store"
                );
                next_event
            }
        };
        effect = machine.handle_event(event);
    }
    store
}

fn request_failed(kind: ModelErrorKind) -> MachineEvent {
    MachineEvent::RequestFailed(ModelError {
        kind,
        message: "failed".to_owned(),
    })
}

fn check_invariants(store: &SimulatedStore) {
    store.check_call_result_pairs();
    // Each message is received once, in order.
    let received = store.received_ids();
    let mut sorted = received.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(received, sorted);
    assert_eq!(received.len() as u64, store.state.received_messages);
    let unread = store.unread.len() as u64;
    assert_eq!(store.state.received_messages + unread, store.sent_count);
    for (_, turn) in &store.turns {
        assert!(!turn.entries.is_empty());
    }
    let tool_of = |id: &str| {
        let entries = store.turns.iter().flat_map(|(_, turn)| &turn.entries);
        let calls = entries.filter_map(|entry| match entry {
            ConversationEntry::Response { message, .. } => {
                Some(crate::chat_message::parse_tool_calls(message))
            }
            _ => None,
        });
        calls
            .flatten()
            .find(|call| call.id == id)
            .map(|call| call.tool)
    };
    for (id, times) in &store.executed_calls {
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
    fn invariants_hold_for_any_interleaving(
        fates in prop::collection::vec(any_interference(), 0..200),
        answers in prop::collection::vec(any_calls(), 1..12),
        mails in 0..4_usize,
    ) {
        check_invariants(&run_with_interference(&fates, answers, mails));
    }

    #[test]
    fn dismissed_member_writes_nothing(
        before in prop::collection::vec(any_interference(), 0..60),
        after in prop::collection::vec(any_interference(), 0..60),
        answers in prop::collection::vec(any_calls(), 1..12),
    ) {
        let mut fates = before;
        fates.push(Interference::Dismissed);
        fates.extend(after.into_iter().filter(|fate| !matches!(fate, Interference::BudgetDrawn)));
        let store = run_with_interference(&fates, answers, 2);
        check_invariants(&store);
        prop_assert_eq!(store.state.status, MemberStatus::Dismissed);
    }
}
