//! Crash tests: the process dies, or the store fails, at every commit of a small society, on every store.
//! Nothing is lost, nothing is done twice, and no conversation is inconsistent.

use std::sync::Arc;
use std::time::Duration;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ConversationEntry};
use polis_ops::port::{MailboxQuery, Store, TaskQuery};
use polis_ops::{App, InstallationSettings};
use polis_society::Society;
use polis_testkit::{MemoryWorkspaces, StoreFactory};
use serde_json::{Value, json};

use crate::faulty_store::{FaultyStore, InjectedFault};
use crate::test_society::{
    FunctionModel, RecordedRequest, ScriptedResponse, app_with_workspaces, conversation_entries,
    count_occurrences, mailbox_messages, member_state, respond_with_call, start_run,
    worker_settings,
};

const MEMBERS: [&str; 4] = ["r1/root", "r1/lead", "r1/ada", "r1/bob"];

/// Script of the society: root hires a lead, which hires two agents. Each creates a task, runs a command,
/// writes a file and reports; the lead reports to the person.
fn respond(asked: &RecordedRequest) -> ScriptedResponse {
    let me = asked.agent.as_str();
    let told = |who: &str| json!({"to": "lead", "payload": format!("{who} is done")});
    match (me, asked.response_index) {
        ("root", 0) => ScriptedResponse::ToolCalls(vec![
            (
                "create_role",
                json!({"name": "lead", "rolePrompt": "You lead."}),
            ),
            (
                "spawn_agent",
                json!({"role": "lead", "name": "lead", "taskBrief": "Lead"}),
            ),
            ("send_message", json!({"to": "lead", "payload": "Begin."})),
        ]),
        ("lead", 0) => respond_with_call(
            "create_role",
            json!({"name": "worker", "rolePrompt": "You work."}),
        ),
        ("lead", 1) => ScriptedResponse::ToolCalls(vec![
            (
                "spawn_agent",
                json!({"role": "worker", "name": "ada", "taskBrief": "Work"}),
            ),
            (
                "spawn_agent",
                json!({"role": "worker", "name": "bob", "taskBrief": "Work"}),
            ),
            (
                "send_message",
                json!({"to": ["ada", "bob"], "payload": "Go."}),
            ),
        ]),
        ("ada" | "bob", 0) => ScriptedResponse::ToolCalls(vec![
            ("TaskCreate", json!({"subject": format!("work of {me}")})),
            ("run_command", json!({"command": format!("make {me}")})),
        ]),
        ("ada" | "bob", 1) => respond_with_call(
            "write_file",
            json!({"path": format!("{me}.txt"), "content": "done"}),
        ),
        ("ada" | "bob", 2) => respond_with_call("send_message", told(me)),
        ("lead", _) if asked.received_message_count >= 3 && asked.tool_result_count() == 4 => {
            respond_with_call(
                "send_message",
                json!({"to": "user", "payload": "All is done."}),
            )
        }
        _ => ScriptedResponse::Text("waiting"),
    }
}

/// Runs a society over this store until it is settled or its process has died; returns whether it settled.
async fn run_until_settled_or_crashed(
    store: Arc<FaultyStore>,
    files: &Arc<MemoryWorkspaces>,
) -> bool {
    let app = app_with_workspaces(
        Arc::clone(&store) as Arc<dyn Store>,
        files,
        InstallationSettings::default(),
    );
    // A separate runtime, which ends with the process.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let life = runtime.spawn(async move {
        let society = Society::start(app, FunctionModel::new(respond), worker_settings("w1"))
            .await
            .unwrap();
        society.wait_until_settled().await;
        society.stop(Duration::from_secs(5)).await;
    });
    let lived = tokio::select! {
        lived = life => { lived.unwrap(); true }
        () = store.wait_for_crash() => false,
    };
    runtime.shutdown_background();
    lived
}

/// Checks the invariants at the end, regardless of the fault.
async fn check_invariants(app: &App, files: &MemoryWorkspaces, about: &str) {
    let mut interrupted = 0;
    for member in MEMBERS {
        let state = member_state(app, member).await;
        assert_eq!(
            (state.status, &state.running_call_id),
            (MemberStatus::Idle, &None),
            "{about}: {member}"
        );
        let entries = conversation_entries(app, member).await;
        let mut open: Vec<String> = Vec::new();
        let mut heard: Vec<u64> = Vec::new();
        for entry in &entries {
            match entry {
                ConversationEntry::Received { ids, .. } => {
                    assert!(open.is_empty(), "{about}: {member}");
                    heard.extend(ids);
                }
                ConversationEntry::Response { message, .. } => {
                    assert!(open.is_empty(), "{about}: {member}");
                    let said: Value = serde_json::from_str(message.as_str()).unwrap();
                    let calls = said["tool_calls"].as_array().cloned().unwrap_or_default();
                    open = calls
                        .iter()
                        .map(|c| c["id"].as_str().unwrap().to_owned())
                        .collect();
                }
                ConversationEntry::ToolResult {
                    message, outcome, ..
                } => {
                    let did: Value = serde_json::from_str(message.as_str()).unwrap();
                    assert_eq!(
                        open.remove(0),
                        did["tool_call_id"].as_str().unwrap(),
                        "{about}"
                    );
                    match outcome {
                        CallOutcome::Interrupted => interrupted += 1,
                        end => assert_eq!(*end, CallOutcome::Ok, "{about}: {did}"),
                    }
                }
                ConversationEntry::Note { .. } | ConversationEntry::Summary { .. } => {
                    panic!("{about}: {entry:?}")
                }
            }
        }
        // Each message of its mailbox was received once.
        let query = MailboxQuery {
            recipient: member[3..].parse().unwrap(),
            run: None,
            unread: false,
            now: i64::MAX,
            after: 0,
            limit: 1_000,
        };
        let all = app.store.mailbox(&query).await.unwrap();
        assert!(
            all.iter().all(|message| message.read_at.is_some()),
            "{about}: {member}"
        );
        let ids: Vec<u64> = all.iter().map(|message| message.id).collect();
        assert_eq!(heard, ids, "{about}: {member}");
        assert_eq!(
            state.received_messages,
            ids.len() as u64,
            "{about}: {member}"
        );
    }
    // Nothing was sent, created or executed twice, and nothing is missing.
    let user = mailbox_messages(app, "user").await;
    assert_eq!(
        user,
        [("lead".to_owned(), json!("All is done."))],
        "{about}"
    );
    let lead = mailbox_messages(app, "lead").await;
    let from = count_occurrences(lead.into_iter().map(|(from, _)| from));
    assert_eq!(
        from.into_iter().collect::<Vec<_>>(),
        [
            ("ada".to_owned(), 1),
            ("bob".to_owned(), 1),
            ("root".to_owned(), 1)
        ],
        "{about}"
    );
    let query = TaskQuery {
        limit: 100,
        ..TaskQuery::default()
    };
    let tasks = app.store.list_tasks(&query).await.unwrap();
    let tasks = count_occurrences(tasks.into_iter().map(|task| task.subject));
    assert_eq!(
        tasks.into_iter().collect::<Vec<_>>(),
        [("work of ada".to_owned(), 1), ("work of bob".to_owned(), 1)],
        "{about}"
    );
    let orders = count_occurrences(
        files
            .executed_commands()
            .into_iter()
            .map(|(_, command)| command),
    );
    assert!(
        orders.values().all(|times| *times == 1),
        "{about}: {orders:?}"
    );
    assert!(
        orders.len() + interrupted >= 2,
        "{about}: {orders:?}, {interrupted} interrupted"
    );
    let written = files.all_files();
    assert_eq!(written.len(), 2, "{about}: {written:?}");
}

/// Returns how many commits the society makes without a fault.
async fn count_commits(ground: &impl StoreFactory) -> usize {
    let store = ground.open().await.unwrap();
    let files = Arc::new(MemoryWorkspaces::default());
    let app = app_with_workspaces(Arc::clone(&store), &files, InstallationSettings::default());
    start_run(&app, "r1", "Do it.").await;
    let counting = FaultyStore::new(store, usize::MAX, InjectedFault::CrashBeforeCommit);
    assert!(run_until_settled_or_crashed(Arc::clone(&counting), &files).await);
    check_invariants(&app, &files, "without a fault").await;
    counting.commit_count()
}

/// Runs one society with one fault.
async fn run_with_fault(ground: &impl StoreFactory, at: usize, fate: InjectedFault, all: usize) {
    let store = ground.open().await.unwrap();
    let files = Arc::new(MemoryWorkspaces::default());
    let app = app_with_workspaces(Arc::clone(&store), &files, InstallationSettings::default());
    start_run(&app, "r1", "Do it.").await;
    let lived =
        run_until_settled_or_crashed(FaultyStore::new(Arc::clone(&store), at, fate), &files).await;
    let dies = matches!(
        fate,
        InjectedFault::CrashBeforeCommit | InjectedFault::CrashAfterCommit
    );
    assert!(
        lived != (dies && at < all - 8) || at >= all - 8,
        "{fate:?} at {at} of {all}"
    );
    if !lived {
        assert!(
            run_until_settled_or_crashed(FaultyStore::new(store, usize::MAX, fate), &files).await
        );
    }
    check_invariants(&app, &files, &format!("{fate:?} at {at}")).await;
}

/// Tries each fault at each commit; `step` skips some.
async fn run_with_fault_at_every_commit<G: StoreFactory, F: Future<Output = G>>(
    fresh: impl Fn() -> F,
    step: usize,
) {
    let all = count_commits(&fresh().await).await;
    assert!(all > 20, "{all}");
    let fates = [
        InjectedFault::CrashBeforeCommit,
        InjectedFault::CrashAfterCommit,
        InjectedFault::CommitFails,
        InjectedFault::ConfirmationLost,
    ];
    for (n, fate) in fates.into_iter().enumerate() {
        // Two more than there were: a fault that never occurs must not matter.
        for at in (n % step..all + 2).step_by(step) {
            run_with_fault(&fresh().await, at, fate, all).await;
        }
    }
}

#[test]
fn fault_at_any_commit_loses_nothing_in_memory() {
    polis_testkit::run_test(run_with_fault_at_every_commit(
        crate::store_factories::memory_factory,
        1,
    ));
}

#[test]
fn fault_at_any_commit_loses_nothing_embedded() {
    polis_testkit::run_test(run_with_fault_at_every_commit(
        crate::store_factories::embedded_factory,
        3,
    ));
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn fault_at_any_commit_loses_nothing_postgres() {
    polis_testkit::run_test(run_with_fault_at_every_commit(
        crate::store_factories::postgres_factory,
        5,
    ));
}

/// A step is one commit and a handful of reads, including those of the operation and of following the log.
#[test]
fn step_needs_one_commit_and_few_reads() {
    const STEP_COUNT: usize = 100;
    polis_testkit::run_test(async {
        let ground = crate::store_factories::memory_factory().await;
        let store = FaultyStore::new(
            ground.open().await.unwrap(),
            usize::MAX,
            InjectedFault::CrashBeforeCommit,
        );
        let app = crate::test_society::test_app(Arc::clone(&store) as Arc<dyn Store>);
        start_run(&app, "r1", "Do it.").await;
        let model = FunctionModel::new(|asked| match asked.response_index {
            0..100 => respond_with_call(
                "send_message",
                json!({"to": "user", "payload": asked.response_index}),
            ),
            _ => ScriptedResponse::Text("done"),
        });
        let (commits, reads) = (store.commit_count(), store.read_count());
        crate::test_society::run_until_settled(&app, &model).await;
        let (commits, reads) = (store.commit_count() - commits, store.read_count() - reads);
        assert_eq!(model.request_count(), STEP_COUNT + 1);
        // Taking and releasing the lease needs a few more.
        assert!(commits <= STEP_COUNT + 1 + 4, "{commits} commits");
        assert!(reads <= STEP_COUNT * 5, "{reads} reads");
    });
}
