//! Test suite for starting runs, hiring and dismissing agents, roles and hire limits. The tests call the
//! operations and are run over every store.

use std::collections::BTreeSet;

use polis_core::society::member::MemberStatus;
use polis_core::society::run::HireLimits;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::{AgentId, AgentStatus, RefusalCode};
use polis_ops::op::{self, GetOrgParams, ReadConversationParams};

use super::test_society::{TestSociety, refusal_code, run_concurrently};
use crate::StoreFactory;
use crate::store_factory::{parse_agent_id, parse_member_key, parse_run_id};

/// A run's root finds the requirement in its mailbox of that run; a run name is used only once.
///
/// # Panics
/// If that does not hold.
pub async fn new_run_has_requirement_in_root_mailbox(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    assert_eq!(society.unread_texts("one/root").await, ["build one"]);
    assert_eq!(society.unread_texts("one/root").await, [""; 0]);
    assert_eq!(society.unread_texts("two/root").await, ["build two"]);
    let again = polis_core::society::start_run::StartRunParams {
        requirement: "x".to_owned(),
        run_id: Some(parse_run_id("one")),
        ..Default::default()
    };
    let again = op::start_run(&society.app.request(&AgentId::user()), &again).await;
    assert_eq!(refusal_code(again), RefusalCode::INVALID_INPUT);
    let org = society.org_chart("one").await;
    assert_eq!(org.members.len(), 1);
    assert_eq!(org.members[0].objective, "build one");
    let runs = op::list_runs(
        &society.app.request(&AgentId::user()),
        &op::ListRunsParams::default(),
    )
    .await;
    assert_eq!(runs.unwrap().runs.len(), 2);
}

/// With any number of concurrent hires from several processes, no limit is exceeded and no name assigned
/// twice.
///
/// # Panics
/// If that does not hold.
pub async fn concurrent_hires_stay_within_limits(factory: &dyn StoreFactory) {
    let limits = HireLimits {
        depth: 2,
        agents: 6,
        per_minute: 100,
    };
    let society = TestSociety::with_hire_limits(factory, limits).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    society
        .create_role(&boss, "programmer", "code")
        .await
        .unwrap();
    let handles = [
        society.open_second_handle(factory).await,
        society.open_second_handle(factory).await,
        society.open_second_handle(factory).await,
    ];
    let results = run_concurrently((0..12).map(|n| {
        let (handle, boss) = (handles[n % 3].clone(), boss.clone());
        async move { handle.hire_agent(&boss, "programmer").await }
    }))
    .await;
    let (hired, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(hired.len(), 5);
    for answer in refused {
        assert_eq!(refusal_code(answer), RefusalCode::HIRE_LIMIT);
    }
    let names: BTreeSet<String> = (hired.into_iter())
        .map(|hired| hired.unwrap().id.to_string())
        .collect();
    assert_eq!(names.len(), 5);
    let run = society.show_run("one").await;
    assert_eq!((run.agents, run.hired), (6, 6));
    assert_eq!(society.agents_of_run(&run.id).await.len(), 6);
    let deep = names.first().unwrap();
    society
        .dismiss_agent(&boss, names.last().unwrap())
        .await
        .unwrap();
    assert_eq!(
        refusal_code(society.hire_agent(deep, "programmer").await),
        RefusalCode::HIRE_LIMIT
    );
    assert_eq!(
        society
            .member_state(&parse_member_key(&format!("one/{boss}")))
            .await
            .value
            .children
            .len(),
        4
    );
}

/// No more agents are hired within a minute than the limit allows; after the minute, hiring is possible
/// again.
///
/// # Panics
/// If that does not hold.
pub async fn hire_rate_is_limited_per_minute(factory: &dyn StoreFactory) {
    let limits = HireLimits {
        per_minute: 3,
        ..HireLimits::default()
    };
    let society = TestSociety::with_hire_limits(factory, limits).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let first = society.create_role_and_hire(&boss, "programmer").await;
    society.dismiss_agent(&boss, &first).await.unwrap();
    let second = society.hire_agent(&boss, "programmer").await.unwrap();
    assert_ne!(second.id.as_str(), first, "names are never reused");
    assert_eq!(
        refusal_code(society.hire_agent(&boss, "programmer").await),
        RefusalCode::HIRE_LIMIT
    );
    society.clock.advance_millis(60_000);
    society.hire_agent(&boss, "programmer").await.unwrap();
}

/// Two runs may each have a 程序员 role with a different prompt, and neither sees the other's.
///
/// # Panics
/// If that does not hold.
pub async fn roles_are_separate_per_run(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    let one = society
        .create_role("one/root", "程序员", "Rust")
        .await
        .unwrap();
    let two = society
        .create_role("two/root", "程序员", "Python")
        .await
        .unwrap();
    assert!(!one.existed && !two.existed);
    assert!(
        society
            .create_role("one/root", "程序员", "Rust")
            .await
            .unwrap()
            .existed
    );
    let other = society.create_role("one/root", "程序员", "Python").await;
    assert_eq!(refusal_code(other), RefusalCode::ROLE_EXISTS);
    let find = op::FindRoleParams {
        name: "程序员".to_owned(),
    };
    for (run, prompt) in [("one", "Rust"), ("two", "Python")] {
        let request = society.request(&format!("{run}/root"));
        let found = op::find_role_by_name(&request, &find).await;
        assert_eq!(found.unwrap().role.unwrap().role_prompt, prompt);
        let hired = society
            .hire_agent(&format!("{run}/root"), "程序员")
            .await
            .unwrap();
        assert_eq!((hired.role.as_str(), hired.run.as_str()), ("程序员", run));
    }
    assert_eq!(
        refusal_code(society.hire_agent("one/root", "nobody").await),
        RefusalCode::ROLE_NOT_FOUND
    );
}

/// Root has at most one hired agent at a time in each run, and receives only messages of that run.
///
/// # Panics
/// If that does not hold.
pub async fn root_has_one_child_and_one_mailbox_per_run(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    let (a, b) = (
        society.create_role_and_hire("one/root", "architect").await,
        society.create_role_and_hire("two/root", "architect").await,
    );
    assert_eq!((a.as_str(), b.as_str()), ("architect-1", "architect-2"));
    let second = society
        .hire_agent("one/root", "architect")
        .await
        .unwrap_err();
    assert_eq!(second.code(), RefusalCode::HIRE_LIMIT);
    assert!(second.to_string().contains(&a), "{second}");
    society.unread_texts("one/root").await;
    society.unread_texts("two/root").await;
    society.send_message(&a, "root", "from one").await.unwrap();
    assert_eq!(society.unread_texts("two/root").await, [""; 0]);
    assert_eq!(society.unread_texts("one/root").await, ["from one"]);
    // Its child has its own workspace; agents hired by that child work there.
    assert!(
        society
            .app
            .store
            .workspace(&parse_agent_id(&a))
            .await
            .unwrap()
            .is_some()
    );
    let below = society.create_role_and_hire(&a, "programmer").await;
    assert!(
        society
            .app
            .store
            .workspace(&parse_agent_id(&below))
            .await
            .unwrap()
            .is_none()
    );
    society.dismiss_agent("one/root", &a).await.unwrap();
    let next = society.hire_agent("one/root", "architect").await.unwrap();
    assert_eq!(next.id.as_str(), "architect-3");
}

/// An agent outside all runs, and the person, can hire; the hired agents belong to a run of their own. An
/// unregistered agent cannot hire.
///
/// # Panics
/// If that does not hold.
pub async fn hire_from_outside_all_runs_creates_own_run(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    let lead = polis_core::agent::AgentAddParams {
        id: parse_agent_id("ann"),
        name: None,
        role: "team-lead".to_owned(),
        layer: None,
        supervisor: None,
        workspace_path: None,
    };
    let user = AgentId::user();
    op::add_agent(&society.app.request(&user), &lead)
        .await
        .unwrap();
    let first = society.create_role_and_hire("ann", "programmer").await;
    let second = society.create_role_and_hire("user", "programmer").await;
    let org = society.org_chart("ann").await;
    let members: Vec<&str> = org.members.iter().map(|m| m.agent_id.as_str()).collect();
    assert_eq!(members, ["ann", first.as_str()]);
    assert_eq!(society.show_run("user").await.agents, 1);
    // It belongs to no run, so it can reach all agents, and its subordinates can reach it.
    society.send_message("ann", &second, "hi").await.unwrap();
    society.send_message(&first, "ann", "done").await.unwrap();
    assert_eq!(society.unread_texts("ann").await, ["done"]);
    assert_eq!(
        refusal_code(society.send_message(&first, &second, "hi").await),
        RefusalCode::RECIPIENT_NOT_FOUND
    );
    assert_eq!(
        refusal_code(society.hire_agent("stranger", "programmer").await),
        RefusalCode::PERMISSION_DENIED
    );
    assert_eq!(
        refusal_code(society.dismiss_agent("ann", &second).await),
        RefusalCode::NOT_DESCENDANT
    );
    society.dismiss_agent("ann", &first).await.unwrap();
    // A member of a run can neither be retired nor be a supervisor like other agents.
    let retired = op::retire_agent(&society.app.request(&user), &parse_agent_id(&second)).await;
    assert_eq!(refusal_code(retired), RefusalCode::AGENT_IN_USE);
    let below = polis_core::agent::AgentAddParams {
        id: parse_agent_id("bob"),
        supervisor: Some(parse_agent_id(&second)),
        ..lead
    };
    let added = op::add_agent(&society.app.request(&user), &below).await;
    assert_eq!(refusal_code(added), RefusalCode::INVALID_SUPERVISOR);
}

/// Dismissing an agent dismisses all agents below it, discards their mail, releases their tasks and frees
/// their places in the hire limits.
///
/// # Panics
/// If that does not hold.
pub async fn dismissal_removes_whole_subtree(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let sub = society.create_role_and_hire(&boss, "sub-architect").await;
    let worker = society.create_role_and_hire(&sub, "programmer").await;
    let other = society.create_role_and_hire(&boss, "programmer").await;
    society.send_message(&sub, &worker, "begin").await.unwrap();
    society.send_message(&boss, &sub, "well?").await.unwrap();
    let task = TaskCreateParams {
        subject: "write".to_owned(),
        ..TaskCreateParams::default()
    };
    op::create_task(&society.app.request(&parse_agent_id(&boss)), &task)
        .await
        .unwrap();
    let claim = TaskClaimParams::default();
    op::claim_task(&society.app.request(&parse_agent_id(&worker)), &claim)
        .await
        .unwrap();

    let result = society.dismiss_agent(&boss, &sub).await.unwrap();
    assert_eq!(
        result.dismissed,
        [parse_agent_id(&sub), parse_agent_id(&worker)]
    );
    assert_eq!((result.messages, result.tasks), (2, 1));
    let run = society.show_run("one").await;
    assert_eq!((run.agents, run.hired), (2, 4));
    for (name, alive) in [
        (&boss, true),
        (&sub, false),
        (&worker, false),
        (&other, true),
    ] {
        let entry = society
            .app
            .store
            .agent(&parse_agent_id(name))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(entry.agent.status == AgentStatus::Active, alive, "{name}");
        let state = society
            .member_state(&parse_member_key(&format!("one/{name}")))
            .await
            .value;
        assert_eq!(state.status != MemberStatus::Dismissed, alive, "{name}");
        let sent = society.send_message(&boss, name, "?").await;
        if alive {
            drop(sent.unwrap());
        } else {
            assert_eq!(refusal_code(sent), RefusalCode::RECIPIENT_NOT_FOUND);
        }
    }
    let state = society
        .member_state(&parse_member_key(&format!("one/{boss}")))
        .await
        .value;
    assert_eq!(state.children, [parse_agent_id(&other)]);
    let waiting = society
        .app
        .store
        .unread_mailboxes(i64::MAX, None, 100)
        .await
        .unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|box_| box_.recipient.as_str()).collect();
    assert_eq!(waiting, [boss.as_str(), other.as_str(), "root"]);
    op::claim_task(&society.app.request(&parse_agent_id(&other)), &claim)
        .await
        .unwrap();
    assert_eq!(
        refusal_code(society.hire_agent(&worker, "programmer").await),
        RefusalCode::PERMISSION_DENIED
    );
    assert_eq!(
        refusal_code(society.dismiss_agent(&boss, &sub).await),
        RefusalCode::AGENT_NOT_FOUND
    );
    assert!(
        society
            .app
            .store
            .workspace(&parse_agent_id(&boss))
            .await
            .unwrap()
            .is_some()
    );
}

/// An agent can be dismissed only by the person and the agents above it; its conversation can also be read by
/// itself. Conversations of dismissed agents stay readable.
///
/// # Panics
/// If that does not hold.
pub async fn dismissal_and_conversation_are_for_agents_above_only(factory: &dyn StoreFactory) {
    let society = TestSociety::new(factory).await;
    society.start_run("one", None).await;
    society.start_run("two", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let (a, b) = (
        society.create_role_and_hire(&boss, "programmer").await,
        society.create_role_and_hire(&boss, "programmer").await,
    );
    let stranger = society.create_role_and_hire("two/root", "architect").await;
    let read = |agent: &str| ReadConversationParams {
        agent_id: parse_agent_id(agent),
        run_id: None,
        from: None,
        limit: None,
    };
    for actor in [a.as_str(), stranger.as_str(), "two/root"] {
        assert_eq!(
            refusal_code(society.dismiss_agent(actor, &b).await),
            RefusalCode::NOT_DESCENDANT,
            "{actor}"
        );
    }
    assert_eq!(
        refusal_code(society.dismiss_agent(&a, &a).await),
        RefusalCode::NOT_DESCENDANT
    );
    assert_eq!(
        refusal_code(society.dismiss_agent(&a, &boss).await),
        RefusalCode::NOT_DESCENDANT
    );
    for actor in [&a, &stranger] {
        let result =
            op::read_conversation(&society.app.request(&parse_agent_id(actor)), &read(&b)).await;
        assert_eq!(refusal_code(result), RefusalCode::NOT_DESCENDANT);
    }
    for actor in [boss.as_str(), b.as_str(), "user"] {
        let result =
            op::read_conversation(&society.app.request(&parse_agent_id(actor)), &read(&b)).await;
        assert_eq!(result.unwrap().total, 0);
    }
    let other = GetOrgParams {
        run_id: Some(parse_run_id("one")),
        all: false,
    };
    let result = op::get_org(&society.app.request(&parse_agent_id(&stranger)), &other).await;
    assert_eq!(refusal_code(result), RefusalCode::RUN_NOT_FOUND);
    society.dismiss_agent("one/root", &b).await.unwrap();
    society.dismiss_agent("user", &a).await.unwrap();
    // Conversations of dismissed agents stay readable, and their positions stay in the organisation.
    for actor in [boss.as_str(), "user"] {
        let result =
            op::read_conversation(&society.app.request(&parse_agent_id(actor)), &read(&b)).await;
        assert_eq!(result.unwrap().agent_id, parse_agent_id(&b));
    }
    let org = society.org_chart("one").await;
    let positions: Vec<(&str, u32)> = (org.members.iter())
        .map(|m| (m.agent_id.as_str(), m.depth))
        .collect();
    assert_eq!(
        positions,
        [
            ("root", 0),
            (boss.as_str(), 1),
            (a.as_str(), 2),
            (b.as_str(), 2)
        ]
    );
}

/// If an agent hires while it is being dismissed, either the new agent is dismissed too or the hire fails.
///
/// # Panics
/// If an agent remains without a supervisor, or the count is wrong.
pub async fn hire_during_dismissal_leaves_no_orphan(factory: &dyn StoreFactory) {
    let limits = HireLimits {
        per_minute: 1_000,
        ..HireLimits::default()
    };
    let society = TestSociety::with_hire_limits(factory, limits).await;
    society.start_run("one", None).await;
    let boss = society.create_role_and_hire("one/root", "architect").await;
    let second = society.open_second_handle(factory).await;
    for round in 0..6 {
        let lead = society.create_role_and_hire(&boss, "lead").await;
        society
            .create_role(&lead, "programmer", "work")
            .await
            .unwrap();
        let hires = run_concurrently((0..3).map(|_| {
            let (handle, lead) = (second.clone(), lead.clone());
            async move { handle.hire_agent(&lead, "programmer").await }
        }));
        let (hired, dismissal) = tokio::join!(hires, society.dismiss_agent(&boss, &lead));
        let dismissed = dismissal.unwrap().dismissed;
        for hired in hired.into_iter().flatten() {
            assert!(
                dismissed.contains(&hired.id),
                "round {round}: {} remains",
                hired.id
            );
        }
        let run = society.show_run("one").await;
        assert_eq!(run.agents, 1, "round {round}");
        let active = society.agents_of_run(&run.id).await.into_iter();
        let active = active.filter(|agent| agent.status == AgentStatus::Active);
        assert_eq!(active.count(), 1, "round {round}");
    }
}
