//! Samples for the transition table: machines in each state, and events of each kind.
//!
//! A new state or event does not compile until it has samples here. Every machine is reached by events, so no
//! sample describes one that cannot exist.

use polis_core::society::call_approval::ApprovalDecision;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallOutcome;
use polis_core::timestamp::Timestamp;

use super::super::machine_state::MachineState;
use super::super::{ApprovalState, CallResult, MachineEvent, MemberMachine};
use super::simulated_store::{SimulatedStore, model_response, test_config};
use crate::model::{FinishReason, ModelError, ModelErrorKind, ModelResponse};

/// Defines an enum of names, and the list of all of them.
macro_rules! define_kinds {
    ($name:ident: $($variant:ident),+ $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $name { $($variant),+ }

        impl $name {
            pub(super) const ALL: &[Self] = &[$(Self::$variant),+];
        }
    };
}

define_kinds!(MachineStateKind:
    Sleeping, AwaitingMail, AwaitingResponseBudget, AwaitingResponse, AwaitingSummary, AwaitingApproval,
    AwaitingCommandBudget, ExecutingCall, ExecutingJoinedCall, Committing, Dismissed, Outdated,
);

define_kinds!(MachineEventKind:
    SessionStarted, MailboxRead, BudgetAvailable, BudgetExhausted, ResponseReceived, RequestFailed,
    ApprovalRead, CallFinished, CallCommitted, Committed, StateChanged,
);

pub(super) fn kind_of_state(state: &MachineState) -> MachineStateKind {
    match state {
        MachineState::Sleeping(_) => MachineStateKind::Sleeping,
        MachineState::AwaitingMail(_) => MachineStateKind::AwaitingMail,
        MachineState::AwaitingResponseBudget(_) => MachineStateKind::AwaitingResponseBudget,
        MachineState::AwaitingResponse(_) => MachineStateKind::AwaitingResponse,
        MachineState::AwaitingSummary(..) => MachineStateKind::AwaitingSummary,
        MachineState::AwaitingApproval(_) => MachineStateKind::AwaitingApproval,
        MachineState::AwaitingCommandBudget(_) => MachineStateKind::AwaitingCommandBudget,
        MachineState::ExecutingCall(_) => MachineStateKind::ExecutingCall,
        MachineState::ExecutingJoinedCall(_) => MachineStateKind::ExecutingJoinedCall,
        MachineState::Committing(_) => MachineStateKind::Committing,
        MachineState::Dismissed => MachineStateKind::Dismissed,
        MachineState::Outdated => MachineStateKind::Outdated,
    }
}

pub(super) fn kind_of_event(event: &MachineEvent) -> MachineEventKind {
    match event {
        MachineEvent::SessionStarted => MachineEventKind::SessionStarted,
        MachineEvent::StateChanged(..) => MachineEventKind::StateChanged,
        MachineEvent::MailboxRead(_) => MachineEventKind::MailboxRead,
        MachineEvent::BudgetAvailable => MachineEventKind::BudgetAvailable,
        MachineEvent::BudgetExhausted(_) => MachineEventKind::BudgetExhausted,
        MachineEvent::ResponseReceived(_) => MachineEventKind::ResponseReceived,
        MachineEvent::RequestFailed(_) => MachineEventKind::RequestFailed,
        MachineEvent::CallFinished(_) => MachineEventKind::CallFinished,
        MachineEvent::CallCommitted(..) => MachineEventKind::CallCommitted,
        MachineEvent::Committed(_) => MachineEventKind::Committed,
        MachineEvent::ApprovalRead(_) => MachineEventKind::ApprovalRead,
    }
}

const LOOK: (&str, &str, &str) = ("1", "look", "{}");
const PUT: (&str, &str, &str) = ("1", "put", "{}");
const RUN: (&str, &str, &str) = ("1", "run", "{}");
const DANGER: (&str, &str, &str) = ("1", "danger", "{}");
const NEXT_PUT: (&str, &str, &str) = ("2", "put", "{}");

fn load(store: &SimulatedStore) -> MemberMachine {
    store.load_machine(test_config())
}

/// Starts a session, and plays these events.
fn play(store: &SimulatedStore, events: Vec<MachineEvent>) -> MemberMachine {
    let mut machine = load(store);
    machine.next_effect();
    for event in events {
        machine.handle_event(event);
    }
    machine
}

/// Plays these events against an idle member.
fn after(events: Vec<MachineEvent>) -> MemberMachine {
    play(&SimulatedStore::default(), events)
}

/// Plays a response to a message, and then these events.
fn after_response(response: ModelResponse, events: Vec<MachineEvent>) -> MemberMachine {
    let mut all = vec![
        mail(1),
        MachineEvent::BudgetAvailable,
        MachineEvent::ResponseReceived(Box::new(response)),
    ];
    all.extend(events);
    after(all)
}

fn after_calls(calls: &[(&str, &str, &str)], events: Vec<MachineEvent>) -> MemberMachine {
    after_response(model_response("", calls), events)
}

fn mail(count: usize) -> MachineEvent {
    let mut store = SimulatedStore::default();
    for _ in 0..count {
        store.send_message("hello");
    }
    MachineEvent::MailboxRead(store.unread)
}

fn truncated_response(calls: &[(&str, &str, &str)]) -> ModelResponse {
    ModelResponse {
        finish: FinishReason::Length,
        ..model_response("so", calls)
    }
}

fn call_result() -> CallResult {
    CallResult {
        text: "done".to_owned(),
        end: CallOutcome::Ok,
        duration_ms: 1,
    }
}

fn request_failed(kind: ModelErrorKind) -> MachineEvent {
    MachineEvent::RequestFailed(ModelError {
        kind,
        message: "failed".to_owned(),
    })
}

/// A session that read no new messages and drew its budget, after a commit at this revision.
fn next_request(revision: u64) -> [MachineEvent; 3] {
    [
        MachineEvent::Committed(revision),
        mail(0),
        MachineEvent::BudgetAvailable,
    ]
}

fn after_incomplete_responses(count: u64) -> MemberMachine {
    let mut events = vec![mail(1), MachineEvent::BudgetAvailable];
    for n in 0..count {
        let response = Box::new(truncated_response(&[]));
        events.push(MachineEvent::ResponseReceived(response));
        events.extend(next_request(n + 2));
    }
    after(events)
}

fn restored_with_status(status: MemberStatus) -> SimulatedStore {
    let mut store = SimulatedStore::default();
    store.state.status = status;
    store
}

/// A store whose member was executing a command when its process ended.
fn interrupted_store() -> SimulatedStore {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut machine = load(&store);
    let mut effect = machine.next_effect();
    while store.executed_calls.is_empty() {
        let mut model = |_: &str| model_response("", &[RUN]);
        let event = store.perform_effect(&machine, effect, &mut model, "");
        effect = machine.handle_event(event.unwrap());
    }
    store
}

/// A machine and what distinguishes it from others in the same state.
pub(super) type MachineSample = (&'static str, fn() -> MemberMachine);

/// Returns machines in a state.
pub(super) fn state_samples(kind: MachineStateKind) -> Vec<MachineSample> {
    use MachineEvent::{ApprovalRead, BudgetAvailable, BudgetExhausted, CallFinished, Committed};
    match kind {
        MachineStateKind::Sleeping => vec![
            ("restored, idle", || load(&SimulatedStore::default())),
            ("restored, a call was interrupted", || {
                load(&interrupted_store())
            }),
            ("restored, paused", || {
                load(&restored_with_status(MemberStatus::Paused))
            }),
            ("waits for an approval", || {
                let pending = ApprovalRead(ApprovalState::Pending);
                after_calls(&[DANGER], vec![Committed(2), pending])
            }),
        ],
        MachineStateKind::AwaitingMail => vec![
            ("idle", || after(vec![])),
            ("working, nothing is due", || {
                play(&restored_with_status(MemberStatus::Working), vec![])
            }),
            ("a response is due", || {
                after_calls(&[LOOK], vec![CallFinished(call_result()), Committed(2)])
            }),
        ],
        MachineStateKind::AwaitingResponseBudget => vec![
            ("a message was received", || after(vec![mail(1)])),
            ("a compaction was requested", || {
                let compress = ("1", "compress_context", "{}");
                after_calls(&[compress], vec![Committed(2), mail(0)])
            }),
        ],
        MachineStateKind::AwaitingResponse => vec![
            ("a message was received", || {
                after(vec![mail(1), BudgetAvailable])
            }),
            ("after an incomplete response", || {
                after_incomplete_responses(1)
            }),
            ("after two incomplete responses", || {
                after_incomplete_responses(2)
            }),
        ],
        MachineStateKind::AwaitingSummary => vec![
            ("the context was refused", || {
                let refused = request_failed(ModelErrorKind::TooLong);
                after(vec![mail(1), BudgetAvailable, refused])
            }),
            ("its transcript was refused too", || {
                let refused = || request_failed(ModelErrorKind::TooLong);
                after(vec![mail(1), BudgetAvailable, refused(), refused()])
            }),
        ],
        MachineStateKind::AwaitingApproval => vec![
            ("last call", || after_calls(&[DANGER], vec![Committed(2)])),
            ("another call follows", || {
                after_calls(&[DANGER, NEXT_PUT], vec![Committed(2)])
            }),
        ],
        MachineStateKind::AwaitingCommandBudget => {
            vec![("last call", || after_calls(&[RUN], vec![]))]
        }
        MachineStateKind::ExecutingCall => vec![
            ("last call", || after_calls(&[LOOK], vec![])),
            ("another call follows", || {
                after_calls(&[LOOK, NEXT_PUT], vec![])
            }),
        ],
        MachineStateKind::ExecutingJoinedCall => vec![
            ("last call", || after_calls(&[PUT], vec![])),
            ("another call follows", || {
                after_calls(&[PUT, NEXT_PUT], vec![])
            }),
        ],
        MachineStateKind::Committing => vec![
            ("end of the turn", || {
                after_response(model_response("done", &[]), vec![])
            }),
            ("results of calls", || {
                after_calls(&[LOOK], vec![CallFinished(call_result())])
            }),
            ("start of a command", || {
                after_calls(&[RUN], vec![BudgetAvailable])
            }),
            ("approval request", || after_calls(&[DANGER], vec![])),
            ("pause by the budget", || {
                after(vec![mail(1), BudgetExhausted("No.".to_owned())])
            }),
        ],
        MachineStateKind::Dismissed => vec![("final", || {
            play(&restored_with_status(MemberStatus::Dismissed), vec![])
        })],
        MachineStateKind::Outdated => vec![("after an unexpected event", || {
            after(vec![MachineEvent::SessionStarted])
        })],
    }
}

/// Returns an event that another writer's change of the member state causes.
fn state_changed(machine: &MemberMachine, status: Option<MemberStatus>) -> MachineEvent {
    let mut state = machine.stored_state().clone();
    state.account.drawn_by_children.tokens += 1;
    state.status = status.unwrap_or(state.status);
    MachineEvent::StateChanged(Box::new(state), machine.revision() + 1)
}

/// Returns the samples of an event for this machine.
pub(super) fn event_samples(
    kind: MachineEventKind,
    machine: &MemberMachine,
) -> Vec<(&'static str, MachineEvent)> {
    let response = |response| MachineEvent::ResponseReceived(Box::new(response));
    let calls = |calls: &[(&str, &str, &str)]| response(model_response("", calls));
    match kind {
        MachineEventKind::SessionStarted => vec![("", MachineEvent::SessionStarted)],
        MachineEventKind::MailboxRead => vec![("empty", mail(0)), ("a message", mail(1))],
        MachineEventKind::BudgetAvailable => vec![("", MachineEvent::BudgetAvailable)],
        MachineEventKind::BudgetExhausted => {
            vec![("", MachineEvent::BudgetExhausted("No.".to_owned()))]
        }
        MachineEventKind::ResponseReceived => vec![
            ("text", response(model_response("done", &[]))),
            ("empty", response(model_response("", &[]))),
            ("cut off", response(truncated_response(&[]))),
            ("cut off calls", response(truncated_response(&[PUT]))),
            ("call of a read", calls(&[LOOK])),
            ("call that commits", calls(&[PUT])),
            ("call that reads mail", calls(&[("1", "mail", "{}")])),
            ("call that writes files", calls(&[("1", "write", "{}")])),
            ("call of a command", calls(&[RUN])),
            ("call to approve", calls(&[DANGER])),
            ("unknown tool", calls(&[("1", "nosuch", "{}")])),
            ("compaction", calls(&[("1", "compress_context", "{}")])),
        ],
        MachineEventKind::RequestFailed => vec![
            ("cancelled", request_failed(ModelErrorKind::Cancelled)),
            ("permanent", request_failed(ModelErrorKind::Permanent)),
            ("too long", request_failed(ModelErrorKind::TooLong)),
        ],
        MachineEventKind::ApprovalRead => {
            let decided = |allowed| {
                MachineEvent::ApprovalRead(ApprovalState::Decided(ApprovalDecision {
                    allowed,
                    note: None,
                    by: "user".parse().unwrap(),
                    at: Timestamp::from_millis(0),
                }))
            };
            vec![
                (
                    "not requested",
                    MachineEvent::ApprovalRead(ApprovalState::NotRequested),
                ),
                (
                    "pending",
                    MachineEvent::ApprovalRead(ApprovalState::Pending),
                ),
                ("allowed", decided(true)),
                ("denied", decided(false)),
            ]
        }
        MachineEventKind::CallFinished => vec![("", MachineEvent::CallFinished(call_result()))],
        MachineEventKind::CallCommitted => {
            let mut state = machine.stored_state().clone();
            state.next_turn += 1;
            state.status = MemberStatus::Working;
            let (state, revision) = (Box::new(state), machine.revision() + 1);
            vec![(
                "",
                MachineEvent::CallCommitted(call_result(), state, revision),
            )]
        }
        MachineEventKind::Committed => {
            vec![("", MachineEvent::Committed(machine.revision() + 1))]
        }
        MachineEventKind::StateChanged => {
            let mut other_worker = machine.stored_state().clone();
            other_worker.worker = Some("w2".to_owned());
            let other_worker =
                MachineEvent::StateChanged(Box::new(other_worker), machine.revision() + 1);
            vec![
                ("budget drawn", state_changed(machine, None)),
                ("paused", state_changed(machine, Some(MemberStatus::Paused))),
                (
                    "dismissed",
                    state_changed(machine, Some(MemberStatus::Dismissed)),
                ),
                ("other worker", other_worker),
            ]
        }
    }
}
