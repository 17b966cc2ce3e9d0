//! Property test: no sequence of requests brings the tasks into a forbidden state, and a refused request
//! changes no task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::status::TRANSITIONS;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, TaskId, TaskRecord, TaskStatus, TaskType};
use polis_ops::op::{self, TaskApproveParams, TaskHeartbeatParams, TaskReleaseParams, TaskView};
use polis_ops::{App, InstallationSettings, OpError};
use polis_testkit::{CountingRandomSource, FixedClock, MemoryStore};
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
enum TaskRequest {
    Create(TaskCreateParams),
    Update(TaskUpdateParams),
    Claim(TaskClaimParams),
    Release(TaskReleaseParams),
    Approve(TaskApproveParams),
    Heartbeat(TaskHeartbeatParams),
    Wait(i64),
}

fn any_task_id() -> impl Strategy<Value = TaskId> {
    (1_u64..8).prop_map(|n| TaskId::new(n).unwrap())
}

fn any_task_ids() -> impl Strategy<Value = Vec<TaskId>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(any_task_id(), 1..3)]
}

fn any_expected_version() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 1 => (1_u64..6).prop_map(Some)]
}

fn any_role() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        1 => prop::sample::select(vec!["backend-leader", "architect"]).prop_map(|r| Some(r.to_owned())),
    ]
}

fn any_task_type() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        1 => prop::sample::select(vec!["bug_fix", "testing"]).prop_map(|t| Some(t.to_owned())),
    ]
}

fn any_create_request() -> impl Strategy<Value = TaskRequest> {
    (any_role(), any_task_type(), any_task_ids(), any_task_ids()).prop_map(
        |(required_role, task_type, blocks, by)| {
            TaskRequest::Create(TaskCreateParams {
                subject: "任务".to_owned(),
                required_role,
                task_type,
                add_blocks: blocks,
                add_blocked_by: by,
                ..TaskCreateParams::default()
            })
        },
    )
}

fn any_update_request() -> impl Strategy<Value = TaskRequest> {
    let status = prop::option::of(prop::sample::select(TaskStatus::ALL.to_vec()));
    let owners = [&CALLERS[..], &[""]].concat();
    let owner = prop::option::weighted(0.4, prop::sample::select(owners));
    let edges = (
        any_task_ids(),
        any_task_ids(),
        any_task_ids(),
        any_task_ids(),
    );
    let flags = (prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (
        any_task_id(),
        status,
        owner,
        edges,
        any_expected_version(),
        flags,
        any_role(),
    )
        .prop_map(
            |(id, status, owner, edges, expected_version, (force_assign, rename), role)| {
                TaskRequest::Update(TaskUpdateParams {
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
                    ..TaskUpdateParams::new(id)
                })
            },
        )
}

fn any_request() -> impl Strategy<Value = TaskRequest> {
    let lease = || prop::option::of(1_u64..50);
    prop_oneof![
        3 => any_create_request(),
        8 => any_update_request(),
        3 => (prop::option::weighted(0.8, any_task_id()), any_expected_version(), lease(), prop::bool::weighted(0.1)).prop_map(
            |(task_id, expected_version, lease_ms, force_assign)| TaskRequest::Claim(TaskClaimParams {
                task_id,
                expected_version,
                lease_ms,
                force_assign,
            })
        ),
        2 => (any_task_id(), any_expected_version())
            .prop_map(|(task_id, expected_version)| TaskRequest::Release(TaskReleaseParams { task_id, expected_version })),
        1 => (any_task_id(), any_expected_version()).prop_map(|(task_id, expected_version)| TaskRequest::Approve(TaskApproveParams {
            task_id,
            note: None,
            expected_version,
        })),
        1 => (any_task_id(), lease()).prop_map(|(task_id, lease_ms)| TaskRequest::Heartbeat(TaskHeartbeatParams { task_id, lease_ms })),
        1 => (1_i64..40).prop_map(TaskRequest::Wait),
    ]
}

type TasksById = BTreeMap<TaskId, TaskRecord>;

struct TestStore {
    app: App,
    clock: Arc<FixedClock>,
}

impl TestStore {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::default());
        let settings = InstallationSettings {
            approval_required: vec![TaskType::Testing],
            ..InstallationSettings::default()
        };
        let store = Arc::new(MemoryStore::default());
        let app = App::new(
            store,
            Arc::<FixedClock>::clone(&clock),
            Arc::new(CountingRandomSource::default()),
            settings,
        );
        Self { app, clock }
    }

    async fn send_request(
        &self,
        caller: &AgentId,
        request: &TaskRequest,
    ) -> Option<Result<TaskView, OpError>> {
        let app = &self.app;
        Some(match request {
            TaskRequest::Create(params) => op::create_task(&app.request(caller), params).await,
            TaskRequest::Update(params) => op::update_task(&app.request(caller), params).await,
            TaskRequest::Claim(params) => op::claim_task(&app.request(caller), params).await,
            TaskRequest::Release(params) => op::release_task(&app.request(caller), params).await,
            TaskRequest::Approve(params) => op::approve_task(&app.request(caller), params).await,
            TaskRequest::Heartbeat(params) => {
                op::heartbeat_task(&app.request(caller), params).await
            }
            TaskRequest::Wait(millis) => {
                self.clock.advance_millis(*millis);
                return None;
            }
        })
    }

    async fn read_tasks(&self) -> TasksById {
        let all = self.app.store.scan_tasks(None, 1_000).await.unwrap();
        all.into_iter().map(|r| (r.task.id, r)).collect()
    }
}

/// Checks that both ends of every edge record it, that no cycle exists, and that open blockers are counted
/// correctly.
fn check_graph(board: &TasksById) -> Result<(), TestCaseError> {
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
            .filter(|b| !board[*b].task.status.is_finished());
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
    prop_assert!(left.is_empty(), "dependency cycle among {left:?}");
    Ok(())
}

/// Checks what one successful request may change.
fn check_step(
    before: &TasksById,
    after: &TasksById,
    caller: &str,
    request: &TaskRequest,
    view: &TaskView,
) -> Result<(), TestCaseError> {
    let lead = matches!(caller, "user" | "team-lead");
    for (id, new) in after {
        let Some(old) = before.get(id) else {
            prop_assert_eq!(new.task.version, 1);
            prop_assert_eq!(new.task.status, TaskStatus::Pending);
            prop_assert!(matches!(request, TaskRequest::Create(_)));
            continue;
        };
        let (from, to) = (old.task.status, new.task.status);
        if from != to {
            let listed = TRANSITIONS.iter().find(|t| t.0 == from && t.1 == to);
            let Some((_, _, who)) = listed else {
                return Err(TestCaseError::fail(format!("{from:?} -> {to:?}")));
            };
            prop_assert!(lead || *who == polis_core::task::status::TransitionCallers::Anyone);
            prop_assert_eq!(
                *id,
                view.task.id,
                "a task other than the requested one changed its status"
            );
        }
        if from == TaskStatus::Pending && to == TaskStatus::InProgress {
            prop_assert_eq!(new.open_blockers, 0, "started while blocked");
        }
        if new.task == old.task {
            continue;
        }
        let counted = u64::from(!matches!(request, TaskRequest::Heartbeat(_)));
        prop_assert_eq!(new.task.version, old.task.version + counted);
        prop_assert_eq!(new.revision, old.revision + 1);
    }
    prop_assert!(before.keys().all(|id| after.contains_key(id)));
    prop_assert_eq!(&after[&view.task.id].task, &view.task);
    if let TaskRequest::Update(_) = request {
        prop_assert_eq!(view.task.version, before[&view.task.id].task.version + 1);
    }
    // Exactly the pending tasks that a completion or deletion unblocked are reported.
    let settled = before
        .get(&view.task.id)
        .is_some_and(|old| !old.task.status.is_finished() && view.task.status.is_finished());
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

fn check_request_sequence(requests: &[(usize, TaskRequest)]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let harness = TestStore::new();
        let mut before = harness.read_tasks().await;
        for (who, request) in requests {
            let caller = CALLERS[*who];
            let answer = harness
                .send_request(&caller.parse().unwrap(), request)
                .await;
            let after = harness.read_tasks().await;
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
    fn request_sequences_never_reach_invalid_state(
        begin in prop::collection::vec((0..CALLERS.len(), any_create_request()), 3..6),
        more in prop::collection::vec((0..CALLERS.len(), any_request()), 0..40),
    ) {
        check_request_sequence(&[begin, more].concat())?;
    }
}
