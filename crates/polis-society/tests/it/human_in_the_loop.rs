//! Human-in-the-loop tests on every store: call approvals, pause and resume, budgets, dismissal, and members
//! that are parked or paused by a failing model or a loop.

use std::sync::Arc;
use std::time::Duration;

use polis_core::society::budget::BudgetLimits;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::CallOutcome;
use polis_core::{AgentId, MemberKey};
use polis_ops::op::{
    self, DecideApprovalParams, ListApprovalsParams, PauseSocietyParams, SetBudgetParams,
};
use polis_ops::{App, InstallationSettings};
use polis_society::model::ModelErrorKind;
use polis_testkit::{MemoryWorkspaces, StoreFactory};
use serde_json::json;

use crate::store_factories::on_every_store;
use crate::test_society::{
    FunctionModel, ScriptedResponse, app_with_workspaces, call_results, conversation_entries,
    mailbox_messages, member_state, respond_with_call, run_until_settled, send_user_message,
    start_run, start_run_with, start_society, test_app, wait_until,
};

on_every_store! {
    call_needing_approval_waits_for_the_user
    paused_member_does_nothing_until_resumed
    paused_run_does_nothing_until_resumed
    exhausted_budget_pauses_the_member_across_a_restart
    child_spends_the_budget_of_its_parent
    dismissed_member_stops_at_once
    permanent_model_failure_parks_the_member_and_notifies_the_parent
    repeated_call_pauses_the_member
}

async fn set_paused(app: &App, agent: Option<&str>, pause: bool) {
    let params = PauseSocietyParams {
        run_id: Some("r1".parse().unwrap()),
        agent_id: agent.map(|name| name.parse().unwrap()),
        ..PauseSocietyParams::default()
    };
    let user = AgentId::user();
    if pause {
        op::pause_society(&app.request(&user), &params)
            .await
            .unwrap()
    } else {
        op::resume_society(&app.request(&user), &params)
            .await
            .unwrap()
    };
}

async fn call_needing_approval_waits_for_the_user(ground: &impl StoreFactory) {
    for allowed in [true, false] {
        let files = Arc::new(MemoryWorkspaces::default());
        let app = app_with_workspaces(
            ground.open().await.unwrap(),
            &files,
            InstallationSettings::default(),
        );
        let run = if allowed { "r1" } else { "r2" };
        start_run_with(&app, run, "go", |params| {
            params.approve = vec!["put_artifact".to_owned()];
        })
        .await;
        let model = FunctionModel::new(|asked| match asked.response_index {
            0 => ScriptedResponse::ToolCalls(vec![
                ("TaskCreate", json!({"subject": "before"})),
                ("put_artifact", json!({"type": "text", "content": "danger"})),
                ("TaskCreate", json!({"subject": "after"})),
            ]),
            _ => ScriptedResponse::Text("done"),
        });
        run_until_settled(&app, &model).await;
        let root = format!("{run}/root");
        assert_eq!(
            member_state(&app, &root).await.status,
            MemberStatus::AwaitingApproval
        );
        assert_eq!(call_results(&app, &root).await.len(), 1);
        let user = AgentId::user();
        let waiting = op::list_approvals(&app.request(&user), &ListApprovalsParams::default())
            .await
            .unwrap();
        assert_eq!(waiting.approvals.len(), 1);
        let approval = &waiting.approvals[0];
        assert_eq!(
            (approval.tool.as_str(), approval.agent.as_str()),
            ("put_artifact", "root")
        );
        // It is in the list of approvals; it is not a message.
        assert!(mailbox_messages(&app, "user").await.is_empty());
        // It continues in another process, as soon as it is decided.
        let society = start_society(&app, &model).await;
        society.wait_until_settled().await;
        let decide = DecideApprovalParams {
            id: approval.id.clone(),
            allowed,
            note: Some("because".to_owned()),
        };
        op::decide_approval(&app.request(&user), &decide)
            .await
            .unwrap();
        wait_until("root continues and becomes idle", || async {
            member_state(&app, &root).await.status == MemberStatus::Idle
        })
        .await;
        society.stop(Duration::from_secs(5)).await;
        let results = call_results(&app, &root).await;
        assert_eq!(results.len(), 3);
        if allowed {
            assert_eq!(results[1].0, CallOutcome::Ok);
        } else {
            assert_eq!(results[1].0, CallOutcome::Denied);
            assert!(results[1].1.starts_with("call_denied") && results[1].1.contains("because"));
        }
        assert_eq!(model.request_count(), 2);
    }
}

async fn paused_member_does_nothing_until_resumed(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::holding_back("root", |asked| match asked.response_index {
        0 => respond_with_call("TaskCreate", json!({"subject": "one"})),
        _ => ScriptedResponse::Text("done"),
    });
    let society = start_society(&app, &model).await;
    wait_until("root requests the model", || async {
        model.request_count() == 1
    })
    .await;
    set_paused(&app, Some("root"), true).await;
    society.wait_until_settled().await;
    model.release_responses(10);
    send_user_message(&app, &"r1".parse().unwrap(), "root", "are you there?").await;
    society.wait_until_settled().await;
    let paused = member_state(&app, "r1/root").await;
    assert_eq!(paused.status, MemberStatus::Paused);
    // No sentence in one language is stored.
    assert_eq!(paused.reason, None);
    assert_eq!(paused.paused_by(), Some(AgentId::user()));
    assert_eq!(conversation_entries(&app, "r1/root").await.len(), 0);
    set_paused(&app, Some("root"), false).await;
    wait_until("root continues and becomes idle", || async {
        member_state(&app, "r1/root").await.status == MemberStatus::Idle
    })
    .await;
    society.wait_until_settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(call_results(&app, "r1/root").await.len(), 1);
    assert_eq!(member_state(&app, "r1/root").await.received_messages, 2);
}

async fn paused_run_does_nothing_until_resumed(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    set_paused(&app, None, true).await;
    let model = FunctionModel::new(|_| ScriptedResponse::Text("done"));
    let society = start_society(&app, &model).await;
    society.wait_until_settled().await;
    assert_eq!(model.request_count(), 0);
    set_paused(&app, None, false).await;
    wait_until("root requests the model", || async {
        model.request_count() == 1
    })
    .await;
    society.wait_until_settled().await;
    // The same while this worker holds the lease of the run.
    set_paused(&app, None, true).await;
    send_user_message(&app, &"r1".parse().unwrap(), "root", "and now?").await;
    society.wait_until_settled().await;
    assert_eq!(model.request_count(), 1);
    set_paused(&app, None, false).await;
    wait_until("root requests the model again", || async {
        model.request_count() == 2
    })
    .await;
    society.wait_until_settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(
        member_state(&app, "r1/root").await.status,
        MemberStatus::Idle
    );
}

async fn exhausted_budget_pauses_the_member_across_a_restart(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let limits = BudgetLimits {
        turns: Some(3),
        ..BudgetLimits::default()
    };
    start_run_with(&app, "r1", "go", |params| params.budget = Some(limits)).await;
    let model = FunctionModel::new(|asked| match asked.response_index {
        0..6 => respond_with_call(
            "TaskCreate",
            json!({"subject": format!("task {}", asked.response_index)}),
        ),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    assert_eq!(model.request_count(), 3);
    let paused = member_state(&app, "r1/root").await;
    assert_eq!(paused.status, MemberStatus::Paused);
    assert_eq!(paused.account.spent.turns, 3);
    assert!(
        paused.reason.as_ref().unwrap().contains("turns"),
        "{paused:?}"
    );
    // It is in the status; it is not a message.
    assert!(mailbox_messages(&app, "user").await.is_empty());
    // Starting it again changes nothing.
    run_until_settled(&app, &model).await;
    assert_eq!(model.request_count(), 3);
    assert_eq!(member_state(&app, "r1/root").await, paused);
    let raise = SetBudgetParams {
        run_id: Some("r1".parse().unwrap()),
        budget: BudgetLimits {
            turns: Some(7),
            ..BudgetLimits::default()
        },
        ..SetBudgetParams::default()
    };
    op::set_budget(&app.request(&AgentId::user()), &raise)
        .await
        .unwrap();
    set_paused(&app, Some("root"), false).await;
    run_until_settled(&app, &model).await;
    let done = member_state(&app, "r1/root").await;
    assert_eq!(
        (done.status, done.account.spent.turns),
        (MemberStatus::Idle, 7)
    );
    assert_eq!(call_results(&app, "r1/root").await.len(), 6);
}

async fn child_spends_the_budget_of_its_parent(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let limits = BudgetLimits {
        tokens: Some(60_000),
        ..BudgetLimits::default()
    };
    start_run_with(&app, "r1", "go", |params| params.budget = Some(limits)).await;
    // Each response takes 5,000 tokens.
    let model = FunctionModel::with_usage((4_900, 100), |asked| {
        match (asked.agent.as_str(), asked.response_index) {
            ("root", 0) => ScriptedResponse::ToolCalls(vec![
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
            ("ann", n) => respond_with_call("TaskCreate", json!({"subject": format!("task {n}")})),
            _ => ScriptedResponse::Text("done"),
        }
    });
    run_until_settled(&app, &model).await;
    let (root, ann) = (
        member_state(&app, "r1/root").await,
        member_state(&app, "r1/ann").await,
    );
    assert_eq!(ann.status, MemberStatus::Paused, "{ann:?}");
    let spent = root.account.spent.tokens + ann.account.spent.tokens;
    assert!(spent <= 65_000, "{spent}: more than one answer over");
    assert!(ann.account.spent.tokens > 0);
    // Its supervisor got a notice, in addition to the requirement.
    assert_eq!(mailbox_messages(&app, "root").await.len(), 2);
    assert!(mailbox_messages(&app, "user").await.is_empty());
}

async fn dismissed_member_stops_at_once(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    let run = start_run(&app, "r1", "go").await;
    let model = FunctionModel::holding_back("ann", |asked| {
        match (asked.agent.as_str(), asked.response_index) {
            ("root", 0) => ScriptedResponse::ToolCalls(vec![
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
            ("ann", _) => respond_with_call("TaskCreate", json!({"subject": "too late"})),
            _ => ScriptedResponse::Text("done"),
        }
    });
    let society = start_society(&app, &model).await;
    wait_until("ann requests the model", || async {
        model.requests_of("ann").len() == 1 && model.requests_of("root").len() == 2
    })
    .await;
    let request = app.request(&AgentId::root()).in_run(run.id.clone());
    let params = serde_json::from_value(json!({"agentId": "ann"})).unwrap();
    op::terminate_agent(&request, &params).await.unwrap();
    society.wait_until_settled().await;
    model.release_responses(10);
    society.wait_until_settled().await;
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(
        member_state(&app, "r1/ann").await.status,
        MemberStatus::Dismissed
    );
    assert!(conversation_entries(&app, "r1/ann").await.is_empty());
    let key: MemberKey = "r1/ann".parse().unwrap();
    assert!(app.store.turns(&key, 0, 10).await.unwrap().is_empty());
}

async fn permanent_model_failure_parks_the_member_and_notifies_the_parent(
    ground: &impl StoreFactory,
) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|asked| match (asked.agent.as_str(), asked.response_index) {
        ("root", 0) => ScriptedResponse::ToolCalls(vec![
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
        ("ann", _) => ScriptedResponse::Failure(ModelErrorKind::Permanent),
        _ => ScriptedResponse::Text("done"),
    });
    run_until_settled(&app, &model).await;
    let ann = member_state(&app, "r1/ann").await;
    assert_eq!(
        (ann.status, ann.received_messages),
        (MemberStatus::Parked, 0)
    );
    assert_eq!(ann.reason.as_deref(), Some("the model says no"));
    assert!(mailbox_messages(&app, "user").await.is_empty());
    // The others continue: root got the notice and responded to it.
    let root = model.requests_of("root");
    assert!(
        root.last()
            .unwrap()
            .all_text()
            .contains("the model says no")
    );
    assert_eq!(
        member_state(&app, "r1/root").await.status,
        MemberStatus::Idle
    );
    // Requested once, not again and again.
    assert_eq!(model.requests_of("ann").len(), 1);
}

async fn repeated_call_pauses_the_member(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|_| respond_with_call("TaskList", json!({})));
    run_until_settled(&app, &model).await;
    let results = call_results(&app, "r1/root").await;
    let warned = results
        .iter()
        .filter(|(_, text)| text.starts_with("repeated_call"))
        .count();
    assert_eq!((results.len(), warned), (6, 3));
    let root = member_state(&app, "r1/root").await;
    assert_eq!(root.status, MemberStatus::Paused);
    assert!(root.reason.unwrap().contains("TaskList"));
    assert!(mailbox_messages(&app, "user").await.is_empty());
}
