//! Records the requests and responses of concurrent clients, through several handles on one store, and checks
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polis_core::task::claim::TaskClaim;
use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{Code, TaskId, TaskStatus};
use polis_ops::op::{self, TaskRelease, TaskView};
use polis_ops::{OpError, Polis};

use super::model::{Action, Answer, Request, State};
use super::search::{Entry, is_linearisable};
use crate::test_store::{agent, polis};
use crate::{Dice, Ground};

const HANDLES: usize = 2;
const CLIENTS: usize = 6;
const REQUESTS: usize = 40;

/// Histories of clients that concurrently claim, release, change and read a few tasks are linearizable for
/// each task.
pub async fn concurrent_clients_see_one_order(ground: &dyn Ground) {
    let handles = handles(ground).await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(create(&handles[0]).await);
    }
    let count = Arc::new(AtomicU64::new(0));
    let clients = (0..CLIENTS).map(|n| {
        let client = Client {
            polis: handles[n % HANDLES].clone(),
            name: format!("client-{n}"),
            dice: Dice::of(n as u64),
            count: Arc::clone(&count),
            known: vec![1; tasks.len()],
            tasks: tasks.clone(),
        };
        tokio::spawn(client.work())
    });
    let mut histories = vec![Vec::new(); tasks.len()];
    for client in clients.collect::<Vec<_>>() {
        for (task, entry) in client.await.unwrap() {
            histories[task].push(entry);
        }
    }
    for (task, mut history) in histories.into_iter().enumerate() {
        history.sort_by_key(|entry| entry.asked);
        let shown: Vec<_> = history.iter().map(|e| format!("{e:?}")).collect();
        assert!(
            is_linearisable(&State::created(), &history),
            "no order explains task {task}:\n{}",
            shown.join("\n")
        );
    }
}

/// Exactly one of many claimers gets a task; the others are refused because it is taken.
pub async fn one_of_many_claimers_gets_the_task(ground: &dyn Ground) {
    let handles = handles(ground).await;
    for _ in 0..5 {
        let id = create(&handles[0]).await;
        let claimers = (0..12_usize).map(|n| {
            let polis = handles[n % HANDLES].clone();
            let claim = TaskClaim {
                task_id: Some(id),
                ..TaskClaim::default()
            };
            tokio::spawn(async move {
                op::claim_task(&polis, &agent(&format!("client-{n}")), &claim).await
            })
        });
        let mut owners = Vec::new();
        for claimer in claimers.collect::<Vec<_>>() {
            match claimer.await.unwrap() {
                Ok(view) => owners.push(view.task.owner),
                Err(error) => assert_eq!(error.code(), Code::AlreadyClaimed),
            }
        }
        let after = op::get_task(&handles[1], id).await.unwrap();
        assert_eq!(owners, [after.task.owner]);
    }
}

async fn handles(ground: &dyn Ground) -> Vec<Polis> {
    let mut all = Vec::new();
    for _ in 0..HANDLES {
        all.push(polis(ground.open().await.unwrap()));
    }
    all
}

async fn create(polis: &Polis) -> TaskId {
    let request = TaskCreate {
        subject: "wanted".to_owned(),
        ..TaskCreate::default()
    };
    let made = op::create_task(polis, &agent("client-0"), &request).await;
    made.unwrap().task.id
}

/// A client with its view of the tasks.
struct Client {
    polis: Polis,
    name: String,
    dice: Dice,
    count: Arc<AtomicU64>,
    tasks: Vec<TaskId>,
    /// The last version of each task that this client saw.
    known: Vec<u64>,
}

impl Client {
    /// Sends random requests. Returns, for each, the index of the task and the history entry.
    async fn work(mut self) -> Vec<(usize, Entry)> {
        let mut history = Vec::new();
        for _ in 0..REQUESTS {
            let task = usize::try_from(self.dice.below(self.tasks.len() as u64)).unwrap();
            let request = self.any_request(task);
            let asked = self.count.fetch_add(1, Ordering::SeqCst);
            let answer = self.ask(self.tasks[task], &request).await;
            let answered = self.count.fetch_add(1, Ordering::SeqCst);
            if let Answer::Seen(state) = &answer {
                self.known[task] = state.version;
            }
            history.push((
                task,
                Entry {
                    asked,
                    answered,
                    request,
                    answer,
                },
            ));
            tokio::task::yield_now().await;
        }
        history
    }

    fn any_request(&mut self, task: usize) -> Request {
        let own = self.name.clone();
        let action = match self.dice.below(10) {
            0..3 => Action::Get,
            3..5 => Action::Claim,
            5..7 => Action::Release,
            _ => {
                let owners = [own.clone(), String::new(), "client-0".to_owned()];
                let owner = self.dice.maybe(&owners);
                // Completion is final, so it is rare.
                let status = match self.dice.below(20) {
                    0 => Some(TaskStatus::Completed),
                    1..8 => Some(TaskStatus::InProgress),
                    8 => Some(TaskStatus::Pending),
                    _ => None,
                };
                match (owner, status) {
                    (None, None) => Action::Get,
                    (owner, status) => Action::Update { owner, status },
                }
            }
        };
        let expects = action != Action::Get && self.dice.once_in(2);
        Request {
            caller: own,
            expected: expects.then_some(self.known[task]),
            action,
        }
    }

    async fn ask(&self, id: TaskId, request: &Request) -> Answer {
        let caller = agent(&request.caller);
        let expected_version = request.expected;
        let answer: Result<TaskView, OpError> = match &request.action {
            Action::Get => op::get_task(&self.polis, id).await,
            Action::Claim => {
                let claim = TaskClaim {
                    task_id: Some(id),
                    expected_version,
                    ..TaskClaim::default()
                };
                op::claim_task(&self.polis, &caller, &claim).await
            }
            Action::Release => {
                let release = TaskRelease {
                    task_id: id,
                    expected_version,
                };
                op::release_task(&self.polis, &caller, &release).await
            }
            Action::Update { owner, status } => {
                let update = TaskUpdate {
                    owner: owner.clone(),
                    status: *status,
                    expected_version,
                    ..TaskUpdate::of(id)
                };
                op::update_task(&self.polis, &caller, &update).await
            }
        };
        match answer {
            Ok(view) => Answer::Seen(State {
                version: view.task.version,
                owner: view.task.owner,
                status: view.task.status,
            }),
            Err(OpError::Refused(refusal)) => Answer::Refused(refusal.code),
            Err(OpError::Failed(failure)) => panic!("the store failed: {failure:?}"),
        }
    }
}
