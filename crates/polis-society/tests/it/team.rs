//! Tests of whole societies: hiring, briefing, messages, dismissing.

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Entry};
use polis_testkit::Ground;
use serde_json::json;

use crate::ground::on_every_store;
use crate::stage::{
    Asked, Say, Script, begin, call, conversation, counted, mail, play, polis, results, society,
    state, tell, until,
};

/// Root hires an architect, which hires two programmers; each writes a file and reports; the architect reports to the
/// human user.
pub(crate) fn team(asked: &Asked) -> Say {
    match (asked.agent.as_str(), asked.number) {
        ("root", 0) => call(
            "create_role",
            json!({"name": "architect", "rolePrompt": "You plan."}),
        ),
        ("root", 1) => call(
            "spawn_agent",
            json!({"role": "architect", "name": "arch", "taskBrief": {"objective": "Build a calculator"}}),
        ),
        ("root", 2) => call(
            "send_message",
            json!({"to": "arch", "payload": "Please begin."}),
        ),
        ("arch", 0) => Say::Calls(vec![
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
        ("ada" | "bob", 0) => call(
            "write_file",
            json!({"path": format!("{}.txt", asked.agent), "content": "code"}),
        ),
        ("ada" | "bob", 1) => call(
            "send_message",
            json!({"to": "arch", "payload": format!("{} is done", asked.agent)}),
        ),
        ("arch", _)
            if asked.all().contains("ada is done") && asked.all().contains("bob is done") =>
        {
            match asked.all().contains("\"dismissed\"")
                || asked.last().contains("bob")
                    && asked.last().contains("ada")
                    && !asked.last().contains("is done")
            {
                false => Say::Calls(vec![
                    ("terminate_agent", json!({"agentId": "ada"})),
                    ("terminate_agent", json!({"agentId": "bob"})),
                    (
                        "send_message",
                        json!({"to": "user", "payload": "It is built."}),
                    ),
                ]),
                true => Say::Done("done"),
            }
        }
        _ => Say::Done("waiting"),
    }
}

on_every_store! {
    a_team_is_hired_briefed_and_dismissed
    a_message_that_comes_while_it_thinks_is_heard_at_the_next_step
    what_is_wrong_with_a_call_is_told_to_the_model
    unknown_arguments_are_ignored_and_named_in_the_result
    two_runs_do_not_reach_each_other
    messages_are_heard_once_and_in_order
}

async fn a_team_is_hired_briefed_and_dismissed(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let run = begin(&polis, "r1", "A calculator, please.").await;
    let model = Script::of(|asked| {
        let arch = asked.agent == "arch"
            && asked.all().contains("ada is done")
            && asked.all().contains("bob is done");
        match arch && asked.results() > 4 {
            true => Say::Done("done"),
            false => team(asked),
        }
    });
    play(&polis, &model).await;
    // Root received the requirement.
    let root = model.of_agent("root");
    assert!(root[0].all().contains("A calculator, please."));
    assert_eq!(root[0].tools[0]["type"], "function");
    // The role and the brief are in the system message.
    let arch = model.of_agent("arch");
    assert!(
        arch[0].system().contains("You plan.") && arch[0].system().contains("Build a calculator")
    );
    assert!(arch[0].system().contains("`root` hired you"));
    let user = mail(&polis, "user").await;
    assert_eq!(user, [("arch".to_owned(), json!("It is built."))]);
    for gone in ["r1/ada", "r1/bob"] {
        assert_eq!(state(&polis, gone).await.status, MemberStatus::Gone);
    }
    for idle in ["r1/arch", "r1/root"] {
        let state = state(&polis, idle).await;
        assert_eq!(
            (state.status, state.doing),
            (MemberStatus::Idle, None),
            "{idle}"
        );
    }
    assert!(state(&polis, "r1/arch").await.children.is_empty());
    for member in ["r1/root", "r1/arch", "r1/ada", "r1/bob"] {
        for (end, text) in results(&polis, member).await {
            assert_eq!(end, CallEnd::Ok, "{member}: {text}");
        }
    }
    // The result of a hire contains the name, as JSON.
    let hired = results(&polis, "r1/root").await.remove(1).1;
    let hired: serde_json::Value = serde_json::from_str(&hired).unwrap();
    assert_eq!(hired["id"], "arch");
    assert_eq!(run.id.as_str(), "r1");
}

async fn a_message_that_comes_while_it_thinks_is_heard_at_the_next_step(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let run = begin(&polis, "r1", "first").await;
    let model = Script::held("root", |asked| match asked.number {
        0 => call("TaskCreate", json!({"subject": "a task"})),
        _ => Say::Done("done"),
    });
    let society = society(&polis, &model).await;
    until("it thinks", || async { model.count() == 1 }).await;
    tell(&polis, &run.id, "root", "second").await;
    model.let_answer(10);
    society.settled().await;
    let asked = model.of_agent("root");
    assert_eq!(asked.len(), 2);
    assert!(!asked[0].all().contains("second"));
    assert!(asked[1].all().contains("second"));
    assert_eq!((asked[0].heard, asked[1].heard), (1, 2));
    society.stop(std::time::Duration::from_secs(5)).await;
}

async fn what_is_wrong_with_a_call_is_told_to_the_model(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::of(|asked| match asked.number {
        0 => call("no_such_tool", json!({})),
        1 => Say::Garbled("send_message", "{\"to\": \"user\", "),
        2 => call("send_message", json!({"to": "nobody-here", "payload": 1})),
        3 => call("send_message", json!({"nonsense": true})),
        4 => call("check_messages", json!({})),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    let results = results(&polis, "r1/root").await;
    let codes = [
        "tool_not_found",
        "invalid_input",
        "recipient_not_found",
        "invalid_input",
        "tool_not_found",
    ];
    assert_eq!(results.len(), codes.len());
    for ((end, text), code) in results.iter().zip(codes) {
        assert_eq!(*end, CallEnd::Failed);
        assert!(text.starts_with(code), "{text} is not {code}");
    }
}

async fn unknown_arguments_are_ignored_and_named_in_the_result(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    // A call that is committed with the turn, one that only reads, and one with a misspelt parameter.
    let model = Script::of(|asked| match asked.number {
        0 => call("TaskCreate", json!({"subject": "one", "thought": "hm"})),
        1 => call("TaskList", json!({"thought": "hm"})),
        2 => call("TaskGet", json!({"task_id": "1"})),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    let results = results(&polis, "r1/root").await;
    let note = "\n[ignored unknown arguments: thought]";
    for (end, text) in &results[..2] {
        assert_eq!(*end, CallEnd::Ok, "{text}");
        assert!(text.ends_with(note), "{text}");
    }
    let (end, text) = &results[2];
    assert_eq!(*end, CallEnd::Failed);
    assert!(text.contains("did you mean \"taskId\"?"), "{text}");
}

async fn two_runs_do_not_reach_each_other(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "one").await;
    begin(&polis, "r2", "two").await;
    let model = Script::of(|asked| match (asked.run.as_str(), asked.number) {
        _ if asked.agent != "root" => Say::Done("done"),
        (_, 0) => call(
            "create_role",
            json!({"name": "worker", "rolePrompt": format!("You work for {}.", asked.run)}),
        ),
        ("r1", 1) => call(
            "spawn_agent",
            json!({"role": "worker", "name": "ann", "taskBrief": "one"}),
        ),
        ("r2", 1) => call(
            "spawn_agent",
            json!({"role": "worker", "name": "ben", "taskBrief": "two"}),
        ),
        ("r1", 2) => call("send_message", json!({"to": "ben", "payload": "psst"})),
        ("r2", 2) => call("send_message", json!({"to": "ben", "payload": "go"})),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    let (end, text) = results(&polis, "r1/root").await.remove(2);
    assert_eq!(end, CallEnd::Failed);
    assert!(text.starts_with("recipient_not_found"), "{text}");
    // The same role name, each with the prompt of its own run.
    let ben = model.of_agent("ben");
    assert_eq!(ben.len(), 1);
    assert!(ben[0].system().contains("You work for r2."));
    assert!(!ben[0].all().contains("psst"));
    assert!(model.of_agent("ann").is_empty());
}

async fn messages_are_heard_once_and_in_order(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let run = begin(&polis, "r1", "0").await;
    let model = Script::of(|_| Say::Done("ok"));
    let society = society(&polis, &model).await;
    for n in 1..60 {
        tell(&polis, &run.id, "root", &n.to_string()).await;
    }
    society.settled().await;
    society.stop(std::time::Duration::from_secs(5)).await;
    let entries = conversation(&polis, "r1/root").await;
    let heard: Vec<u64> = (entries.iter())
        .filter_map(|entry| match entry {
            Entry::Heard { ids, .. } => Some(ids.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(heard, (1..=60).collect::<Vec<_>>());
    assert_eq!(state(&polis, "r1/root").await.heard, 60);
    let said = entries
        .iter()
        .filter(|entry| matches!(entry, Entry::Said { .. }))
        .count();
    assert_eq!(said, model.count());
    assert_eq!(counted(heard).len(), 60);
}
