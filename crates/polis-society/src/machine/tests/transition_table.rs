//! Snapshot test of the transition table: drives the machine from each state with each event, and prints the
//! effect and the next state. The table is in `transition_table.txt`; `POLIS_WRITE_REFERENCE=1` rewrites it,
//! to be reviewed before it is committed.

use std::fmt::Write as _;

use super::super::machine_state::{MachineState, NextStep, PendingRequest};
use super::super::{MachineEffect, MemberMachine};
use super::transition_samples::{
    MachineEventKind, MachineStateKind, event_samples, kind_of_event, kind_of_state, state_samples,
};

fn describe_request(request: PendingRequest) -> String {
    let mut text = if request.is_compaction_requested() {
        "compaction".to_owned()
    } else {
        "response".to_owned()
    };
    if request.is_context_refused() {
        text.push_str(", refused");
    }
    if request.compaction_attempt() > 0 {
        write!(text, ", attempt {}", request.compaction_attempt()).unwrap();
    }
    text
}

fn describe_step(step: &NextStep) -> String {
    match step {
        NextStep::Rest => "rest".to_owned(),
        NextStep::RequestModel(request) => describe_request(*request),
        NextStep::RunCalls(queue) => format!("call {} {:?}", queue.index(), queue.stage),
    }
}

fn describe_state(state: &MachineState) -> String {
    let kind = kind_of_state(state);
    match state {
        MachineState::Sleeping(step) => format!("{kind:?}({})", describe_step(step)),
        MachineState::AwaitingMail(None) => format!("{kind:?}(nothing due)"),
        MachineState::AwaitingMail(Some(request))
        | MachineState::AwaitingResponseBudget(request)
        | MachineState::AwaitingResponse(request)
        | MachineState::AwaitingSummary(request, _) => {
            format!("{kind:?}({})", describe_request(*request))
        }
        MachineState::AwaitingApproval(queue)
        | MachineState::AwaitingCommandBudget(queue)
        | MachineState::ExecutingCall(queue)
        | MachineState::ExecutingJoinedCall(queue) => {
            format!("{kind:?}(call {} {:?})", queue.index(), queue.stage)
        }
        MachineState::Committing(commit) => {
            format!("{kind:?}(then {})", describe_step(&commit.then))
        }
        MachineState::Dismissed | MachineState::Outdated => format!("{kind:?}"),
    }
}

fn describe_effect(effect: &MachineEffect) -> String {
    match effect {
        MachineEffect::Commit(draft) => {
            let mut text = format!("Commit({}", draft.state.status.as_str());
            match draft.turn {
                Some(turn) => write!(text, ", turn {turn}").unwrap(),
                None => text.push_str(", no turn"),
            }
            if let Some((turn, call)) = draft.approval_request {
                write!(text, ", approval of {turn}/{call}").unwrap();
            }
            if draft.parent_notice.is_some() {
                text.push_str(", notice");
            }
            if draft.state.running_call_id.is_some() {
                text.push_str(", running call");
            }
            text + ")"
        }
        MachineEffect::ExecuteCall {
            index,
            joined_draft,
        } => match joined_draft {
            Some(_) => format!("ExecuteCall({index}, joined)"),
            None => format!("ExecuteCall({index})"),
        },
        MachineEffect::RequestSummary(summary) => {
            let prompt = if summary.messages.is_some() {
                "transcript"
            } else {
                "context"
            };
            format!("RequestSummary({prompt})")
        }
        MachineEffect::ReadApproval { turn, call } => format!("ReadApproval({turn}/{call})"),
        MachineEffect::ReadMailbox
        | MachineEffect::DrawBudget(_)
        | MachineEffect::RequestResponse
        | MachineEffect::Sleep
        | MachineEffect::Dismissed
        | MachineEffect::Reload => format!("{effect:?}"),
    }
}

/// Outcomes (effect and next state), each with the events that have it.
type OutcomeRows = Vec<((String, String), Vec<String>)>;

/// Adds an event to the row with the same outcome, or as a new row.
fn add_to_rows(rows: &mut OutcomeRows, outcome: (String, String), event: String) {
    match rows.iter_mut().find(|(other, _)| *other == outcome) {
        Some((_, events)) => events.push(event),
        None => rows.push((outcome, vec![event])),
    }
}

/// Returns the outcomes of an event in this state, with the samples that have each outcome.
fn event_outcomes(
    state: MachineStateKind,
    create: fn() -> MemberMachine,
    kind: MachineEventKind,
) -> OutcomeRows {
    let mut outcomes = OutcomeRows::new();
    for (label, event) in event_samples(kind, &create()) {
        assert_eq!(kind_of_event(&event), kind);
        let mut machine = create();
        assert_eq!(kind_of_state(&machine.state), state);
        let effect = machine.handle_event(event);
        let outcome = (describe_effect(&effect), describe_state(&machine.state));
        add_to_rows(&mut outcomes, outcome, label.to_owned());
    }
    outcomes
}

/// Returns the rows of a machine: all events, grouped by their outcomes; those that lead to a reload are last.
fn machine_rows(state: MachineStateKind, create: fn() -> MemberMachine) -> OutcomeRows {
    let mut rows = OutcomeRows::new();
    for kind in MachineEventKind::ALL {
        let outcomes = event_outcomes(state, create, *kind);
        let is_uniform = outcomes.len() == 1;
        for (outcome, labels) in outcomes {
            let event = if is_uniform {
                format!("{kind:?}")
            } else {
                format!("{kind:?}({})", labels.join("; "))
            };
            add_to_rows(&mut rows, outcome, event);
        }
    }
    rows.sort_by_key(|((effect, _), _)| effect == "Reload");
    rows
}

fn render_table() -> String {
    let mut table = "# state: sample\neffect | next state | events\n".to_owned();
    for state in MachineStateKind::ALL {
        for (label, create) in state_samples(*state) {
            writeln!(table, "\n# {}: {label}", describe_state(&create().state)).unwrap();
            let rows = machine_rows(*state, create);
            let width = |text: fn(&(String, String)) -> &str| {
                let widths = rows.iter().map(|(outcome, _)| text(outcome).len());
                widths.max().unwrap_or(0)
            };
            let (effects, states) = (width(|(effect, _)| effect), width(|(_, next)| next));
            for ((effect, next), events) in &rows {
                let events = events.join(", ");
                writeln!(table, "{effect:<effects$} | {next:<states$} | {events}").unwrap();
            }
        }
    }
    table
}

#[test]
fn transition_table_matches_the_snapshot() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/machine/tests/transition_table.txt"
    );
    let table = render_table();
    if std::env::var_os("POLIS_WRITE_REFERENCE").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        table,
        "transition_table.txt is out of date: \
         POLIS_WRITE_REFERENCE=1 cargo test -p polis-society transition_table"
    );
}
