//! Linearizability tests: records the requests and responses of concurrent clients, through several handles
//! on one store, and checks the histories.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polis_core::task::claim::TaskClaimParams;
use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{RefusalCode, TaskId, TaskStatus};
use polis_ops::op::{self, TaskReleaseParams, TaskView};
use polis_ops::{App, OpError};

use super::history_checker::{HistoryEntry, is_linearizable};
use super::task_model::{TaskModelAction, TaskModelRequest, TaskModelResponse, TaskModelState};
use crate::store_factory::{new_test_app, parse_agent_id};
use crate::{SeededRng, StoreFactory};

const HANDLE_COUNT: usize = 2;
const CLIENT_COUNT: usize = 6;
const REQUESTS_PER_CLIENT: usize = 40;

/// Histories of clients that concurrently claim, release, change and read a few tasks are linearizable for
/// each task.
pub async fn concurrent_histories_are_linearizable(factory: &dyn StoreFactory) {
    let handles = open_handles(factory).await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(create_task(&handles[0]).await);
    }
    let count = Arc::new(AtomicU64::new(0));
    let clients = (0..CLIENT_COUNT).map(|n| {
        let client = RandomClient {
            app: handles[n % HANDLE_COUNT].clone(),
            agent_name: format!("client-{n}"),
            rng: SeededRng::from_seed(n as u64),
            event_counter: Arc::clone(&count),
            seen_versions: vec![1; tasks.len()],
            tasks: tasks.clone(),
        };
        tokio::spawn(client.send_random_requests())
    });
    let mut histories = vec![Vec::new(); tasks.len()];
    for client in clients.collect::<Vec<_>>() {
        for (task, entry) in client.await.unwrap() {
            histories[task].push(entry);
        }
    }
    for (task, mut history) in histories.into_iter().enumerate() {
        history.sort_by_key(|entry| entry.sent_at);
        let lines: Vec<_> = history.iter().map(|e| format!("{e:?}")).collect();
        assert!(
            is_linearizable(&TaskModelState::newly_created(), &history),
            "the history of task {task} is not linearizable:\n{}",
            lines.join("\n")
        );
    }
}

/// Exactly one of many claimers gets a task; the others are refused because it is taken.
pub async fn concurrent_claims_one_succeeds(factory: &dyn StoreFactory) {
    let handles = open_handles(factory).await;
    for _ in 0..5 {
        let id = create_task(&handles[0]).await;
        let claimers = (0..12_usize).map(|n| {
            let app = handles[n % HANDLE_COUNT].clone();
            let claim = TaskClaimParams {
                task_id: Some(id),
                ..TaskClaimParams::default()
            };
            tokio::spawn(async move {
                op::claim_task(
                    &app.request(&parse_agent_id(&format!("client-{n}"))),
                    &claim,
                )
                .await
            })
        });
        let mut owners = Vec::new();
        for claimer in claimers.collect::<Vec<_>>() {
            match claimer.await.unwrap() {
                Ok(view) => owners.push(view.task.owner),
                Err(error) => assert_eq!(error.code(), RefusalCode::ALREADY_CLAIMED),
            }
        }
        let after = op::get_task(&handles[1].person_request(), id)
            .await
            .unwrap();
        assert_eq!(owners, [after.task.owner]);
    }
}

async fn open_handles(factory: &dyn StoreFactory) -> Vec<App> {
    let mut all = Vec::new();
    for _ in 0..HANDLE_COUNT {
        all.push(new_test_app(factory.open().await.unwrap()));
    }
    all
}

async fn create_task(app: &App) -> TaskId {
    let request = TaskCreateParams {
        subject: "wanted".to_owned(),
        ..TaskCreateParams::default()
    };
    let created = op::create_task(&app.request(&parse_agent_id("client-0")), &request).await;
    created.unwrap().task.id
}

/// A client with its view of the tasks.
struct RandomClient {
    app: App,
    agent_name: String,
    rng: SeededRng,
    event_counter: Arc<AtomicU64>,
    tasks: Vec<TaskId>,
    /// The last version of each task that this client saw.
    seen_versions: Vec<u64>,
}

impl RandomClient {
    /// Sends random requests. Returns, for each, the index of the task and the history entry.
    async fn send_random_requests(mut self) -> Vec<(usize, HistoryEntry)> {
        let mut history = Vec::new();
        for _ in 0..REQUESTS_PER_CLIENT {
            let task = usize::try_from(self.rng.below(self.tasks.len() as u64)).unwrap();
            let request = self.random_request(task);
            let sent_at = self.event_counter.fetch_add(1, Ordering::SeqCst);
            let answer = self.send_request(self.tasks[task], &request).await;
            let answered = self.event_counter.fetch_add(1, Ordering::SeqCst);
            if let TaskModelResponse::Accepted(state) = &answer {
                self.seen_versions[task] = state.version;
            }
            history.push((
                task,
                HistoryEntry {
                    sent_at,
                    received_at: answered,
                    request,
                    response: answer,
                },
            ));
            tokio::task::yield_now().await;
        }
        history
    }

    fn random_request(&mut self, task: usize) -> TaskModelRequest {
        let own = self.agent_name.clone();
        let action = match self.rng.below(10) {
            0..3 => TaskModelAction::Get,
            3..5 => TaskModelAction::Claim,
            5..7 => TaskModelAction::Release,
            _ => {
                let owners = [own.clone(), String::new(), "client-0".to_owned()];
                let owner = self.rng.choose_optional(&owners);
                // Completion is final, so it is rare.
                let status = match self.rng.below(20) {
                    0 => Some(TaskStatus::Completed),
                    1..8 => Some(TaskStatus::InProgress),
                    8 => Some(TaskStatus::Pending),
                    _ => None,
                };
                match (owner, status) {
                    (None, None) => TaskModelAction::Get,
                    (owner, status) => TaskModelAction::Update { owner, status },
                }
            }
        };
        let expects = action != TaskModelAction::Get && self.rng.one_in(2);
        TaskModelRequest {
            caller: own,
            expected_version: expects.then_some(self.seen_versions[task]),
            action,
        }
    }

    async fn send_request(&self, id: TaskId, request: &TaskModelRequest) -> TaskModelResponse {
        let caller = parse_agent_id(&request.caller);
        let expected_version = request.expected_version;
        let answer: Result<TaskView, OpError> = match &request.action {
            TaskModelAction::Get => op::get_task(&self.app.person_request(), id).await,
            TaskModelAction::Claim => {
                let claim = TaskClaimParams {
                    task_id: Some(id),
                    expected_version,
                    ..TaskClaimParams::default()
                };
                op::claim_task(&self.app.request(&caller), &claim).await
            }
            TaskModelAction::Release => {
                let release = TaskReleaseParams {
                    task_id: id,
                    expected_version,
                };
                op::release_task(&self.app.request(&caller), &release).await
            }
            TaskModelAction::Update { owner, status } => {
                let update = TaskUpdateParams {
                    owner: owner.clone(),
                    status: *status,
                    expected_version,
                    ..TaskUpdateParams::new(id)
                };
                op::update_task(&self.app.request(&caller), &update).await
            }
        };
        match answer {
            Ok(view) => TaskModelResponse::Accepted(TaskModelState {
                version: view.task.version,
                owner: view.task.owner,
                status: view.task.status,
            }),
            Err(OpError::Refused(refusal)) => TaskModelResponse::Refused(refusal.code),
            Err(OpError::Failed(failure)) => panic!("the store failed: {failure:?}"),
        }
    }
}
