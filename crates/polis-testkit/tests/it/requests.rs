//! Property test: no sequence of requests brings the tasks into a forbidden state, and a refused request
//! changes no task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::status::TRANSITIONS;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, TaskId, TaskRecord, TaskStatus, TaskType};
use polis_ops::op::{self, TaskApprove, TaskHeartbeat, TaskRelease, TaskView};
use polis_ops::{OpError, Polis, Settings};
use polis_testkit::{CountedChance, FixedClock, MemoryStore};
use proptest::prelude::*;

const CALLERS: [&str; 5] = [
    "user",
    "team-lead",
    "backend-leader",
    "backend-leader-2",
    "architect",
];

/// A random request; tasks are referred to by number and may not exist.
#[derive(Debug, Clone)]
enum Request {
    Create(TaskCreate),
    Update(TaskUpdate),
    Claim(TaskClaim),
    Release(TaskRelease),
    Approve(TaskApprove),
    Heartbeat(TaskHeartbeat),
    Wait(i64),
}

fn task() -> impl Strategy<Value = TaskId> {
    (1_u64..8).prop_map(|n| TaskId::new(n).unwrap())
}

fn tasks() -> impl Strategy<Value = Vec<TaskId>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(task(), 1..3)]
}

fn version() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 1 => (1_u64..6).prop_map(Some)]
}

fn role() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        1 => prop::sample::select(vec!["backend-leader", "architect"]).prop_map(|r| Some(r.to_owned())),
    ]
}

fn task_type() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        1 => prop::sample::select(vec!["bug_fix", "testing"]).prop_map(|t| Some(t.to_owned())),
    ]
}

fn create() -> impl Strategy<Value = Request> {
    (role(), task_type(), tasks(), tasks()).prop_map(|(required_role, task_type, blocks, by)| {
        Request::Create(TaskCreate {
            subject: "任务".to_owned(),
            required_role,
            task_type,
            add_blocks: blocks,
            add_blocked_by: by,
            ..TaskCreate::default()
        })
    })
}

fn update() -> impl Strategy<Value = Request> {
    let status = prop::option::of(prop::sample::select(TaskStatus::ALL.to_vec()));
    let owners = [&CALLERS[..], &[""]].concat();
    let owner = prop::option::weighted(0.4, prop::sample::select(owners));
    let edges = (tasks(), tasks(), tasks(), tasks());
    let flags = (prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (task(), status, owner, edges, version(), flags, role()).prop_map(
        |(id, status, owner, edges, expected_version, (force_assign, rename), role)| {
            Request::Update(TaskUpdate {
                status,
                owner: owner.map(str::to_owned),
                subject: rename.then(|| "renamed".to_owned()),
                add_blocks: edges.0,
                add_blocked_by: edges.1,
                remove_blocks: edges.2,
                remove_blocked_by: edges.3,
                required_role: role.filter(|_| rename),
                expected_version,
                force_assign,
                ..TaskUpdate::of(id)
            })
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let lease = || prop::option::of(1_u64..50);
    prop_oneof![
        3 => create(),
        8 => update(),
        3 => (prop::option::weighted(0.8, task()), version(), lease(), prop::bool::weighted(0.1)).prop_map(
            |(task_id, expected_version, lease_ms, force_assign)| Request::Claim(TaskClaim {
                task_id,
                expected_version,
                lease_ms,
                force_assign,
            })
        ),
        2 => (task(), version())
            .prop_map(|(task_id, expected_version)| Request::Release(TaskRelease { task_id, expected_version })),
        1 => (task(), version()).prop_map(|(task_id, expected_version)| Request::Approve(TaskApprove {
            task_id,
            note: None,
            expected_version,
        })),
        1 => (task(), lease()).prop_map(|(task_id, lease_ms)| Request::Heartbeat(TaskHeartbeat { task_id, lease_ms })),
        1 => (1_i64..40).prop_map(Request::Wait),
    ]
}

type Board = BTreeMap<TaskId, TaskRecord>;

struct Table {
    polis: Polis,
    clock: Arc<FixedClock>,
}

impl Table {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::default());
        let settings = Settings {
            approval_required: vec![TaskType::Testing],
            ..Settings::default()
        };
        let store = Arc::new(MemoryStore::default());
        let polis = Polis::new(
            store,
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountedChance::default()),
            settings,
        );
        Self { polis, clock }
    }

    async fn ask(&self, caller: &AgentId, request: &Request) -> Option<Result<TaskView, OpError>> {
        let polis = &self.polis;
        Some(match request {
            Request::Create(params) => op::create_task(polis, caller, params).await,
            Request::Update(params) => op::update_task(polis, caller, params).await,
            Request::Claim(params) => op::claim_task(polis, caller, params).await,
            Request::Release(params) => op::release_task(polis, caller, params).await,
            Request::Approve(params) => op::approve_task(polis, caller, params).await,
            Request::Heartbeat(params) => op::heartbeat_task(polis, caller, params).await,
            Request::Wait(millis) => {
                self.clock.advance(*millis);
                return None;
            }
        })
    }

    async fn board(&self) -> Board {
        let all = self.polis.store.scan_tasks(None, 1_000).await.unwrap();
        all.into_iter().map(|r| (r.task.id, r)).collect()
    }
}

/// Checks that both ends of every edge record it, that no cycle exists, and that open blockers are counted
/// correctly.
fn check_graph(board: &Board) -> Result<(), TestCaseError> {
    for (id, record) in board {
        let task = &record.task;
        for other in &task.blocks {
            prop_assert!(board[other].task.blocked_by.contains(id), "{id} -> {other}");
        }
        for other in &task.blocked_by {
            prop_assert!(board[other].task.blocks.contains(id), "{other} -> {id}");
        }
        let once: BTreeSet<_> = task.blocks.iter().chain(&task.blocked_by).collect();
        prop_assert_eq!(once.len(), task.blocks.len() + task.blocked_by.len());
        let open = task
            .blocked_by
            .iter()
            .filter(|b| !board[*b].task.status.is_settled());
        prop_assert_eq!(record.open_blockers as usize, open.count(), "task {}", id);
    }
    // Repeatedly removing tasks that wait for nothing leaves none, unless there is a cycle. Deleted tasks
    // block nothing.
    let there = board
        .iter()
        .filter(|(_, r)| r.task.status != TaskStatus::Deleted);
    let mut left: BTreeSet<TaskId> = there.map(|(id, _)| *id).collect();
    while let Some(free) = left
        .iter()
        .copied()
        .find(|id| !board[id].task.blocked_by.iter().any(|b| left.contains(b)))
    {
        left.remove(&free);
    }
    prop_assert!(left.is_empty(), "a circle among {left:?}");
    Ok(())
}

/// Checks what one successful request may change.
fn check_step(
    before: &Board,
    after: &Board,
    caller: &str,
    request: &Request,
    view: &TaskView,
) -> Result<(), TestCaseError> {
    let lead = matches!(caller, "user" | "team-lead");
    for (id, new) in after {
        let Some(old) = before.get(id) else {
            prop_assert_eq!(new.task.version, 1);
            prop_assert_eq!(new.task.status, TaskStatus::Pending);
            prop_assert!(matches!(request, Request::Create(_)));
            continue;
        };
        let (from, to) = (old.task.status, new.task.status);
        if from != to {
            let listed = TRANSITIONS.iter().find(|t| t.0 == from && t.1 == to);
            let Some((_, _, who)) = listed else {
                return Err(TestCaseError::fail(format!("{from:?} -> {to:?}")));
            };
            prop_assert!(lead || *who == polis_core::task::status::Who::Anyone);
            prop_assert_eq!(
                *id,
                view.task.id,
                "a task that was not named changed its state"
            );
        }
        if from == TaskStatus::Pending && to == TaskStatus::InProgress {
            prop_assert_eq!(new.open_blockers, 0, "begun while blocked");
        }
        if new.task == old.task {
            continue;
        }
        let counted = u64::from(!matches!(request, Request::Heartbeat(_)));
        prop_assert_eq!(new.task.version, old.task.version + counted);
        prop_assert_eq!(new.revision, old.revision + 1);
    }
    prop_assert!(before.keys().all(|id| after.contains_key(id)));
    prop_assert_eq!(&after[&view.task.id].task, &view.task);
    if let Request::Update(_) = request {
        prop_assert_eq!(view.task.version, before[&view.task.id].task.version + 1);
    }
    // Exactly the pending tasks that a completion or deletion unblocked are reported.
    let settled = before
        .get(&view.task.id)
        .is_some_and(|old| !old.task.status.is_settled() && view.task.status.is_settled());
    let freed: BTreeSet<TaskId> = view.task.blocks.iter().copied().collect();
    let freed = freed.into_iter().filter(|id| {
        let pending = after[id].task.status == TaskStatus::Pending;
        let blocked = before.get(id).is_some_and(|old| old.open_blockers > 0);
        settled && pending && blocked && after[id].open_blockers == 0
    });
    let told: BTreeSet<TaskId> = view.unblocked.iter().copied().collect();
    prop_assert_eq!(told, freed.collect::<BTreeSet<_>>());
    Ok(())
}

fn play(requests: &[(usize, Request)]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let table = Table::new();
        let mut before = table.board().await;
        for (who, request) in requests {
            let caller = CALLERS[*who];
            let answer = table.ask(&caller.parse().unwrap(), request).await;
            let after = table.board().await;
            match answer {
                Some(Ok(view)) => check_step(&before, &after, caller, request, &view)?,
                Some(Err(OpError::Refused(_))) | None => prop_assert_eq!(&after, &before),
                Some(Err(OpError::Failed(error))) => {
                    return Err(TestCaseError::fail(error.to_string()));
                }
            }
            check_graph(&after)?;
            before = after;
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_sequence_of_requests_reaches_a_forbidden_state(
        begin in prop::collection::vec((0..CALLERS.len(), create()), 3..6),
        more in prop::collection::vec((0..CALLERS.len(), request()), 0..40),
    ) {
        play(&[begin, more].concat())?;
    }
}
