//! Tests of a whole team on every store: hiring, briefs, messages between members, invalid calls, dismissal,
//! and the isolation of runs.

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ConversationEntry};
use polis_testkit::StoreFactory;
use serde_json::json;

use crate::store_factories::on_every_store;
use crate::test_society::{
    FunctionModel, RecordedRequest, ScriptedResponse, call_results, conversation_entries,
    count_occurrences, mailbox_messages, member_state, respond_with_call, run_until_settled,
    send_user_message, start_run, start_society, test_app, wait_until,
};

/// Script of a team: root hires an architect, which hires two programmers; each writes a file and reports;
/// the architect reports to the person.
pub(crate) fn respond_as_team(asked: &RecordedRequest) -> ScriptedResponse {
    match (asked.agent.as_str(), asked.response_index) {
        ("root", 0) => respond_with_call(
            "create_role",
            json!({"name": "architect", "rolePrompt": "You plan."}),
        ),
        ("root", 1) => respond_with_call(
            "spawn_agent",
            json!({"role": "architect", "name": "arch", "taskBrief": {"objective": "Build a calculator"}}),
        ),
        ("root", 2) => respond_with_call(
            "send_message",
            json!({"to": "arch", "payload": "Please begin."}),
        ),
        ("arch", 0) => ScriptedResponse::ToolCalls(vec![
            (
                "create_role",
                json!({"name": "programmer", "rolePrompt": "You write."}),
            ),
            (
                "spawn_agent",
                json!({"role": "programmer", "name": "ada", "taskBrief": {"objective": "Write add"}}),
            ),
            (
                "spawn_agent",
                json!({"role": "programmer", "name": "bob", "taskBrief": {"objective": "Write sub"}}),
            ),
            (
                "send_message",
                json!({"to": "role:programmer", "payload": "Go."}),
            ),
        ]),
        ("ada" | "bob", 0) => respond_with_call(
            "write_file",
            json!({"path": format!("{}.txt", asked.agent), "content": "code"}),
        ),
        ("ada" | "bob", 1) => respond_with_call(
            "send_message",
            json!({"to": "arch", "payload": format!("{} is done", asked.agent)}),
        ),
        ("arch", _)
            if asked.all_text().contains("ada is done")
                && asked.all_text().contains("bob is done") =>
        {
            if !(asked.all_text().contains("\"dismissed\"")
                || asked.last_content().contains("bob")
                    && asked.last_content().contains("ada")
                    && !asked.last_content().contains("is done"))
            {
                ScriptedResponse::ToolCalls(vec![
                    ("terminate_agent", json!({"agentId": "ada"})),
                    ("terminate_agent", json!({"agentId": "bob"})),
                    (
                        "send_message",
                        json!({"to": "user", "payload": "It is built."}),
                    ),
                ])
            } else {
                ScriptedResponse::Text("done")
            }
        }
        _ => ScriptedResponse::Text("waiting"),
    }
}

on_every_store! {
    team_is_hired_briefed_and_dismissed
    message_during_a_request_is_received_at_the_next_step
    invalid_call_returns_its_error_to_the_model
    unknown_arguments_are_ignored_and_named_in_the_result
    members_cannot_message_other_runs
    messages_are_received_once_and_in_order
}

async fn team_is_hired_briefed_and_dismissed(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let run = start_run(&app, "r1", "A calculator, please.").await;
    let model = FunctionModel::new(|asked| {
        let arch = asked.agent == "arch"
            && asked.all_text().contains("ada is done")
            && asked.all_text().contains("bob is done");
        if arch && asked.tool_result_count() > 4 {
            ScriptedResponse::Text("done")
        } else {
            respond_as_team(asked)
        }
    });
    run_until_settled(&app, &model).await;
    // Root received the requirement.
    let root = model.requests_of("root");
    assert!(root[0].all_text().contains("A calculator, please."));
    assert_eq!(root[0].tools[0]["type"], "function");
    // The role and the brief are in the system message.
    let arch = model.requests_of("arch");
    assert!(
        arch[0].system_prompt().contains("You plan.")
            && arch[0].system_prompt().contains("Build a calculator")
    );
    assert!(arch[0].system_prompt().contains("`root` hired you"));
    let user = mailbox_messages(&app, "user").await;
    assert_eq!(user, [("arch".to_owned(), json!("It is built."))]);
    for gone in ["r1/ada", "r1/bob"] {
        assert_eq!(
            member_state(&app, gone).await.status,
            MemberStatus::Dismissed
        );
    }
    for idle in ["r1/arch", "r1/root"] {
        let state = member_state(&app, idle).await;
        assert_eq!(
            (state.status, state.running_call_id),
            (MemberStatus::Idle, None),
            "{idle}"
        );
    }
    assert!(member_state(&app, "r1/arch").await.children.is_empty());
    for member in ["r1/root", "r1/arch", "r1/ada", "r1/bob"] {
        for (end, text) in call_results(&app, member).await {
            assert_eq!(end, CallOutcome::Ok, "{member}: {text}");
        }
    }
    // The result of a hire contains the name, as JSON.
    let hired = call_results(&app, "r1/root").await.remove(1).1;
    let hired: serde_json::Value = serde_json::from_str(&hired).unwrap();
    assert_eq!(hired["id"], "arch");
    assert_eq!(run.id.as_str(), "r1");
}

async fn message_during_a_request_is_received_at_the_next_step(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let run = start_run(&app, "r1", "first").await;
    let model = FunctionModel::holding_back("root", |asked| match asked.response_index {
        0 => respond_with_call("TaskCreate", json!({"subject": "a task"})),
        _ => ScriptedResponse::Text("done"),
    });
    let society = start_society(&app, &model).await;
    wait_until("root requests the model", || async {
        model.request_count() == 1
    })
    .await;
    send_user_message(&app, &run.id, "root", "second").await;
    model.release_responses(10);
    society.wait_until_settled().await;
    let asked = model.requests_of("root");
    assert_eq!(asked.len(), 2);
    assert!(!asked[0].all_text().contains("second"));
    assert!(asked[1].all_text().contains("second"));
    assert_eq!(
        (
            asked[0].received_message_count,
            asked[1].received_message_count
        ),
        (1, 2)
    );
    society.stop(std::time::Duration::from_secs(5)).await;
}

async fn invalid_call_returns_its_error_to_the_model(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|asked| match asked.response_index {
        0 => respond_with_call("no_such_tool", json!({})),
        1 => ScriptedResponse::MalformedCall("send_message", "{\"to\": \"user\", "),
        2 => respond_with_call("send_message", json!({"to": "nobody-here", "payload": 1})),
        3 => respond_with_call("send_message", json!({"nonsense": true})),
        4 => respond_with_call("check_messages", json!({})),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    let results = call_results(&app, "r1/root").await;
    let codes = [
        "tool_not_found",
        "invalid_input",
        "recipient_not_found",
        "invalid_input",
        "tool_not_found",
    ];
    assert_eq!(results.len(), codes.len());
    for ((end, text), code) in results.iter().zip(codes) {
        assert_eq!(*end, CallOutcome::Failed);
        assert!(text.starts_with(code), "{text} is not {code}");
    }
}

async fn unknown_arguments_are_ignored_and_named_in_the_result(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    // A call that is committed with the turn, one that only reads, and one with a misspelt parameter.
    let model = FunctionModel::new(|asked| match asked.response_index {
        0 => respond_with_call("TaskCreate", json!({"subject": "one", "thought": "hm"})),
        1 => respond_with_call("TaskList", json!({"thought": "hm"})),
        2 => respond_with_call("TaskGet", json!({"task_id": "1"})),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    let results = call_results(&app, "r1/root").await;
    let note = "\n[ignored unknown arguments: thought]";
    for (end, text) in &results[..2] {
        assert_eq!(*end, CallOutcome::Ok, "{text}");
        assert!(text.ends_with(note), "{text}");
    }
    let (end, text) = &results[2];
    assert_eq!(*end, CallOutcome::Failed);
    assert!(text.contains("did you mean \"taskId\"?"), "{text}");
}

async fn members_cannot_message_other_runs(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "one").await;
    start_run(&app, "r2", "two").await;
    let model = FunctionModel::new(|asked| match (asked.run.as_str(), asked.response_index) {
        _ if asked.agent != "root" => ScriptedResponse::Text("done"),
        (_, 0) => respond_with_call(
            "create_role",
            json!({"name": "worker", "rolePrompt": format!("You work for {}.", asked.run)}),
        ),
        ("r1", 1) => respond_with_call(
            "spawn_agent",
            json!({"role": "worker", "name": "ann", "taskBrief": "one"}),
        ),
        ("r2", 1) => respond_with_call(
            "spawn_agent",
            json!({"role": "worker", "name": "ben", "taskBrief": "two"}),
        ),
        ("r1", 2) => respond_with_call("send_message", json!({"to": "ben", "payload": "psst"})),
        ("r2", 2) => respond_with_call("send_message", json!({"to": "ben", "payload": "go"})),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    let (end, text) = call_results(&app, "r1/root").await.remove(2);
    assert_eq!(end, CallOutcome::Failed);
    assert!(text.starts_with("recipient_not_found"), "{text}");
    // The same role name, each with the prompt of its own run.
    let ben = model.requests_of("ben");
    assert_eq!(ben.len(), 1);
    assert!(ben[0].system_prompt().contains("You work for r2."));
    assert!(!ben[0].all_text().contains("psst"));
    assert!(model.requests_of("ann").is_empty());
}

async fn messages_are_received_once_and_in_order(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let run = start_run(&app, "r1", "0").await;
    let model = FunctionModel::new(|_| ScriptedResponse::Text("ok"));
    let society = start_society(&app, &model).await;
    for n in 1..60 {
        send_user_message(&app, &run.id, "root", &n.to_string()).await;
    }
    society.wait_until_settled().await;
    society.stop(std::time::Duration::from_secs(5)).await;
    let entries = conversation_entries(&app, "r1/root").await;
    let heard: Vec<u64> = (entries.iter())
        .filter_map(|entry| match entry {
            ConversationEntry::Received { ids, .. } => Some(ids.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(heard, (1..=60).collect::<Vec<_>>());
    assert_eq!(member_state(&app, "r1/root").await.received_messages, 60);
    let said = entries
        .iter()
        .filter(|entry| matches!(entry, ConversationEntry::Response { .. }))
        .count();
    assert_eq!(said, model.request_count());
    assert_eq!(count_occurrences(heard).len(), 60);
}
