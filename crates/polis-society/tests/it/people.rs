//! Human-in-the-loop tests: approvals, pauses and budgets.

use std::sync::Arc;
use std::time::Duration;

use polis_core::society::budget::Limits;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallEnd;
use polis_core::{AgentId, MemberKey};
use polis_ops::op::{self, DecideApproval, HoldSociety, ListApprovals, SetBudget};
use polis_ops::{Polis, Settings};
use polis_society::model::ModelFault;
use polis_testkit::{Ground, MemoryWorkspaces};
use serde_json::json;

use crate::ground::on_every_store;
use crate::stage::{
    Say, Script, begin, begin_with, call, conversation, ground_of, mail, play, polis, results,
    society, state, tell, until,
};

on_every_store! {
    a_call_that_has_to_be_allowed_waits_for_a_person
    a_paused_member_does_nothing_until_it_is_resumed
    a_paused_run_does_nothing_until_it_is_resumed
    a_budget_pauses_asks_and_goes_on_across_a_restart
    a_child_spends_its_parents_budget
    a_dismissed_member_stops_at_once
    a_model_that_fails_for_good_parks_its_member_and_tells
    the_same_call_again_and_again_is_stopped
}

async fn hold(polis: &Polis, agent: Option<&str>, pause: bool) {
    let params = HoldSociety {
        task_id: Some("r1".parse().unwrap()),
        agent_id: agent.map(|name| name.parse().unwrap()),
        ..HoldSociety::default()
    };
    let user = AgentId::user();
    match pause {
        true => op::pause_society(polis, &user, &params).await.unwrap(),
        false => op::resume_society(polis, &user, &params).await.unwrap(),
    };
}

async fn a_call_that_has_to_be_allowed_waits_for_a_person(ground: &impl Ground) {
    for allowed in [true, false] {
        let files = Arc::new(MemoryWorkspaces::default());
        let polis = ground_of(ground.open().await.unwrap(), &files, Settings::default());
        let run = if allowed { "r1" } else { "r2" };
        begin_with(&polis, run, "go", |params| {
            params.approve = vec!["put_artifact".to_owned()];
        })
        .await;
        let model = Script::of(|asked| match asked.number {
            0 => Say::Calls(vec![
                ("TaskCreate", json!({"subject": "before"})),
                ("put_artifact", json!({"type": "text", "content": "danger"})),
                ("TaskCreate", json!({"subject": "after"})),
            ]),
            _ => Say::Done("done"),
        });
        play(&polis, &model).await;
        let root = format!("{run}/root");
        assert_eq!(state(&polis, &root).await.status, MemberStatus::Asking);
        assert_eq!(results(&polis, &root).await.len(), 1);
        let user = AgentId::user();
        let waiting = op::list_approvals(&polis, &user, &ListApprovals::default())
            .await
            .unwrap();
        assert_eq!(waiting.approvals.len(), 1);
        let approval = &waiting.approvals[0];
        assert_eq!(
            (approval.tool.as_str(), approval.agent.as_str()),
            ("put_artifact", "root")
        );
        // It is in the list of approvals; it is not a message.
        assert!(mail(&polis, "user").await.is_empty());
        // It continues in another process, as soon as it is decided.
        let society = society(&polis, &model).await;
        society.settled().await;
        let decide = DecideApproval {
            id: approval.id.clone(),
            allowed,
            note: Some("because".to_owned()),
        };
        op::decide_approval(&polis, &user, &decide).await.unwrap();
        until("it goes on", || async {
            state(&polis, &root).await.status == MemberStatus::Idle
        })
        .await;
        society.stop(Duration::from_secs(5)).await;
        let results = results(&polis, &root).await;
        assert_eq!(results.len(), 3);
        match allowed {
            true => assert_eq!(results[1].0, CallEnd::Ok),
            false => {
                assert_eq!(results[1].0, CallEnd::Denied);
                assert!(
                    results[1].1.starts_with("call_denied") && results[1].1.contains("because")
                );
            }
        }
        assert_eq!(model.count(), 2);
    }
}

async fn a_paused_member_does_nothing_until_it_is_resumed(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::held("root", |asked| match asked.number {
        0 => call("TaskCreate", json!({"subject": "one"})),
        _ => Say::Done("done"),
    });
    let society = society(&polis, &model).await;
    until("it thinks", || async { model.count() == 1 }).await;
    hold(&polis, Some("root"), true).await;
    society.settled().await;
    model.let_answer(10);
    tell(&polis, &"r1".parse().unwrap(), "root", "are you there?").await;
    society.settled().await;
    assert_eq!(state(&polis, "r1/root").await.status, MemberStatus::Paused);
    assert_eq!(conversation(&polis, "r1/root").await.len(), 0);
    hold(&polis, Some("root"), false).await;
    until("it goes on", || async {
        state(&polis, "r1/root").await.status == MemberStatus::Idle
    })
    .await;
    society.settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(results(&polis, "r1/root").await.len(), 1);
    assert_eq!(state(&polis, "r1/root").await.heard, 2);
}

async fn a_paused_run_does_nothing_until_it_is_resumed(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    hold(&polis, None, true).await;
    let model = Script::of(|_| Say::Done("done"));
    let society = society(&polis, &model).await;
    society.settled().await;
    assert_eq!(model.count(), 0);
    hold(&polis, None, false).await;
    until("it thinks", || async { model.count() == 1 }).await;
    society.settled().await;
    // The same while this worker holds the lease of the run.
    hold(&polis, None, true).await;
    tell(&polis, &"r1".parse().unwrap(), "root", "and now?").await;
    society.settled().await;
    assert_eq!(model.count(), 1);
    hold(&polis, None, false).await;
    until("it thinks again", || async { model.count() == 2 }).await;
    society.settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(state(&polis, "r1/root").await.status, MemberStatus::Idle);
}

async fn a_budget_pauses_asks_and_goes_on_across_a_restart(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let limits = Limits {
        turns: Some(3),
        ..Limits::default()
    };
    begin_with(&polis, "r1", "go", |params| params.budget = Some(limits)).await;
    let model = Script::of(|asked| match asked.number {
        0..6 => call(
            "TaskCreate",
            json!({"subject": format!("task {}", asked.number)}),
        ),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    assert_eq!(model.count(), 3);
    let paused = state(&polis, "r1/root").await;
    assert_eq!(paused.status, MemberStatus::Paused);
    assert_eq!(paused.account.spent.turns, 3);
    assert!(paused.why.as_ref().unwrap().contains("turns"), "{paused:?}");
    // It is in the status; it is not a message.
    assert!(mail(&polis, "user").await.is_empty());
    // Starting it again changes nothing.
    play(&polis, &model).await;
    assert_eq!(model.count(), 3);
    assert_eq!(state(&polis, "r1/root").await, paused);
    let raise = SetBudget {
        task_id: Some("r1".parse().unwrap()),
        budget: Limits {
            turns: Some(7),
            ..Limits::default()
        },
        ..SetBudget::default()
    };
    op::set_budget(&polis, &AgentId::user(), &raise)
        .await
        .unwrap();
    hold(&polis, Some("root"), false).await;
    play(&polis, &model).await;
    let done = state(&polis, "r1/root").await;
    assert_eq!(
        (done.status, done.account.spent.turns),
        (MemberStatus::Idle, 7)
    );
    assert_eq!(results(&polis, "r1/root").await.len(), 6);
}

async fn a_child_spends_its_parents_budget(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let limits = Limits {
        tokens: Some(60_000),
        ..Limits::default()
    };
    begin_with(&polis, "r1", "go", |params| params.budget = Some(limits)).await;
    // Each response takes 5,000 tokens.
    let model = Script::used((4_900, 100), |asked| {
        match (asked.agent.as_str(), asked.number) {
            ("root", 0) => Say::Calls(vec![
                (
                    "create_role",
                    json!({"name": "worker", "rolePrompt": "You work."}),
                ),
                (
                    "spawn_agent",
                    json!({"role": "worker", "name": "ann", "taskBrief": "Work"}),
                ),
                ("send_message", json!({"to": "ann", "payload": "Go."})),
            ]),
            ("ann", n) => call("TaskCreate", json!({"subject": format!("task {n}")})),
            _ => Say::Done("done"),
        }
    });
    play(&polis, &model).await;
    let (root, ann) = (
        state(&polis, "r1/root").await,
        state(&polis, "r1/ann").await,
    );
    assert_eq!(ann.status, MemberStatus::Paused, "{ann:?}");
    let spent = root.account.spent.tokens + ann.account.spent.tokens;
    assert!(spent <= 65_000, "{spent}: more than one answer over");
    assert!(ann.account.spent.tokens > 0);
    // Its parent got a notice, in addition to the requirement.
    assert_eq!(mail(&polis, "root").await.len(), 2);
    assert!(mail(&polis, "user").await.is_empty());
}

async fn a_dismissed_member_stops_at_once(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    let run = begin(&polis, "r1", "go").await;
    let model = Script::held("ann", |asked| match (asked.agent.as_str(), asked.number) {
        ("root", 0) => Say::Calls(vec![
            (
                "create_role",
                json!({"name": "worker", "rolePrompt": "You work."}),
            ),
            (
                "spawn_agent",
                json!({"role": "worker", "name": "ann", "taskBrief": "Work"}),
            ),
            ("send_message", json!({"to": "ann", "payload": "Go."})),
        ]),
        ("ann", _) => call("TaskCreate", json!({"subject": "too late"})),
        _ => Say::Done("done"),
    });
    let society = society(&polis, &model).await;
    until("ann thinks", || async {
        model.of_agent("ann").len() == 1 && model.of_agent("root").len() == 2
    })
    .await;
    let ground = polis.within(run.id.clone());
    let params = serde_json::from_value(json!({"agentId": "ann"})).unwrap();
    op::terminate_agent(&ground, &AgentId::root(), &params)
        .await
        .unwrap();
    society.settled().await;
    model.let_answer(10);
    society.settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(state(&polis, "r1/ann").await.status, MemberStatus::Gone);
    assert!(conversation(&polis, "r1/ann").await.is_empty());
    let key: MemberKey = "r1/ann".parse().unwrap();
    assert!(polis.store.turns(&key, 0, 10).await.unwrap().is_empty());
}

async fn a_model_that_fails_for_good_parks_its_member_and_tells(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::of(|asked| match (asked.agent.as_str(), asked.number) {
        ("root", 0) => Say::Calls(vec![
            (
                "create_role",
                json!({"name": "worker", "rolePrompt": "You work."}),
            ),
            (
                "spawn_agent",
                json!({"role": "worker", "name": "ann", "taskBrief": "Work"}),
            ),
            ("send_message", json!({"to": "ann", "payload": "Go."})),
        ]),
        ("ann", _) => Say::Fail(ModelFault::Permanent),
        _ => Say::Done("done"),
    });
    play(&polis, &model).await;
    let ann = state(&polis, "r1/ann").await;
    assert_eq!((ann.status, ann.heard), (MemberStatus::Parked, 0));
    assert_eq!(ann.why.as_deref(), Some("the model says no"));
    assert!(mail(&polis, "user").await.is_empty());
    // The others continue: root got the notice and responded to it.
    let root = model.of_agent("root");
    assert!(root.last().unwrap().all().contains("the model says no"));
    assert_eq!(state(&polis, "r1/root").await.status, MemberStatus::Idle);
    // Requested once, not again and again.
    assert_eq!(model.of_agent("ann").len(), 1);
}

async fn the_same_call_again_and_again_is_stopped(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::of(|_| call("TaskList", json!({})));
    play(&polis, &model).await;
    let results = results(&polis, "r1/root").await;
    let warned = results
        .iter()
        .filter(|(_, text)| text.starts_with("repeated_call"))
        .count();
    assert_eq!((results.len(), warned), (6, 3));
    let root = state(&polis, "r1/root").await;
    assert_eq!(root.status, MemberStatus::Paused);
    assert!(root.why.unwrap().contains("TaskList"));
    assert!(mail(&polis, "user").await.is_empty());
}
