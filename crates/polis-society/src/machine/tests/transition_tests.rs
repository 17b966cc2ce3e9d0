//! Table tests of the state machine: its effects, event by event.

use polis_core::society::call_approval::ApprovalDecision;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ConversationEntry};
use polis_core::timestamp::Timestamp;

use super::super::{BudgetCost, MachineEffect, MachineEvent, MemberMachine};
use super::simulated_store::{SimulatedStore, model_response, test_config};
use crate::model::{FinishReason, ModelError, ModelErrorKind, ModelResponse};

/// Gives these responses one after another; then "done".
fn scripted_model(answers: Vec<ModelResponse>) -> impl FnMut(&str) -> ModelResponse {
    let mut answers = answers.into_iter();
    move |_| {
        answers
            .next()
            .unwrap_or_else(|| model_response("done", &[]))
    }
}

fn run_member(store: &mut SimulatedStore, answers: Vec<ModelResponse>) -> MemberMachine {
    let mut machine = store.load_machine(test_config());
    store.run_until_idle(&mut machine, &mut scripted_model(answers));
    store.check_call_result_pairs();
    machine
}

#[test]
fn member_without_mail_stays_idle_and_writes_nothing() {
    let mut store = SimulatedStore::default();
    run_member(&mut store, vec![]);
    assert_eq!((store.revision, store.entry_pattern().as_str()), (1, ""));
}

#[test]
fn each_step_needs_the_expected_number_of_commits() {
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
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let done = calls.len();
        let text = if calls.is_empty() { "done" } else { "" };
        run_member(&mut store, vec![model_response(text, &calls)]);
        assert_eq!(store.entry_pattern(), shape, "{calls:?}");
        assert_eq!(store.revision - 1, commits, "{calls:?}");
        assert_eq!(store.call_results().len(), done);
        assert_eq!(store.state.status, MemberStatus::Idle);
        assert_eq!(
            (
                store.state.running_call_id.as_ref(),
                store.state.received_messages
            ),
            (None, 1)
        );
    }
}

#[test]
fn invalid_call_returns_its_error_to_the_model() {
    let cases = [
        ("nosuch", "{}", "tool_not_found"),
        ("put", "[1,2]", "invalid_input"),
        ("put", "{\"a\":", "invalid_input"),
        ("put", "null", "invalid_input"),
    ];
    for (tool, arguments, code) in cases {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        run_member(
            &mut store,
            vec![model_response("", &[("1", tool, arguments)])],
        );
        let (end, text) = store.call_results().remove(0);
        assert_eq!(end, CallOutcome::Failed);
        assert!(text.starts_with(code), "{text}");
        assert!(store.executed_calls.is_empty());
    }
}

#[test]
fn message_during_a_request_is_received_at_the_next_step() {
    let mut store = SimulatedStore::default();
    store.send_message("first");
    let mut machine = store.load_machine(test_config());
    assert!(matches!(machine.next_effect(), MachineEffect::ReadMailbox));
    machine.handle_event(MachineEvent::MailboxRead(store.unread.clone()));
    assert!(matches!(
        machine.handle_event(MachineEvent::BudgetAvailable),
        MachineEffect::RequestResponse
    ));
    store.send_message("second");
    let response = model_response("", &[("1", "look", "{}")]);
    let mut effect = machine.handle_event(MachineEvent::ResponseReceived(Box::new(response)));
    let mut observed = Vec::new();
    let mut model = |prompt: &str| {
        observed.push(prompt.contains("second"));
        model_response("done", &[])
    };
    loop {
        let prompt = machine.context.render_prompt("").to_owned();
        match store.perform_effect(&machine, effect, &mut model, &prompt) {
            Some(event) => effect = machine.handle_event(event),
            None => break,
        }
    }
    assert_eq!(observed, [true]);
    assert_eq!(
        (store.entry_pattern().as_str(), store.received_ids()),
        ("HSD HS", vec![1, 2])
    );
}

#[test]
fn crash_interrupts_a_command_and_repeats_an_idempotent_call() {
    for (tool, end, times) in [
        ("run", CallOutcome::Interrupted, 1),
        ("write", CallOutcome::Ok, 2),
    ] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut machine = store.load_machine(test_config());
        let mut effect = machine.next_effect();
        let mut model = scripted_model(vec![model_response("", &[("1", tool, "{}")])]);
        // It is executed, and the process ends before the result is recorded.
        while store.executed_calls.is_empty() {
            let event = store
                .perform_effect(&machine, effect, &mut model, "")
                .unwrap();
            effect = machine.handle_event(event);
        }
        assert_eq!(store.state.running_call_id.as_deref(), Some("1"));
        assert!(
            store.state.running_tool.is_some(),
            "the state names the running tool"
        );
        run_member(&mut store, vec![]);
        assert_eq!(store.call_results()[0].0, end, "{tool}");
        assert_eq!(store.executed_calls["1"], times, "{tool}");
        assert_eq!(store.entry_pattern(), "HS D S");
    }
}

#[test]
fn call_needing_approval_waits_and_is_executed_at_most_once() {
    for allowed in [true, false] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let calls = [
            ("1", "look", "{}"),
            ("2", "danger", "{}"),
            ("3", "put", "{}"),
        ];
        run_member(&mut store, vec![model_response("", &calls)]);
        assert_eq!(store.state.status, MemberStatus::AwaitingApproval);
        assert_eq!(
            (
                store.approval_requests.as_slice(),
                store.entry_pattern().as_str()
            ),
            (&[(0, 1)][..], "HSD")
        );
        // A message does not make it continue, and approval is not requested twice.
        store.send_message("well?");
        run_member(&mut store, vec![]);
        assert_eq!(
            (
                store.approval_requests.len(),
                store.entry_pattern().as_str()
            ),
            (1, "HSD")
        );
        let decision = ApprovalDecision {
            allowed,
            note: Some("not today".to_owned()),
            by: "user".parse().unwrap(),
            at: Timestamp::from_millis(0),
        };
        store.decisions.insert((0, 1), decision);
        run_member(&mut store, vec![]);
        let done = store.executed_calls.get("2").copied().unwrap_or(0);
        assert_eq!(done, u32::from(allowed));
        let (end, text) = store.call_results().remove(1);
        assert_eq!(end == CallOutcome::Denied, !allowed);
        assert_eq!(text.contains("not today"), !allowed, "{text}");
        assert_eq!(store.executed_calls["3"], 1);
        assert_eq!(store.state.status, MemberStatus::Idle);
        assert_eq!(store.received_ids(), [1, 2]);
    }
}

#[test]
fn repeated_call_is_warned_and_stopped_across_restarts() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    for _ in 0..20 {
        if store.state.status == MemberStatus::Paused {
            break;
        }
        // One step of each session.
        let mut machine = store.load_machine(test_config());
        let mut effect = machine.next_effect();
        let before = store.revision;
        let mut model = |_: &str| model_response("", &[("1", "look", "{\"a\":1}")]);
        while store.revision == before {
            let event = store
                .perform_effect(&machine, effect, &mut model, "")
                .unwrap();
            effect = machine.handle_event(event);
        }
    }
    assert_eq!(store.executed_calls["1"], 3);
    let warned = store
        .call_results()
        .iter()
        .filter(|(_, text)| text.starts_with("repeated_call"))
        .count();
    assert_eq!((warned, store.call_results().len()), (3, 6));
    assert!(
        store.parent_notices[0].contains("look"),
        "{:?}",
        store.parent_notices
    );
    assert!(store.state.reason.is_some());
    store.check_call_result_pairs();
}

#[test]
fn loops_of_any_kind_pause_the_member_but_one_response_does_not() {
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
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut machine = store.load_machine(test_config());
        let mut requests = 0;
        store.run_until_idle(&mut machine, &mut |_| {
            requests += 1;
            model_response("", &calls)
        });
        assert_eq!(store.state.status, MemberStatus::Paused, "{calls:?}");
        assert_eq!(
            (requests, store.parent_notices.len()),
            (answers, 1),
            "{calls:?}"
        );
        assert_eq!(store.call_results().len(), results, "{calls:?}");
        // After new instructions and a resume, the rest of the response does not stop it again.
        store.state.status = MemberStatus::Working;
        store.send_message("do something else");
        run_member(&mut store, vec![model_response("", &calls)]);
        assert_eq!(store.state.status, MemberStatus::Idle, "{calls:?}");
        assert_eq!(
            (store.parent_notices.len(), store.received_ids()),
            (1, vec![1, 2])
        );
    }
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    run_member(&mut store, vec![model_response("", &[look; 15])]);
    assert_eq!(store.state.status, MemberStatus::Idle);
    assert_eq!(store.executed_calls["1"], 15);
}

#[test]
fn permanent_model_failure_parks_the_member_and_leaves_mail_unread() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut machine = store.load_machine(test_config());
    machine.next_effect();
    machine.handle_event(MachineEvent::MailboxRead(store.unread.clone()));
    machine.handle_event(MachineEvent::BudgetAvailable);
    let effect = machine.handle_event(MachineEvent::RequestFailed(ModelError {
        kind: ModelErrorKind::Permanent,
        message: "no such model".to_owned(),
    }));
    let event = store
        .perform_effect(&machine, effect, &mut scripted_model(vec![]), "")
        .unwrap();
    assert!(matches!(machine.handle_event(event), MachineEffect::Sleep));
    assert_eq!(store.state.status, MemberStatus::Parked);
    assert_eq!(
        (
            store.unread.len(),
            store.state.received_messages,
            store.parent_notices.len()
        ),
        (1, 0, 1)
    );
    assert!(store.parent_notices[0].contains("no such model"));
    // The person resumes it.
    store.state.status = MemberStatus::Working;
    run_member(&mut store, vec![]);
    assert_eq!(store.received_ids(), [1]);
}

#[test]
fn exhausted_budget_pauses_the_member_until_it_is_resumed() {
    for cost in [BudgetCost::Response, BudgetCost::Command] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut machine = store.load_machine(test_config());
        let mut model = scripted_model(vec![model_response("", &[("1", "run", "{}")])]);
        let mut effect = machine.next_effect();
        loop {
            let event = match effect {
                MachineEffect::DrawBudget(requested) if requested == cost => {
                    MachineEvent::BudgetExhausted("All is spent.".to_owned())
                }
                effect => match store.perform_effect(&machine, effect, &mut model, "") {
                    Some(event) => event,
                    None => break,
                },
            };
            effect = machine.handle_event(event);
        }
        assert_eq!(store.state.status, MemberStatus::Paused);
        assert_eq!(store.state.reason.as_deref(), Some("All is spent."));
        assert_eq!(
            store.unread.len(),
            usize::from(cost == BudgetCost::Response)
        );
        run_member(&mut store, vec![]);
        assert_eq!(
            store.executed_calls.len(),
            0,
            "a paused member executes no call"
        );
        store.state.status = MemberStatus::Working;
        run_member(
            &mut store,
            match cost {
                BudgetCost::Response => vec![model_response("", &[("1", "run", "{}")])],
                BudgetCost::Command => vec![],
            },
        );
        assert_eq!(store.executed_calls["1"], 1);
        assert_eq!(store.state.account.spent.commands, 1);
    }
}

#[test]
fn concurrent_budget_draw_does_not_lose_the_response() {
    for tool in ["look", "put", "run"] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut machine = store.load_machine(test_config());
        let mut effect = machine.next_effect();
        let mut requests = 0;
        let mut model = |_: &str| {
            requests += 1;
            match requests {
                1 => model_response("", &[("1", tool, "{}")]),
                _ => model_response("done", &[]),
            }
        };
        let mut skip_draw = true;
        loop {
            // An agent below it draws from its budget before every commit.
            if matches!(
                effect,
                MachineEffect::Commit(_)
                    | MachineEffect::ExecuteCall {
                        joined_draft: Some(_),
                        ..
                    }
            ) {
                skip_draw = !skip_draw;
                if !skip_draw {
                    store.state.account.drawn_by_children.tokens += 7;
                    store.revision += 1;
                }
            }
            match store.perform_effect(&machine, effect, &mut model, "") {
                Some(event) => effect = machine.handle_event(event),
                None => break,
            }
        }
        assert_eq!(requests, 2, "{tool}");
        assert!(store.state.account.drawn_by_children.tokens > 0);
        assert!(store.state.account.spent.turns == 2);
        store.check_call_result_pairs();
    }
}

#[test]
fn pause_during_a_request_keeps_the_response_and_defers_its_calls() {
    for tool in ["put", "run", "look"] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut machine = store.load_machine(test_config());
        let mut effect = machine.next_effect();
        let mut requests = 0;
        let mut model = |_: &str| {
            requests += 1;
            match requests {
                1 => model_response("", &[("1", tool, "{}")]),
                _ => model_response("done", &[]),
            }
        };
        loop {
            if matches!(
                effect,
                MachineEffect::Commit(_)
                    | MachineEffect::ExecuteCall {
                        joined_draft: Some(_),
                        ..
                    }
            ) {
                store.state.status = MemberStatus::Paused;
                store.revision += 1;
            }
            match store.perform_effect(&machine, effect, &mut model, "") {
                Some(event) => effect = machine.handle_event(event),
                None => break,
            }
            if matches!(effect, MachineEffect::Commit(_))
                && store.state.status == MemberStatus::Paused
            {
                let event = store
                    .perform_effect(&machine, effect, &mut model, "")
                    .unwrap();
                effect = machine.handle_event(event);
            }
        }
        assert_eq!(store.state.status, MemberStatus::Paused);
        assert_eq!(store.state.running_call_id, None);
        assert_eq!(
            store.executed_calls.len(),
            usize::from(tool == "look"),
            "{tool}"
        );
        store.state.status = MemberStatus::Working;
        let mut machine = store.load_machine(test_config());
        store.run_until_idle(&mut machine, &mut model);
        store.check_call_result_pairs();
        assert_eq!((requests, store.executed_calls["1"]), (2, 1), "{tool}");
    }
}

#[test]
fn dismissed_member_does_nothing() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut machine = store.load_machine(test_config());
    machine.next_effect();
    machine.handle_event(MachineEvent::MailboxRead(store.unread.clone()));
    machine.handle_event(MachineEvent::BudgetAvailable);
    machine.handle_event(MachineEvent::ResponseReceived(Box::new(model_response(
        "",
        &[("1", "put", "{}")],
    ))));
    store.state.status = MemberStatus::Dismissed;
    assert!(matches!(
        machine.handle_event(store.state_changed_event()),
        MachineEffect::Dismissed
    ));
    for event in [
        MachineEvent::BudgetAvailable,
        MachineEvent::MailboxRead(vec![]),
        MachineEvent::Committed(9),
    ] {
        assert!(matches!(
            machine.handle_event(event),
            MachineEffect::Dismissed
        ));
    }
    assert!(matches!(
        store.load_machine(test_config()).next_effect(),
        MachineEffect::Dismissed
    ));
}

#[test]
fn calls_of_a_truncated_response_are_not_executed() {
    for calls in [vec![], vec![("1", "put", "{\"half"), ("2", "put", "{}")]] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        let mut truncated = model_response("so", &calls);
        truncated.finish = FinishReason::Length;
        run_member(&mut store, vec![truncated.clone()]);
        assert!(store.executed_calls.is_empty());
        let shape = if calls.is_empty() { "HST S" } else { "HSDD S" };
        assert_eq!(store.entry_pattern(), shape);
        // After three in a row the member is parked, for the person to check.
        store.send_message("again");
        run_member(&mut store, vec![truncated; 3]);
        assert_eq!(store.state.status, MemberStatus::Parked);
        assert_eq!(store.parent_notices.len(), 1);
    }
}

#[test]
fn response_announcing_missing_calls_is_requested_again() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut announced = model_response("I will write the file now.", &[]);
    announced.finish = FinishReason::Calls;
    let good = model_response("", &[("1", "put", "{}")]);
    run_member(&mut store, vec![announced, good]);
    assert_eq!(store.entry_pattern(), "HST SD S");
    assert_eq!(store.state.status, MemberStatus::Idle);
}

/// Some servers set `finish_reason` to `tool_calls` on every response, also on the last one of a turn.
#[test]
fn text_announcing_missing_calls_twice_ends_the_turn() {
    let mut store = SimulatedStore::default();
    let mut announced = model_response("It is done.", &[]);
    announced.finish = FinishReason::Calls;
    for shape in ["HST S", "HST S HST S"] {
        store.send_message("hello");
        run_member(&mut store, vec![announced.clone(); 2]);
        assert_eq!(
            (store.entry_pattern().as_str(), store.state.status),
            (shape, MemberStatus::Idle)
        );
        assert_eq!(
            (store.state.reason.as_ref(), store.parent_notices.len()),
            (None, 0)
        );
    }
}

#[test]
fn announced_calls_without_calls_or_text_park_the_member() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut announced = model_response(" ", &[]);
    announced.finish = FinishReason::Calls;
    run_member(&mut store, vec![announced; 3]);
    assert_eq!(store.state.status, MemberStatus::Parked);
}

#[test]
fn empty_response_is_requested_again_and_reported_to_the_parent() {
    let empty = || model_response(" ", &[]);
    let put = || model_response("", &[("1", "put", "{}")]);
    for (answers, shape, is_notified) in [
        (vec![empty(), put()], "HST SD S", false),
        (vec![empty(), empty()], "HST S", true),
        (vec![put(), empty(), put()], "HSD ST SD S", false),
        (
            vec![put(), empty(), model_response("done", &[])],
            "HSD ST S",
            false,
        ),
        (vec![put(), empty(), empty()], "HSD ST S", true),
    ] {
        let mut store = SimulatedStore::default();
        store.send_message("hello");
        run_member(&mut store, answers);
        assert_eq!(
            (store.entry_pattern().as_str(), store.state.status),
            (shape, MemberStatus::Idle)
        );
        assert_eq!(
            store.parent_notices.len(),
            usize::from(is_notified),
            "{shape}"
        );
        assert_eq!(store.state.reason.is_some(), is_notified, "{shape}");
        // The next message gets a response as usual.
        store.send_message("go on");
        run_member(&mut store, vec![model_response("done", &[])]);
        assert_eq!(
            (store.state.reason.as_ref(), store.received_ids()),
            (None, vec![1, 2])
        );
        assert_eq!(store.parent_notices.len(), usize::from(is_notified));
    }
}

#[test]
fn truncated_response_has_no_dropped_calls_note() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut truncated = model_response("", &[("1", "put", "{}"), ("2", "put", "{}")]);
    truncated.dropped_calls = 70;
    truncated.finish = FinishReason::Length;
    run_member(&mut store, vec![truncated]);
    assert_eq!(store.entry_pattern(), "HSDD S");
    assert!(store.executed_calls.is_empty());
}

#[test]
fn dropped_calls_note_follows_the_results() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut response = model_response("", &[("1", "put", "{}"), ("2", "put", "{}")]);
    response.dropped_calls = 70;
    run_member(&mut store, vec![response]);
    assert_eq!(store.entry_pattern(), "HSD D T S");
    store.check_call_result_pairs();
    let note =
        (store.turns.iter().flat_map(|(_, turn)| &turn.entries)).find_map(|entry| match entry {
            ConversationEntry::Note { message } => {
                Some(crate::chat_message::message_content(message.as_str()))
            }
            _ => None,
        });
    let note = note.unwrap();
    assert!(
        note.contains("72 calls") && note.contains("first 2"),
        "{note}"
    );
}

#[test]
fn full_context_is_summarised_without_separating_calls_and_results() {
    let mut store = SimulatedStore::default();
    let mut small = test_config();
    small.context_limit = 2_000;
    let long = "word ".repeat(200);
    for n in 0..30 {
        store.send_message(&format!("{n} {long}"));
        let mut machine = store.load_machine(small.clone());
        let arguments = format!("{{\"n\":{n}}}");
        let mut model = |prompt: &str| {
            if prompt.contains("Your context is nearly full") {
                model_response("all was well", &[])
            } else if prompt.contains(&format!("did {{\\\"n\\\":{n}")) {
                model_response("done", &[])
            } else {
                model_response("", &[("1", "look", arguments.as_str())])
            }
        };
        let mut effect = machine.next_effect();
        loop {
            let mut prompt = machine.context.render_prompt("").to_owned();
            if let MachineEffect::RequestSummary(_) = effect {
                prompt.push_str("Your context is nearly full");
            }
            match store.perform_effect(&machine, effect, &mut model, &prompt) {
                Some(event) => effect = machine.handle_event(event),
                None => break,
            }
        }
        assert!(machine.context.estimated_tokens() < 2_000, "{n}");
        store.check_call_result_pairs();
    }
    assert!(store.entry_pattern().contains('Σ'));
    let machine = store.load_machine(small);
    assert!(machine.context.summary().unwrap().contains("all was well"));
    assert!(store.state.first_context_turn > 10);
    assert_eq!(store.received_ids(), (1..=30).collect::<Vec<_>>());
}

#[test]
fn context_refused_as_too_long_is_compacted_until_it_fits() {
    for fits in [30_000, 8_000, 1_500] {
        let mut store = SimulatedStore::default();
        store.send_message(&"long ".repeat(8_000));
        let mut machine = store.load_machine(test_config());
        let mut effect = machine.next_effect();
        let mut attempts = 0;
        let mut model = |_: &str| model_response("fine", &[]);
        loop {
            let prompt = machine.context.render_prompt("").to_owned();
            let event = match &effect {
                MachineEffect::RequestResponse | MachineEffect::RequestSummary(_)
                    if prompt.len() > fits =>
                {
                    attempts += 1;
                    assert!(attempts < 40);
                    MachineEvent::RequestFailed(ModelError {
                        kind: ModelErrorKind::TooLong,
                        message: "too long".to_owned(),
                    })
                }
                _ => match store.perform_effect(&machine, effect, &mut model, &prompt) {
                    Some(event) => event,
                    None => break,
                },
            };
            effect = machine.handle_event(event);
        }
        assert_eq!(store.state.status, MemberStatus::Idle, "{fits}");
        assert_eq!(store.received_ids(), [1]);
        store.check_call_result_pairs();
    }
}

#[test]
fn context_that_cannot_fit_parks_the_member() {
    let mut store = SimulatedStore::default();
    store.send_message("hello");
    let mut machine = store.load_machine(test_config());
    let mut effect = machine.next_effect();
    loop {
        let event = match effect {
            MachineEffect::RequestResponse | MachineEffect::RequestSummary(_) => {
                MachineEvent::RequestFailed(ModelError {
                    kind: ModelErrorKind::TooLong,
                    message: "too long".to_owned(),
                })
            }
            _ => match store.perform_effect(&machine, effect, &mut scripted_model(vec![]), "") {
                Some(event) => event,
                None => break,
            },
        };
        effect = machine.handle_event(event);
    }
    assert_eq!(store.state.status, MemberStatus::Parked);
    assert_eq!(store.parent_notices.len(), 1);
}

#[test]
fn member_can_compress_its_own_context() {
    let mut store = SimulatedStore::default();
    store.send_message("one");
    run_member(&mut store, vec![]);
    store.send_message("two");
    let calls = [
        ("1", "compress_context", "{\"summary\":\"one was said\"}"),
        ("2", "put", "{}"),
    ];
    let machine = run_member(&mut store, vec![model_response("", &calls)]);
    assert_eq!(store.entry_pattern(), "HS HSDD Σ S");
    let summary = machine.context.summary().unwrap().to_owned();
    assert!(summary.contains("one was said"));
    assert_eq!(store.state.first_context_turn, 1);
    // The same after a restart.
    let mut reloaded = store.load_machine(test_config());
    let mut before = machine;
    assert_eq!(
        reloaded.context.render_prompt(""),
        before.context.render_prompt("")
    );
}
