//! Tests of several workers on one store: they share the runs, and the runs of a worker that dies are taken over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::AgentId;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus, record_name};
use polis_core::society::turn::CallEnd;
use polis_ops::port::MailboxQuery;
use polis_ops::{Settings, op};
use polis_society::lease::holder;
use polis_society::model::Model;
use polis_society::{Society, SocietySettings};
use polis_testkit::Ground;
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::sandbox::SandboxTerminal;
use serde_json::json;

use crate::faulty::{Fate, Faulty};
use crate::ground::on_every_store;
use crate::stage::{
    Asked, Say, Script, begin, begin_with, call, mail, polis, polis_with, results, society, state,
    tell, until,
};

on_every_store! {
    two_workers_share_out_the_runs
    the_runs_of_a_dead_worker_move_to_another
    delayed_messages_come_when_they_are_due
    a_society_that_is_stopped_goes_on_where_it_was
    finished_run_is_marked_done_on_a_busy_store
    dismissal_of_the_member_that_asked_finishes_the_run
    slow_checks_of_rested_runs_cost_no_lease
}

async fn start(polis: &polis_ops::Polis, model: &Arc<Script>, name: &str, lease: u64) -> Society {
    let settings = SocietySettings {
        lease: Duration::from_millis(lease),
        ..SocietySettings::of(name)
    };
    let model = Arc::clone(model) as Arc<dyn Model>;
    Society::start(polis.clone(), model, settings)
        .await
        .unwrap()
}

fn busy(asked: &Asked) -> Say {
    match asked.number {
        0..8 => call(
            "send_message",
            json!({"to": "user", "payload": format!("{} {}", asked.run, asked.number)}),
        ),
        _ => Say::Done("done"),
    }
}

async fn two_workers_share_out_the_runs(ground: &impl Ground) {
    // More than enough: the first worker to try gets a run, and the operating system's scheduling decides which one
    // that is.
    const MOST: usize = 200;
    let polis = polis(ground.open().await.unwrap());
    let models = [Script::of(busy), Script::of(busy)];
    let other = crate::stage::polis(ground.open().await.unwrap());
    let (one, two) = tokio::join!(
        start(&polis, &models[0], "w1", 15_000),
        start(&other, &models[1], "w2", 15_000)
    );
    let mut runs = 0;
    while runs < 8 || (runs < MOST && models.iter().any(|model| model.count() == 0)) {
        begin(&polis, &format!("r{runs}"), "go").await;
        runs += 1;
    }
    one.settled().await;
    two.settled().await;
    one.stop(Duration::from_secs(5)).await;
    two.stop(Duration::from_secs(5)).await;
    let counts = [models[0].count(), models[1].count()];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    // Each step was done by exactly one of them.
    assert_eq!(counts.iter().sum::<usize>(), runs * 9, "{counts:?}");
    assert_eq!(mail(&polis, "user").await.len(), runs * 8);
    for n in 0..runs {
        assert_eq!(
            state(&polis, &format!("r{n}/root")).await.status,
            MemberStatus::Idle
        );
    }
}

async fn the_runs_of_a_dead_worker_move_to_another(ground: &impl Ground) {
    const LEASE: u64 = 5_000;
    let store = ground.open().await.unwrap();
    let polis = polis(Arc::clone(&store));
    begin(&polis, "r1", "go").await;
    // The first worker's model never responds, and then its process ends.
    let silent = Script::held("root", busy);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let first = {
        let (polis, silent) = (crate::stage::polis(store), Arc::clone(&silent));
        runtime.spawn(async move { start(&polis, &silent, "w1", LEASE).await })
    };
    let first = first.await.unwrap();
    until("it thinks", || async { silent.count() == 1 }).await;
    let model = Script::of(busy);
    let second = start(&polis, &model, "w2", LEASE).await;
    // While the first worker is alive it keeps the run, also beyond the original deadline.
    let run = "r1".parse().unwrap();
    tell(&polis, &run, "root", "still there?").await;
    let lease = async || holder(&polis, &run).await.unwrap().unwrap();
    let begun = lease().await;
    until("the lease is moved on", || async {
        lease().await.until >= begun.until.saturating_add_unsigned(LEASE)
    })
    .await;
    assert_eq!(lease().await.worker, begun.worker);
    assert_eq!(model.count(), 0);
    std::mem::forget(first);
    runtime.shutdown_background();
    let died = Instant::now();
    until("another goes on", || async { model.count() > 0 }).await;
    assert!(
        died.elapsed() < Duration::from_secs(30),
        "{:?}",
        died.elapsed()
    );
    second.settled().await;
    second.stop(Duration::from_secs(5)).await;
    assert_eq!(mail(&polis, "user").await.len(), 8);
    let root = state(&polis, "r1/root").await;
    assert_eq!(root.heard, 2);
    assert!(root.worker.unwrap().starts_with("w2"));
}

async fn delayed_messages_come_when_they_are_due(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::of(|asked| match asked.heard {
        1 if asked.agent == "root" && asked.results() == 0 => Say::Calls(vec![
            (
                "create_role",
                json!({"name": "worker", "rolePrompt": "You work."}),
            ),
            (
                "spawn_agent",
                json!({"role": "worker", "name": "ann", "taskBrief": "Work"}),
            ),
            (
                "send_message",
                json!({"to": "ann", "payload": "later", "delayMs": 400}),
            ),
        ]),
        _ => Say::Done("done"),
    });
    let begun = Instant::now();
    let society = society(&polis, &model).await;
    society.settled().await;
    assert!(begun.elapsed() >= Duration::from_millis(400));
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(model.of_agent("ann").len(), 1);
    assert_eq!(state(&polis, "r1/ann").await.heard, 1);
}

async fn a_society_that_is_stopped_goes_on_where_it_was(ground: &impl Ground) {
    let polis = polis(ground.open().await.unwrap());
    begin(&polis, "r1", "go").await;
    let model = Script::held("root", busy);
    for _ in 0..9 {
        let society = society(&polis, &model).await;
        let before = state(&polis, "r1/root").await.answers;
        model.let_answer(1);
        until("it has answered", || async {
            state(&polis, "r1/root").await.answers > before
        })
        .await;
        society.stop(Duration::from_secs(5)).await;
    }
    assert_eq!(mail(&polis, "user").await.len(), 8);
    assert_eq!(state(&polis, "r1/root").await.status, MemberStatus::Idle);
    let query = MailboxQuery {
        recipient: "root".parse().unwrap(),
        run: None,
        unread: true,
        now: i64::MAX,
        after: 0,
        limit: 10,
    };
    assert!(polis.store.mailbox(&query).await.unwrap().is_empty());
}

async fn run_status(polis: &polis_ops::Polis, run: &str) -> RunStatus {
    let id = run.parse().unwrap();
    let stored = polis.store.record(&record_name(&id)).await.unwrap();
    let run: Run = serde_json::from_str(&stored.unwrap().body).unwrap();
    run.status
}

async fn finished_run_is_marked_done_on_a_busy_store(ground: &impl Ground) {
    let store = Faulty::new(ground.open().await.unwrap(), usize::MAX, Fate::Busy);
    let polis = polis(store);
    begin(&polis, "r1", "go").await;
    let model = Script::of(|_| Say::Done("done"));
    let society = start(&polis, &model, "w1", 600).await;
    until("the run is done", || async {
        run_status(&polis, "r1").await == RunStatus::Done
    })
    .await;
    society.stop(Duration::from_secs(5)).await;
}

/// Several runs become idle at the same time, and checking each takes a quarter of a lease. Meanwhile a member of
/// another run waits for its model.
async fn slow_checks_of_rested_runs_cost_no_lease(ground: &impl Ground) {
    const LEASE: u64 = 3_000;
    const RESTED: usize = 6;
    let store = Faulty::new(
        ground.open().await.unwrap(),
        usize::MAX,
        Fate::SlowQuestions,
    );
    let polis = polis(store);
    let model = Script::held("ann", |asked| {
        match (asked.run.as_str(), asked.agent.as_str(), asked.number) {
            ("busy", "root", 0) => Say::Calls(vec![
                (
                    "create_role",
                    json!({"name": "worker", "rolePrompt": "You work."}),
                ),
                (
                    "spawn_agent",
                    json!({"role": "worker", "name": "ann", "taskBrief": "Work"}),
                ),
                ("send_message", json!({"to": "ann", "payload": "begin"})),
            ]),
            _ => Say::Done("done"),
        }
    });
    let society = start(&polis, &model, "w1", LEASE).await;
    begin(&polis, "busy", "go").await;
    until("ann thinks", || async { model.of_agent("ann").len() == 1 }).await;
    for n in 0..RESTED {
        begin(&polis, &format!("r{n}"), "go").await;
    }
    let busy = "busy".parse().unwrap();
    until("all others are done", || async {
        let lease = holder(&polis, &busy).await.unwrap();
        assert!(lease.is_some(), "the lease of the busy run has ended");
        for n in 0..RESTED {
            if run_status(&polis, &format!("r{n}")).await != RunStatus::Done {
                return false;
            }
        }
        true
    })
    .await;
    assert_eq!(model.of_agent("ann").len(), 1, "it was halted");
    society.stop(Duration::from_secs(5)).await;
}

async fn dismissal_of_the_member_that_asked_finishes_the_run(ground: &impl Ground) {
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
        ("ann", 0) => call("send_message", json!({"to": "user", "payload": "Which?"})),
        _ => Say::Done("done"),
    });
    let society = start(&polis, &model, "w1", 600).await;
    let run = "r1".parse().unwrap();
    until("it asks", || async {
        !mail(&polis, "user").await.is_empty()
    })
    .await;
    until("the run rests", || async {
        let held = holder(&polis, &run).await.unwrap();
        held.is_none_or(|held| held.until <= polis.clock.now_millis())
    })
    .await;
    assert_eq!(run_status(&polis, "r1").await, RunStatus::Active);
    let gone = serde_json::from_value(json!({"agentId": "ann"})).unwrap();
    op::terminate_agent(&polis, &AgentId::user(), &gone)
        .await
        .unwrap();
    until("the run is done", || async {
        run_status(&polis, "r1").await == RunStatus::Done
    })
    .await;
    society.stop(Duration::from_secs(5)).await;
}

/// Many members and a small limit in memory: each gets its turn, and none is lost.
#[test]
fn more_members_than_there_is_room_for_all_get_their_turn() {
    const MEMBERS: usize = 60;
    polis_testkit::run(async {
        let ground = crate::ground::embedded().await;
        let mut limits = Settings::default();
        limits.society.hire.agents = 100;
        limits.society.hire.a_minute = 1_000;
        let polis = polis_with(ground.open().await.unwrap(), limits);
        begin(&polis, "r1", "go").await;
        let model = Script::of(|asked| match (asked.agent.as_str(), asked.number) {
            ("root", 0) => Say::Calls(vec![
                (
                    "create_role",
                    json!({"name": "lead", "rolePrompt": "You lead."}),
                ),
                (
                    "spawn_agent",
                    json!({"role": "lead", "name": "lead", "taskBrief": "Lead"}),
                ),
                ("send_message", json!({"to": "lead", "payload": "Go."})),
            ]),
            ("lead", 0) => {
                let mut calls = vec![(
                    "create_role",
                    json!({"name": "worker", "rolePrompt": "You work."}),
                )];
                let hire =
                    |n| json!({"role": "worker", "name": format!("w{n}"), "taskBrief": "Work"});
                calls.extend((0..MEMBERS).map(|n| ("spawn_agent", hire(n))));
                calls.push((
                    "send_message",
                    json!({"to": "role:worker", "payload": "Go."}),
                ));
                Say::Calls(calls)
            }
            ("root" | "lead", _) => Say::Done("done"),
            (_, 0..10) => call(
                "put_artifact",
                json!({"type": "text", "content": format!("{} {}", asked.agent, asked.number)}),
            ),
            (_, 10) => call(
                "send_message",
                json!({"to": "user", "payload": asked.agent}),
            ),
            _ => Say::Done("done"),
        });
        let settings = SocietySettings {
            in_memory: 4,
            ..crate::stage::settings("w1")
        };
        let society = Society::start(
            polis.clone(),
            Arc::clone(&model) as Arc<dyn Model>,
            settings,
        );
        let society = society.await.unwrap();
        society.settled().await;
        society.stop(Duration::from_secs(5)).await;
        let told =
            crate::stage::counted(mail(&polis, "user").await.into_iter().map(|(from, _)| from));
        assert_eq!(told.len(), MEMBERS);
        assert!(told.values().all(|times| *times == 1), "{told:?}");
        // No model request was wasted.
        assert_eq!(model.count(), 2 + 2 + MEMBERS * 12);
    });
}

/// A database server that is killed and restarted repeatedly while a society works.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn a_database_that_is_started_again_loses_nothing() {
    polis_testkit::run(async {
        let setting = |name: &str| {
            #[expect(
                clippy::disallowed_methods,
                reason = "tests are told where their servers are"
            )]
            std::env::var(name).expect(name)
        };
        let restart = setting("POLIS_TEST_PG_RESTART");
        let url =
            polis_testkit::postgres::fresh_schema_at(&setting("POLIS_TEST_PG_FAULT_URL")).await;
        let store = polis_store::PostgresStore::connect(&url, Duration::from_secs(60)).await;
        let polis = polis(Arc::new(store.unwrap()));
        begin(&polis, "r1", "go").await;
        begin(&polis, "r2", "go").await;
        let model = Script::held("root", |asked| match asked.number {
            0..40 => call(
                "send_message",
                json!({"to": "user", "payload": format!("{} {}", asked.run, asked.number)}),
            ),
            _ => Say::Done("done"),
        });
        let society = society(&polis, &model).await;
        for _ in 0..3 {
            model.let_answer(15);
            let before = model.count();
            until("it works", || async { model.count() >= before + 5 }).await;
            let restart = restart.clone();
            let killed = tokio::task::spawn_blocking(move || {
                std::process::Command::new("sh")
                    .args(["-c", &restart])
                    .status()
            });
            assert!(killed.await.unwrap().unwrap().success());
        }
        model.let_answer(10_000);
        society.settled().await;
        society.stop(Duration::from_secs(5)).await;
        let said = crate::stage::counted(
            mail(&polis, "user")
                .await
                .into_iter()
                .map(|(_, said)| said.to_string()),
        );
        assert_eq!(said.len(), 80);
        assert!(said.values().all(|times| *times == 1), "{said:?}");
        for run in ["r1/root", "r2/root"] {
            assert_eq!(state(&polis, run).await.status, MemberStatus::Idle);
        }
    });
}

/// A real command in a real workspace is killed with the society, and reported as interrupted at the next start.
#[test]
fn a_command_is_ended_with_the_society_and_told_as_interrupted() {
    polis_testkit::run(async {
        let ground = crate::ground::embedded().await;
        let data = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let store = ground.open().await.unwrap();
        let polis = polis_with(store, Settings::default()).with_workspaces(
            Arc::new(WorkspaceFiles::new(data.path())),
            Arc::new(SandboxTerminal::new(data.path())),
        );
        let directory = work.path().to_str().unwrap().to_owned();
        begin_with(&polis, "r1", "go", |params| {
            params.workspace_path = Some(directory);
        })
        .await;
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
            ("ann", 0) => call(
                "write_file",
                json!({"path": "notes.txt", "content": "before\n"}),
            ),
            ("ann", 1) => call(
                "run_command",
                json!({"command": "echo begun >> notes.txt; sleep 50; echo over >> notes.txt"}),
            ),
            ("ann", 2) => call("read_file", json!({"path": "notes.txt"})),
            _ => Say::Done("done"),
        });
        let first = society(&polis, &model).await;
        let notes = work.path().join("notes.txt");
        until("the command runs", || async {
            std::fs::read_to_string(&notes).is_ok_and(|text| text.contains("begun"))
        })
        .await;
        let begun = Instant::now();
        // The command would take 50 seconds.
        first.stop(Duration::from_secs(30)).await;
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(state(&polis, "r1/ann").await.doing.is_some());
        crate::stage::play(&polis, &model).await;
        let results = results(&polis, "r1/ann").await;
        assert_eq!(results[1].0, CallEnd::Interrupted);
        assert!(
            results[1].1.starts_with("call_interrupted"),
            "{}",
            results[1].1
        );
        // Started once, and never completed.
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), "before\nbegun\n");
        assert!(results[2].1.contains("begun"));
    });
}
