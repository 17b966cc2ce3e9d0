//! Crash tests: the process ends, or the store fails, at every commit of a small society. Nothing is lost, nothing is
//! done twice, and no conversation is inconsistent.

use std::sync::Arc;
use std::time::Duration;

use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Entry};
use polis_ops::port::{MailboxQuery, Store, TaskQuery};
use polis_ops::{Polis, Settings};
use polis_society::Society;
use polis_testkit::{Ground, MemoryWorkspaces};
use serde_json::{Value, json};

use crate::faulty::{Fate, Faulty};
use crate::stage::{
    Asked, Say, Script, begin, call, conversation, counted, ground_of, mail, settings, state,
};

const MEMBERS: [&str; 4] = ["r1/root", "r1/lead", "r1/ada", "r1/bob"];

/// Root hires a lead, which hires two agents. Each creates a task, runs a command, writes a file and reports; the lead
/// reports to the human user.
fn script(asked: &Asked) -> Say {
    let me = asked.agent.as_str();
    let told = |who: &str| json!({"to": "lead", "payload": format!("{who} is done")});
    match (me, asked.number) {
        ("root", 0) => Say::Calls(vec![
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
        ("lead", 0) => call(
            "create_role",
            json!({"name": "worker", "rolePrompt": "You work."}),
        ),
        ("lead", 1) => Say::Calls(vec![
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
        ("ada" | "bob", 0) => Say::Calls(vec![
            ("TaskCreate", json!({"subject": format!("work of {me}")})),
            ("run_command", json!({"command": format!("make {me}")})),
        ]),
        ("ada" | "bob", 1) => call(
            "write_file",
            json!({"path": format!("{me}.txt"), "content": "done"}),
        ),
        ("ada" | "bob", 2) => call("send_message", told(me)),
        ("lead", _) if asked.heard >= 3 && asked.results() == 4 => call(
            "send_message",
            json!({"to": "user", "payload": "All is done."}),
        ),
        _ => Say::Done("waiting"),
    }
}

/// Runs a society over this store until it is settled or its process has died; returns whether it settled.
async fn live(store: Arc<Faulty>, files: &Arc<MemoryWorkspaces>) -> bool {
    let polis = ground_of(
        Arc::clone(&store) as Arc<dyn Store>,
        files,
        Settings::default(),
    );
    // A separate runtime, which ends with the process.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let life = runtime.spawn(async move {
        let society = Society::start(polis, Script::of(script), settings("w1"))
            .await
            .unwrap();
        society.settled().await;
        society.stop(Duration::from_secs(5)).await;
    });
    let lived = tokio::select! {
        lived = life => { lived.unwrap(); true }
        () = store.died() => false,
    };
    runtime.shutdown_background();
    lived
}

/// Checks the invariants at the end, regardless of the fault.
async fn check(polis: &Polis, files: &MemoryWorkspaces, about: &str) {
    let mut interrupted = 0;
    for member in MEMBERS {
        let state = state(polis, member).await;
        assert_eq!(
            (state.status, &state.doing),
            (MemberStatus::Idle, &None),
            "{about}: {member}"
        );
        let entries = conversation(polis, member).await;
        let mut open: Vec<String> = Vec::new();
        let mut heard: Vec<u64> = Vec::new();
        for entry in &entries {
            match entry {
                Entry::Heard { ids, .. } => {
                    assert!(open.is_empty(), "{about}: {member}");
                    heard.extend(ids);
                }
                Entry::Said { m, .. } => {
                    assert!(open.is_empty(), "{about}: {member}");
                    let said: Value = serde_json::from_str(m.text()).unwrap();
                    let calls = said["tool_calls"].as_array().cloned().unwrap_or_default();
                    open = calls
                        .iter()
                        .map(|c| c["id"].as_str().unwrap().to_owned())
                        .collect();
                }
                Entry::Did { m, end, .. } => {
                    let did: Value = serde_json::from_str(m.text()).unwrap();
                    assert_eq!(
                        open.remove(0),
                        did["tool_call_id"].as_str().unwrap(),
                        "{about}"
                    );
                    match end {
                        CallEnd::Interrupted => interrupted += 1,
                        end => assert_eq!(*end, CallEnd::Ok, "{about}: {did}"),
                    }
                }
                Entry::Told { .. } | Entry::Summed { .. } => panic!("{about}: {entry:?}"),
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
        let all = polis.store.mailbox(&query).await.unwrap();
        assert!(
            all.iter().all(|message| message.read_at.is_some()),
            "{about}: {member}"
        );
        let ids: Vec<u64> = all.iter().map(|message| message.id).collect();
        assert_eq!(heard, ids, "{about}: {member}");
        assert_eq!(state.heard, ids.len() as u64, "{about}: {member}");
    }
    // Nothing was sent, created or executed twice, and nothing is missing.
    let user = mail(polis, "user").await;
    assert_eq!(
        user,
        [("lead".to_owned(), json!("All is done."))],
        "{about}"
    );
    let lead = mail(polis, "lead").await;
    let from = counted(lead.into_iter().map(|(from, _)| from));
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
    let tasks = polis.store.list_tasks(&query).await.unwrap();
    let tasks = counted(tasks.into_iter().map(|task| task.subject));
    assert_eq!(
        tasks.into_iter().collect::<Vec<_>>(),
        [("work of ada".to_owned(), 1), ("work of bob".to_owned(), 1)],
        "{about}"
    );
    let orders = counted(files.orders().into_iter().map(|(_, command)| command));
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
async fn commits(ground: &impl Ground) -> usize {
    let store = ground.open().await.unwrap();
    let files = Arc::new(MemoryWorkspaces::default());
    let polis = ground_of(Arc::clone(&store), &files, Settings::default());
    begin(&polis, "r1", "Do it.").await;
    let counting = Faulty::new(store, usize::MAX, Fate::DieBefore);
    assert!(live(Arc::clone(&counting), &files).await);
    check(&polis, &files, "without a fault").await;
    counting.commits()
}

/// Runs one society with one fault.
async fn play(ground: &impl Ground, at: usize, fate: Fate, all: usize) {
    let store = ground.open().await.unwrap();
    let files = Arc::new(MemoryWorkspaces::default());
    let polis = ground_of(Arc::clone(&store), &files, Settings::default());
    begin(&polis, "r1", "Do it.").await;
    let lived = live(Faulty::new(Arc::clone(&store), at, fate), &files).await;
    let dies = matches!(fate, Fate::DieBefore | Fate::DieAfter);
    assert!(
        lived != (dies && at < all - 8) || at >= all - 8,
        "{fate:?} at {at} of {all}"
    );
    if !lived {
        assert!(live(Faulty::new(store, usize::MAX, fate), &files).await);
    }
    check(&polis, &files, &format!("{fate:?} at {at}")).await;
}

/// Tries each fault at each commit; `step` skips some.
async fn everywhere<G: Ground, F: Future<Output = G>>(fresh: impl Fn() -> F, step: usize) {
    let all = commits(&fresh().await).await;
    assert!(all > 20, "{all}");
    let fates = [
        Fate::DieBefore,
        Fate::DieAfter,
        Fate::FailBefore,
        Fate::UnknownAfter,
    ];
    for (n, fate) in fates.into_iter().enumerate() {
        // Two more than there were: a fault that never occurs must not matter.
        for at in (n % step..all + 2).step_by(step) {
            play(&fresh().await, at, fate, all).await;
        }
    }
}

#[test]
fn a_fault_at_any_commit_loses_nothing_in_memory() {
    polis_testkit::run(everywhere(crate::ground::memory, 1));
}

#[test]
fn a_fault_at_any_commit_loses_nothing_embedded() {
    polis_testkit::run(everywhere(crate::ground::embedded, 3));
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn a_fault_at_any_commit_loses_nothing_postgres() {
    polis_testkit::run(everywhere(crate::ground::postgres, 5));
}

/// A step is one commit and a handful of reads, including those of the operation and of following the log.
#[test]
fn a_step_is_one_commit_and_a_few_reads() {
    const STEPS: usize = 100;
    polis_testkit::run(async {
        let ground = crate::ground::memory().await;
        let store = Faulty::new(ground.open().await.unwrap(), usize::MAX, Fate::DieBefore);
        let polis = crate::stage::polis(Arc::clone(&store) as Arc<dyn Store>);
        begin(&polis, "r1", "Do it.").await;
        let model = Script::of(|asked| match asked.number {
            0..100 => call(
                "send_message",
                json!({"to": "user", "payload": asked.number}),
            ),
            _ => Say::Done("done"),
        });
        let (commits, reads) = (store.commits(), store.reads());
        crate::stage::play(&polis, &model).await;
        let (commits, reads) = (store.commits() - commits, store.reads() - reads);
        assert_eq!(model.count(), STEPS + 1);
        // Taking and releasing the lease needs a few more.
        assert!(commits <= STEPS + 1 + 4, "{commits} commits");
        assert!(reads <= STEPS * 5, "{reads} reads");
    });
}
