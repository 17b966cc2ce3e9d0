//! Suite for runs of the society: starting runs, hiring and dismissing agents, roles and hire limits.

use std::collections::BTreeSet;

use polis_core::society::member::MemberStatus;
use polis_core::society::run::HireLimits;
use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::{AgentId, AgentStatus, Code};
use polis_ops::op::{self, GetOrg, ReadConversation};

use super::scene::{Scene, code, together};
use crate::Ground;
use crate::test_store::{agent, member, run_named};

/// A run's root finds the requirement in its mailbox of that run; a run name is used only once.
///
/// # Panics
/// If that does not hold.
pub async fn a_run_begins_with_its_requirement(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    assert_eq!(scene.heard("one/root").await, ["build one"]);
    assert_eq!(scene.heard("one/root").await, [""; 0]);
    assert_eq!(scene.heard("two/root").await, ["build two"]);
    let again = polis_core::society::start::StartRun {
        requirement: "x".to_owned(),
        task_id: Some(run_named("one")),
        ..Default::default()
    };
    let again = op::start_run(&scene.polis, &AgentId::user(), &again).await;
    assert_eq!(code(again), Code::InvalidInput);
    let org = scene.org("one").await;
    assert_eq!(org.members.len(), 1);
    assert_eq!(org.members[0].objective, "build one");
    let runs = op::list_runs(&scene.polis, &AgentId::user(), &op::ListRuns::default()).await;
    assert_eq!(runs.unwrap().runs.len(), 2);
}

/// With any number of concurrent hires from several processes, no limit is exceeded and no name assigned
/// twice.
///
/// # Panics
/// If that does not hold.
pub async fn hiring_at_once_stays_within_the_limits(ground: &dyn Ground) {
    let limits = HireLimits {
        depth: 2,
        agents: 6,
        a_minute: 100,
    };
    let scene = Scene::with(ground, limits).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    scene.role(&boss, "programmer", "code").await.unwrap();
    let handles = [
        scene.elsewhere(ground).await,
        scene.elsewhere(ground).await,
        scene.elsewhere(ground).await,
    ];
    let came = together((0..12).map(|n| {
        let (handle, boss) = (handles[n % 3].clone(), boss.clone());
        async move { handle.hire(&boss, "programmer").await }
    }))
    .await;
    let (hired, refused): (Vec<_>, Vec<_>) = came.into_iter().partition(Result::is_ok);
    assert_eq!(hired.len(), 5);
    for answer in refused {
        assert_eq!(code(answer), Code::HireLimit);
    }
    let names: BTreeSet<String> = (hired.into_iter())
        .map(|hired| hired.unwrap().id.to_string())
        .collect();
    assert_eq!(names.len(), 5);
    let run = scene.run("one").await;
    assert_eq!((run.agents, run.hired), (6, 6));
    assert_eq!(scene.agents(&run.id).await.len(), 6);
    let deep = names.first().unwrap();
    scene.dismiss(&boss, names.last().unwrap()).await.unwrap();
    assert_eq!(code(scene.hire(deep, "programmer").await), Code::HireLimit);
    assert_eq!(
        scene
            .state(&member(&format!("one/{boss}")))
            .await
            .value
            .children
            .len(),
        4
    );
}

/// # Panics
/// If more agents are hired within a minute than the limit allows, or fewer afterwards.
pub async fn the_rate_of_hiring_is_limited(ground: &dyn Ground) {
    let limits = HireLimits {
        a_minute: 3,
        ..HireLimits::default()
    };
    let scene = Scene::with(ground, limits).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let first = scene.staff(&boss, "programmer").await;
    scene.dismiss(&boss, &first).await.unwrap();
    let second = scene.hire(&boss, "programmer").await.unwrap();
    assert_ne!(second.id.as_str(), first, "names are never given again");
    assert_eq!(code(scene.hire(&boss, "programmer").await), Code::HireLimit);
    scene.clock.advance(60_000);
    scene.hire(&boss, "programmer").await.unwrap();
}

/// Two runs may each have a 程序员 role with a different prompt, and neither sees the other's.
///
/// # Panics
/// If that does not hold.
pub async fn two_runs_have_roles_of_their_own(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    let one = scene.role("one/root", "程序员", "Rust").await.unwrap();
    let two = scene.role("two/root", "程序员", "Python").await.unwrap();
    assert!(!one.existed && !two.existed);
    assert!(
        scene
            .role("one/root", "程序员", "Rust")
            .await
            .unwrap()
            .existed
    );
    let other = scene.role("one/root", "程序员", "Python").await;
    assert_eq!(code(other), Code::RoleExists);
    let find = op::FindRole {
        name: "程序员".to_owned(),
    };
    for (run, prompt) in [("one", "Rust"), ("two", "Python")] {
        let ground = scene.polis.within(run_named(run));
        let found = op::find_role_by_name(&ground, &AgentId::root(), &find).await;
        assert_eq!(found.unwrap().role.unwrap().role_prompt, prompt);
        let hired = scene.hire(&format!("{run}/root"), "程序员").await.unwrap();
        assert_eq!((hired.role.as_str(), hired.run.as_str()), ("程序员", run));
    }
    assert_eq!(
        code(scene.hire("one/root", "nobody").await),
        Code::RoleNotFound
    );
}

/// # Panics
/// If root can hire a second agent, or receives messages for another run's root.
pub async fn root_has_one_child_and_a_mailbox_in_every_run(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    let (a, b) = (
        scene.staff("one/root", "architect").await,
        scene.staff("two/root", "architect").await,
    );
    assert_eq!((a.as_str(), b.as_str()), ("architect-1", "architect-2"));
    let second = scene.hire("one/root", "architect").await.unwrap_err();
    assert_eq!(second.code(), Code::HireLimit);
    assert!(second.to_string().contains(&a), "{second}");
    scene.heard("one/root").await;
    scene.heard("two/root").await;
    scene.send(&a, "root", "from one").await.unwrap();
    assert_eq!(scene.heard("two/root").await, [""; 0]);
    assert_eq!(scene.heard("one/root").await, ["from one"]);
    // Its child has its own workspace; agents hired by that child work there.
    assert!(
        scene
            .polis
            .store
            .workspace(&agent(&a))
            .await
            .unwrap()
            .is_some()
    );
    let below = scene.staff(&a, "programmer").await;
    assert!(
        scene
            .polis
            .store
            .workspace(&agent(&below))
            .await
            .unwrap()
            .is_none()
    );
    scene.dismiss("one/root", &a).await.unwrap();
    let next = scene.hire("one/root", "architect").await.unwrap();
    assert_eq!(next.id.as_str(), "architect-3");
}

/// # Panics
/// If an agent outside of all runs, or the user, cannot hire, or if a stranger can.
pub async fn who_is_outside_hires_for_a_run_of_its_own(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    let lead = polis_core::agent::AgentAdd {
        id: agent("ann"),
        name: None,
        role: "team-lead".to_owned(),
        layer: None,
        supervisor: None,
        workspace_path: None,
    };
    let user = AgentId::user();
    op::add_agent(&scene.polis, &user, &lead).await.unwrap();
    let first = scene.staff("ann", "programmer").await;
    let second = scene.staff("user", "programmer").await;
    let org = scene.org("ann").await;
    let who: Vec<&str> = org.members.iter().map(|m| m.agent_id.as_str()).collect();
    assert_eq!(who, ["ann", first.as_str()]);
    assert_eq!(scene.run("user").await.agents, 1);
    // It belongs to no run, so it can reach all agents, and its subordinates can reach it.
    scene.send("ann", &second, "hi").await.unwrap();
    scene.send(&first, "ann", "done").await.unwrap();
    assert_eq!(scene.heard("ann").await, ["done"]);
    assert_eq!(
        code(scene.send(&first, &second, "hi").await),
        Code::RecipientNotFound
    );
    assert_eq!(
        code(scene.hire("stranger", "programmer").await),
        Code::PermissionDenied
    );
    assert_eq!(
        code(scene.dismiss("ann", &second).await),
        Code::NotDescendant
    );
    scene.dismiss("ann", &first).await.unwrap();
    // A member of a run can neither be retired nor be a supervisor like other agents.
    let retired = op::retire_agent(&scene.polis, &user, &agent(&second)).await;
    assert_eq!(code(retired), Code::AgentInUse);
    let below = polis_core::agent::AgentAdd {
        id: agent("bob"),
        supervisor: Some(agent(&second)),
        ..lead
    };
    let added = op::add_agent(&scene.polis, &user, &below).await;
    assert_eq!(code(added), Code::InvalidSupervisor);
}

/// # Panics
/// If a dismissed agent's subordinates, its mail, its tasks or its slot remain.
pub async fn a_dismissal_takes_the_whole_subtree(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let sub = scene.staff(&boss, "sub-architect").await;
    let worker = scene.staff(&sub, "programmer").await;
    let other = scene.staff(&boss, "programmer").await;
    scene.send(&sub, &worker, "begin").await.unwrap();
    scene.send(&boss, &sub, "well?").await.unwrap();
    let task = TaskCreate {
        subject: "write".to_owned(),
        ..TaskCreate::default()
    };
    op::create_task(&scene.polis, &agent(&boss), &task)
        .await
        .unwrap();
    let claim = TaskClaim::default();
    op::claim_task(&scene.polis, &agent(&worker), &claim)
        .await
        .unwrap();

    let gone = scene.dismiss(&boss, &sub).await.unwrap();
    assert_eq!(gone.dismissed, [agent(&sub), agent(&worker)]);
    assert_eq!((gone.messages, gone.tasks), (2, 1));
    let run = scene.run("one").await;
    assert_eq!((run.agents, run.hired), (2, 4));
    for (name, alive) in [
        (&boss, true),
        (&sub, false),
        (&worker, false),
        (&other, true),
    ] {
        let entry = scene
            .polis
            .store
            .agent(&agent(name))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(entry.agent.status == AgentStatus::Active, alive, "{name}");
        let state = scene.state(&member(&format!("one/{name}"))).await.value;
        assert_eq!(state.status != MemberStatus::Gone, alive, "{name}");
        let sent = scene.send(&boss, name, "?").await;
        match alive {
            true => drop(sent.unwrap()),
            false => assert_eq!(code(sent), Code::RecipientNotFound),
        }
    }
    let state = scene.state(&member(&format!("one/{boss}"))).await.value;
    assert_eq!(state.children, [agent(&other)]);
    let waiting = scene
        .polis
        .store
        .waiting(i64::MAX, None, 100)
        .await
        .unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|box_| box_.recipient.as_str()).collect();
    assert_eq!(waiting, [boss.as_str(), other.as_str(), "root"]);
    op::claim_task(&scene.polis, &agent(&other), &claim)
        .await
        .unwrap();
    assert_eq!(
        code(scene.hire(&worker, "programmer").await),
        Code::PermissionDenied
    );
    assert_eq!(code(scene.dismiss(&boss, &sub).await), Code::AgentNotFound);
    assert!(
        scene
            .polis
            .store
            .workspace(&agent(&boss))
            .await
            .unwrap()
            .is_some()
    );
}

/// # Panics
/// If an agent other than the superiors and the user may dismiss an agent or read its conversation.
pub async fn only_those_above_dismiss_and_look_in(ground: &dyn Ground) {
    let scene = Scene::on(ground).await;
    scene.start("one", None).await;
    scene.start("two", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let (a, b) = (
        scene.staff(&boss, "programmer").await,
        scene.staff(&boss, "programmer").await,
    );
    let stranger = scene.staff("two/root", "architect").await;
    let read = |whom: &str| ReadConversation {
        agent_id: agent(whom),
        task_id: None,
        from: None,
        limit: None,
    };
    for who in [a.as_str(), stranger.as_str(), "two/root"] {
        assert_eq!(
            code(scene.dismiss(who, &b).await),
            Code::NotDescendant,
            "{who}"
        );
    }
    assert_eq!(code(scene.dismiss(&a, &a).await), Code::NotDescendant);
    assert_eq!(code(scene.dismiss(&a, &boss).await), Code::NotDescendant);
    for who in [&a, &stranger] {
        let looked = op::read_conversation(&scene.polis, &agent(who), &read(&b)).await;
        assert_eq!(code(looked), Code::NotDescendant);
    }
    for who in [boss.as_str(), b.as_str(), "user"] {
        let looked = op::read_conversation(&scene.polis, &agent(who), &read(&b)).await;
        assert_eq!(looked.unwrap().total, 0);
    }
    let other = GetOrg {
        task_id: Some(run_named("one")),
        all: false,
    };
    let looked = op::get_org(&scene.polis, &agent(&stranger), &other).await;
    assert_eq!(code(looked), Code::RunNotFound);
    scene.dismiss("one/root", &b).await.unwrap();
    scene.dismiss("user", &a).await.unwrap();
    // Conversations of dismissed agents stay readable, and their positions stay in the organisation.
    for who in [boss.as_str(), "user"] {
        let looked = op::read_conversation(&scene.polis, &agent(who), &read(&b)).await;
        assert_eq!(looked.unwrap().agent_id, agent(&b));
    }
    let org = scene.org("one").await;
    let places: Vec<(&str, u32)> = (org.members.iter())
        .map(|m| (m.agent_id.as_str(), m.depth))
        .collect();
    assert_eq!(
        places,
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
/// If an agent remains without a superior, or the count is wrong.
pub async fn a_hire_and_a_dismissal_of_the_same_subtree_are_one_after_the_other(
    ground: &dyn Ground,
) {
    let limits = HireLimits {
        a_minute: 1_000,
        ..HireLimits::default()
    };
    let scene = Scene::with(ground, limits).await;
    scene.start("one", None).await;
    let boss = scene.staff("one/root", "architect").await;
    let there = scene.elsewhere(ground).await;
    for round in 0..6 {
        let lead = scene.staff(&boss, "lead").await;
        scene.role(&lead, "programmer", "work").await.unwrap();
        let hires = together((0..3).map(|_| {
            let (handle, lead) = (there.clone(), lead.clone());
            async move { handle.hire(&lead, "programmer").await }
        }));
        let (hired, gone) = tokio::join!(hires, scene.dismiss(&boss, &lead));
        let gone = gone.unwrap().dismissed;
        for hired in hired.into_iter().flatten() {
            assert!(
                gone.contains(&hired.id),
                "round {round}: {} is left",
                hired.id
            );
        }
        let run = scene.run("one").await;
        assert_eq!(run.agents, 1, "round {round}");
        let active = scene.agents(&run.id).await.into_iter();
        let active = active.filter(|agent| agent.status == AgentStatus::Active);
        assert_eq!(active.count(), 1, "round {round}");
    }
}
