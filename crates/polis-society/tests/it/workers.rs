//! Tests of several workers on one store: workers divide the runs between them, and another worker takes over
//! the lease of a dead one. Also restarts, delayed messages and slow stores.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::AgentId;
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus, run_record_name};
use polis_core::society::turn::CallOutcome;
use polis_ops::port::MailboxQuery;
use polis_ops::{InstallationSettings, op};
use polis_society::model::LanguageModel;
use polis_society::run_lease::current_holder;
use polis_society::{Society, WorkerSettings};
use polis_testkit::StoreFactory;
use polis_workspace::files::WorkspaceFiles;
use polis_workspace::sandbox::SandboxTerminal;
use serde_json::json;

use crate::faulty_store::{FaultyStore, InjectedFault};
use crate::store_factories::on_every_store;
use crate::test_society::{
    FunctionModel, RecordedRequest, ScriptedResponse, app_with_settings, call_results,
    mailbox_messages, member_state, respond_with_call, send_user_message, start_run,
    start_run_with, start_society, test_app, wait_until,
};

on_every_store! {
    runs_are_divided_between_two_workers
    runs_of_dead_worker_are_taken_over
    delayed_message_is_delivered_when_due
    stopped_society_resumes_where_it_stopped
    finished_run_is_marked_done_on_a_busy_store
    dismissal_of_member_with_open_question_finishes_the_run
    slow_checks_of_idle_runs_do_not_lose_leases
}

async fn start_worker(
    app: &polis_ops::App,
    model: &Arc<FunctionModel>,
    name: &str,
    lease: u64,
) -> Society {
    let settings = WorkerSettings {
        lease_duration: Duration::from_millis(lease),
        ..WorkerSettings::for_worker(name)
    };
    let model = Arc::clone(model) as Arc<dyn LanguageModel>;
    Society::start(app.clone(), model, settings).await.unwrap()
}

fn respond_with_eight_messages(asked: &RecordedRequest) -> ScriptedResponse {
    match asked.response_index {
        0..8 => respond_with_call(
            "send_message",
            json!({"to": "user", "payload": format!("{} {}", asked.run, asked.response_index)}),
        ),
        _ => ScriptedResponse::Text("done"),
    }
}

async fn runs_are_divided_between_two_workers(ground: &impl StoreFactory) {
    // More than enough: the first worker to try gets a run, and the operating system's scheduling decides
    // which worker that is.
    const MAX_RUNS: usize = 200;
    let app = test_app(ground.open().await.unwrap());
    let models = [
        FunctionModel::new(respond_with_eight_messages),
        FunctionModel::new(respond_with_eight_messages),
    ];
    let other = test_app(ground.open().await.unwrap());
    let (one, two) = tokio::join!(
        start_worker(&app, &models[0], "w1", 15_000),
        start_worker(&other, &models[1], "w2", 15_000)
    );
    let mut runs = 0;
    while runs < 8 || (runs < MAX_RUNS && models.iter().any(|model| model.request_count() == 0)) {
        start_run(&app, &format!("r{runs}"), "go").await;
        runs += 1;
    }
    one.wait_until_settled().await;
    two.wait_until_settled().await;
    one.stop(Duration::from_secs(5)).await;
    two.stop(Duration::from_secs(5)).await;
    let counts = [models[0].request_count(), models[1].request_count()];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    // Each step was done by exactly one of them.
    assert_eq!(counts.iter().sum::<usize>(), runs * 9, "{counts:?}");
    assert_eq!(mailbox_messages(&app, "user").await.len(), runs * 8);
    for n in 0..runs {
        assert_eq!(
            member_state(&app, &format!("r{n}/root")).await.status,
            MemberStatus::Idle
        );
    }
}

async fn runs_of_dead_worker_are_taken_over(ground: &impl StoreFactory) {
    const LEASE_MS: u64 = 5_000;
    let store = ground.open().await.unwrap();
    let app = test_app(Arc::clone(&store));
    start_run(&app, "r1", "go").await;
    // The first worker's model never responds, and then its process ends.
    let silent = FunctionModel::holding_back("root", respond_with_eight_messages);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let first = {
        let (app, silent) = (test_app(store), Arc::clone(&silent));
        runtime.spawn(async move { start_worker(&app, &silent, "w1", LEASE_MS).await })
    };
    let first = first.await.unwrap();
    wait_until("root requests the model", || async {
        silent.request_count() == 1
    })
    .await;
    let model = FunctionModel::new(respond_with_eight_messages);
    let second = start_worker(&app, &model, "w2", LEASE_MS).await;
    // While the first worker is alive it renews the lease, so it keeps the run beyond the original deadline.
    let run = "r1".parse().unwrap();
    send_user_message(&app, &run, "root", "still there?").await;
    let lease = async || current_holder(&app, &run).await.unwrap().unwrap();
    let begun = lease().await;
    wait_until("the lease is renewed", || async {
        lease().await.until >= begun.until.saturating_add_unsigned(LEASE_MS)
    })
    .await;
    assert_eq!(lease().await.worker, begun.worker);
    assert_eq!(model.request_count(), 0);
    std::mem::forget(first);
    runtime.shutdown_background();
    let died = Instant::now();
    wait_until("the second worker continues", || async {
        model.request_count() > 0
    })
    .await;
    assert!(
        died.elapsed() < Duration::from_secs(30),
        "{:?}",
        died.elapsed()
    );
    second.wait_until_settled().await;
    second.stop(Duration::from_secs(5)).await;
    assert_eq!(mailbox_messages(&app, "user").await.len(), 8);
    let root = member_state(&app, "r1/root").await;
    assert_eq!(root.received_messages, 2);
    assert!(root.worker.unwrap().starts_with("w2"));
}

async fn delayed_message_is_delivered_when_due(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|asked| match asked.received_message_count {
        1 if asked.agent == "root" && asked.tool_result_count() == 0 => {
            ScriptedResponse::ToolCalls(vec![
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
            ])
        }
        _ => ScriptedResponse::Text("done"),
    });
    let begun = Instant::now();
    let society = start_society(&app, &model).await;
    society.wait_until_settled().await;
    assert!(begun.elapsed() >= Duration::from_millis(400));
    society.stop(Duration::from_secs(5)).await;
    assert_eq!(model.requests_of("ann").len(), 1);
    assert_eq!(member_state(&app, "r1/ann").await.received_messages, 1);
}

async fn stopped_society_resumes_where_it_stopped(ground: &impl StoreFactory) {
    let app = test_app(ground.open().await.unwrap());
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::holding_back("root", respond_with_eight_messages);
    for _ in 0..9 {
        let society = start_society(&app, &model).await;
        let before = member_state(&app, "r1/root").await.response_count;
        model.release_responses(1);
        wait_until("root has a response", || async {
            member_state(&app, "r1/root").await.response_count > before
        })
        .await;
        society.stop(Duration::from_secs(5)).await;
    }
    assert_eq!(mailbox_messages(&app, "user").await.len(), 8);
    assert_eq!(
        member_state(&app, "r1/root").await.status,
        MemberStatus::Idle
    );
    let query = MailboxQuery {
        recipient: "root".parse().unwrap(),
        run: None,
        unread: true,
        now: i64::MAX,
        after: 0,
        limit: 10,
    };
    assert!(app.store.mailbox(&query).await.unwrap().is_empty());
}

async fn run_status(app: &polis_ops::App, run: &str) -> RunStatus {
    let id = run.parse().unwrap();
    let stored = app.store.record(&run_record_name(&id)).await.unwrap();
    let run: Run = serde_json::from_str(&stored.unwrap().body).unwrap();
    run.status
}

async fn finished_run_is_marked_done_on_a_busy_store(ground: &impl StoreFactory) {
    let store = FaultyStore::new(
        ground.open().await.unwrap(),
        usize::MAX,
        InjectedFault::BusyLog,
    );
    let app = test_app(store);
    start_run(&app, "r1", "go").await;
    let model = FunctionModel::new(|_| ScriptedResponse::Text("done"));
    let society = start_worker(&app, &model, "w1", 600).await;
    wait_until("the run is done", || async {
        run_status(&app, "r1").await == RunStatus::Done
    })
    .await;
    society.stop(Duration::from_secs(5)).await;
}

/// Several runs become idle at the same time, and checking each takes a quarter of a lease. At the same time
/// a member of another run waits for its model.
async fn slow_checks_of_idle_runs_do_not_lose_leases(ground: &impl StoreFactory) {
    const LEASE_MS: u64 = 3_000;
    const IDLE_RUNS: usize = 6;
    let store = FaultyStore::new(
        ground.open().await.unwrap(),
        usize::MAX,
        InjectedFault::SlowUserMailbox,
    );
    let app = test_app(store);
    let model = FunctionModel::holding_back("ann", |asked| {
        match (
            asked.run.as_str(),
            asked.agent.as_str(),
            asked.response_index,
        ) {
            ("busy", "root", 0) => ScriptedResponse::ToolCalls(vec![
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
            _ => ScriptedResponse::Text("done"),
        }
    });
    let society = start_worker(&app, &model, "w1", LEASE_MS).await;
    start_run(&app, "busy", "go").await;
    wait_until("ann requests the model", || async {
        model.requests_of("ann").len() == 1
    })
    .await;
    for n in 0..IDLE_RUNS {
        start_run(&app, &format!("r{n}"), "go").await;
    }
    let busy = "busy".parse().unwrap();
    wait_until("all other runs are done", || async {
        let lease = current_holder(&app, &busy).await.unwrap();
        assert!(lease.is_some(), "the lease of the busy run has ended");
        for n in 0..IDLE_RUNS {
            if run_status(&app, &format!("r{n}")).await != RunStatus::Done {
                return false;
            }
        }
        true
    })
    .await;
    assert_eq!(model.requests_of("ann").len(), 1, "ann was requested again");
    society.stop(Duration::from_secs(5)).await;
}

async fn dismissal_of_member_with_open_question_finishes_the_run(ground: &impl StoreFactory) {
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
        ("ann", 0) => respond_with_call("send_message", json!({"to": "user", "payload": "Which?"})),
        _ => ScriptedResponse::Text("done"),
    });
    let society = start_worker(&app, &model, "w1", 600).await;
    let run = "r1".parse().unwrap();
    wait_until("ann asks the user", || async {
        !mailbox_messages(&app, "user").await.is_empty()
    })
    .await;
    wait_until("the run is idle", || async {
        let held = current_holder(&app, &run).await.unwrap();
        held.is_none_or(|held| held.until <= app.clock.now_millis())
    })
    .await;
    assert_eq!(run_status(&app, "r1").await, RunStatus::Active);
    let gone = serde_json::from_value(json!({"agentId": "ann"})).unwrap();
    op::terminate_agent(&app.request(&AgentId::user()), &gone)
        .await
        .unwrap();
    wait_until("the run is done", || async {
        run_status(&app, "r1").await == RunStatus::Done
    })
    .await;
    society.stop(Duration::from_secs(5)).await;
}

/// Many members and a small limit in memory: each gets its turn, and none is lost.
#[test]
fn members_beyond_memory_limit_all_get_turns() {
    const MEMBERS: usize = 60;
    polis_testkit::run_test(async {
        let ground = crate::store_factories::embedded_factory().await;
        let mut limits = InstallationSettings::default();
        limits.society.hire_limits.agents = 100;
        limits.society.hire_limits.per_minute = 1_000;
        let app = app_with_settings(ground.open().await.unwrap(), limits);
        start_run(&app, "r1", "go").await;
        let model = FunctionModel::new(|asked| {
            match (asked.agent.as_str(), asked.response_index) {
                ("root", 0) => ScriptedResponse::ToolCalls(vec![
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
                    ScriptedResponse::ToolCalls(calls)
                }
                ("root" | "lead", _) => ScriptedResponse::Text("done"),
                (_, 0..10) => respond_with_call(
                    "put_artifact",
                    json!({"type": "text", "content": format!("{} {}", asked.agent, asked.response_index)}),
                ),
                (_, 10) => respond_with_call(
                    "send_message",
                    json!({"to": "user", "payload": asked.agent}),
                ),
                _ => ScriptedResponse::Text("done"),
            }
        });
        let settings = WorkerSettings {
            max_members_in_memory: 4,
            ..crate::test_society::worker_settings("w1")
        };
        let society = Society::start(
            app.clone(),
            Arc::clone(&model) as Arc<dyn LanguageModel>,
            settings,
        );
        let society = society.await.unwrap();
        society.wait_until_settled().await;
        society.stop(Duration::from_secs(5)).await;
        let told = crate::test_society::count_occurrences(
            mailbox_messages(&app, "user")
                .await
                .into_iter()
                .map(|(from, _)| from),
        );
        assert_eq!(told.len(), MEMBERS);
        assert!(told.values().all(|times| *times == 1), "{told:?}");
        // No model request was wasted.
        assert_eq!(model.request_count(), 2 + 2 + MEMBERS * 12);
    });
}

/// A database server that is killed and restarted repeatedly while a society works.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn database_restart_loses_nothing() {
    polis_testkit::run_test(async {
        let setting = |name: &str| {
            #[expect(
                clippy::disallowed_methods,
                reason = "the address of the test server is in the environment"
            )]
            std::env::var(name).expect(name)
        };
        let restart = setting("POLIS_TEST_PG_RESTART");
        let url =
            polis_testkit::postgres::create_test_schema_at(&setting("POLIS_TEST_PG_FAULT_URL"))
                .await;
        let store = polis_store::PostgresStore::connect(&url, Duration::from_secs(60)).await;
        let app = test_app(Arc::new(store.unwrap()));
        start_run(&app, "r1", "go").await;
        start_run(&app, "r2", "go").await;
        let model = FunctionModel::holding_back("root", |asked| match asked.response_index {
            0..40 => respond_with_call(
                "send_message",
                json!({"to": "user", "payload": format!("{} {}", asked.run, asked.response_index)}),
            ),
            _ => ScriptedResponse::Text("done"),
        });
        let society = start_society(&app, &model).await;
        for _ in 0..3 {
            model.release_responses(15);
            let before = model.request_count();
            wait_until("the society works", || async {
                model.request_count() >= before + 5
            })
            .await;
            let restart = restart.clone();
            let killed = tokio::task::spawn_blocking(move || {
                std::process::Command::new("sh")
                    .args(["-c", &restart])
                    .status()
            });
            assert!(killed.await.unwrap().unwrap().success());
        }
        model.release_responses(10_000);
        society.wait_until_settled().await;
        society.stop(Duration::from_secs(5)).await;
        let said = crate::test_society::count_occurrences(
            mailbox_messages(&app, "user")
                .await
                .into_iter()
                .map(|(_, said)| said.to_string()),
        );
        assert_eq!(said.len(), 80);
        assert!(said.values().all(|times| *times == 1), "{said:?}");
        for run in ["r1/root", "r2/root"] {
            assert_eq!(member_state(&app, run).await.status, MemberStatus::Idle);
        }
    });
}

/// A real command in a real workspace is killed when the society stops, and reported as interrupted at the
/// next start.
#[test]
fn running_command_is_killed_on_stop_and_reported_as_interrupted() {
    polis_testkit::run_test(async {
        let ground = crate::store_factories::embedded_factory().await;
        let data = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let store = ground.open().await.unwrap();
        let app = app_with_settings(store, InstallationSettings::default()).with_workspaces(
            Arc::new(WorkspaceFiles::new(data.path())),
            Arc::new(SandboxTerminal::new(data.path())),
        );
        let directory = work.path().to_str().unwrap().to_owned();
        start_run_with(&app, "r1", "go", |params| {
            params.workspace_path = Some(directory);
        })
        .await;
        let model =
            FunctionModel::new(|asked| match (asked.agent.as_str(), asked.response_index) {
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
                ("ann", 0) => respond_with_call(
                    "write_file",
                    json!({"path": "notes.txt", "content": "before\n"}),
                ),
                ("ann", 1) => respond_with_call(
                    "run_command",
                    json!({"command": "echo begun >> notes.txt; sleep 50; echo over >> notes.txt"}),
                ),
                ("ann", 2) => respond_with_call("read_file", json!({"path": "notes.txt"})),
                _ => ScriptedResponse::Text("done"),
            });
        let first = start_society(&app, &model).await;
        let notes = work.path().join("notes.txt");
        wait_until("the command runs", || async {
            std::fs::read_to_string(&notes).is_ok_and(|text| text.contains("begun"))
        })
        .await;
        let begun = Instant::now();
        // The command would take 50 seconds.
        first.stop(Duration::from_secs(30)).await;
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(member_state(&app, "r1/ann").await.running_call_id.is_some());
        crate::test_society::run_until_settled(&app, &model).await;
        let results = call_results(&app, "r1/ann").await;
        assert_eq!(results[1].0, CallOutcome::Interrupted);
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
