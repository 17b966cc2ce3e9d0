//! Test cases TC-01 to TC-21 of the task specification (document 004, section 6), run against the operations.

use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{Code, TaskId, TaskStatus, TaskType};
use polis_ops::op::{self, TaskList, TaskView};
use polis_ops::{OpError, Polis};

use crate::Ground;
use crate::test_store::{agent, polis};

const BACKEND: &str = "backend-leader";
const FRONTEND: &str = "frontend-leader";
const LEAD: &str = "team-lead";

async fn fresh(ground: &dyn Ground) -> Polis {
    polis(ground.open().await.unwrap())
}

async fn create(polis: &Polis, role: Option<&str>) -> TaskView {
    let request = TaskCreate {
        subject: "[任务] REQ-002".to_owned(),
        required_role: role.map(str::to_owned),
        ..TaskCreate::default()
    };
    op::create_task(polis, &agent(LEAD), &request)
        .await
        .unwrap()
}

async fn update(
    polis: &Polis,
    caller: &str,
    id: TaskId,
    fill: impl FnOnce(&mut TaskUpdate),
) -> Result<TaskView, OpError> {
    let mut request = TaskUpdate::of(id);
    fill(&mut request);
    op::update_task(polis, &agent(caller), &request).await
}

/// Creates a task and updates it until it is in progress at this version (at least 2).
async fn in_progress_at(polis: &Polis, version: u64) -> TaskId {
    let id = create(polis, None).await.task.id;
    for n in 2..version {
        update(polis, BACKEND, id, |u| {
            u.subject = Some(format!("第 {n} 版"));
        })
        .await
        .unwrap();
    }
    let begun = update(polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    })
    .await
    .unwrap();
    assert_eq!(begun.task.version, version);
    id
}

/// Asserts that a request was refused with the specified message and left the task unchanged.
async fn refused(
    polis: &Polis,
    before: &TaskView,
    answer: Result<TaskView, OpError>,
    code: Code,
    words: &str,
) {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), code);
    assert!(error.to_string().starts_with(words), "{error}");
    let after = op::get_task(polis, before.task.id).await.unwrap();
    assert_eq!(after, *before);
}

async fn listed(polis: &Polis, role: Option<&str>) -> Vec<u64> {
    let request = TaskList {
        role_filter: role.map(str::to_owned),
        ..TaskList::default()
    };
    let page = op::list_tasks(polis, &request).await.unwrap();
    page.tasks.iter().map(|task| task.id.number()).collect()
}

/// TC-01: a task with a required role starts at version 1.
pub async fn tc_01_create_with_required_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let made = create(&polis, Some(BACKEND)).await;
    assert_eq!(made.task.version, 1);
    assert_eq!(made.task.required_role.as_deref(), Some(BACKEND));
    assert_eq!(made.task.status, TaskStatus::Pending);
    assert_eq!(made.task.owner, "");
    assert_eq!(op::get_task(&polis, made.task.id).await.unwrap(), made);
}

/// TC-02: an unknown role is refused.
pub async fn tc_02_create_with_invalid_required_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let request = TaskCreate {
        subject: "x".to_owned(),
        required_role: Some("invalid-role".to_owned()),
        ..TaskCreate::default()
    };
    let error = op::create_task(&polis, &agent(LEAD), &request)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::InvalidRequiredRole);
    assert!(error.to_string().starts_with("Invalid requiredRole"));
    assert_eq!(listed(&polis, None).await, [0_u64; 0]);
}

/// TC-03: the required role is optional.
pub async fn tc_03_create_without_required_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let made = create(&polis, None).await;
    assert_eq!(made.task.version, 1);
    assert_eq!(made.task.required_role, None);
}

/// TC-04: a task may have a type.
pub async fn tc_04_create_with_task_type(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let request = TaskCreate {
        subject: "x".to_owned(),
        task_type: Some("backend_implementation".to_owned()),
        ..TaskCreate::default()
    };
    let made = op::create_task(&polis, &agent(LEAD), &request)
        .await
        .unwrap();
    let found = op::get_task(&polis, made.task.id).await.unwrap();
    assert_eq!(found.task.task_type, Some(TaskType::BackendImplementation));
}

/// TC-05: without a filter every task is listed.
pub async fn tc_05_list_without_role_filter(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    for role in [Some(BACKEND), Some(FRONTEND), None] {
        create(&polis, role).await;
    }
    assert_eq!(listed(&polis, None).await, [1, 2, 3]);
}

/// TC-06: the role filter lists tasks of that role and tasks without a role.
pub async fn tc_06_list_with_role_filter(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    for role in [Some(BACKEND), Some(FRONTEND), None] {
        create(&polis, role).await;
    }
    assert_eq!(listed(&polis, Some(BACKEND)).await, [1, 3]);
}

/// TC-07: the role filter lists tasks owned by the role, regardless of their required role.
pub async fn tc_07_role_filter_matches_owner(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = create(&polis, Some(FRONTEND)).await.task.id;
    assert_eq!(listed(&polis, Some(BACKEND)).await, [0_u64; 0]);
    let forced = update(&polis, LEAD, id, |u| {
        u.owner = Some(BACKEND.to_owned());
        u.force_assign = true;
    });
    forced.await.unwrap();
    assert_eq!(listed(&polis, Some(BACKEND)).await, [1]);
}

/// TC-08: an update with the current version succeeds and increments the version.
pub async fn tc_08_update_with_matching_version(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 3).await;
    let done = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Completed);
        u.expected_version = Some(3);
    });
    assert_eq!(done.await.unwrap().task.version, 4);
}

/// TC-09: an update with another version changes nothing.
pub async fn tc_09_update_with_other_version(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 5).await;
    let before = op::get_task(&polis, id).await.unwrap();
    let answer = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Completed);
        u.expected_version = Some(3);
    })
    .await;
    let words = "Task version mismatch. Expected: 3, Current: 5.\n\
                 Another agent has modified this task. Please refresh and retry.";
    refused(&polis, &before, answer, Code::VersionMismatch, words).await;
}

/// TC-10: without an expected version no version is checked.
pub async fn tc_10_update_without_expected_version(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 3).await;
    let done = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    assert_eq!(done.await.unwrap().task.version, 4);
}

/// TC-11: an agent with the required role becomes the owner.
pub async fn tc_11_owner_of_the_required_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = create(&polis, Some(BACKEND)).await.task.id;
    let taken = update(&polis, BACKEND, id, |u| u.owner = Some(BACKEND.to_owned()));
    assert_eq!(taken.await.unwrap().task.owner, BACKEND);
}

/// TC-12: an agent with another role is refused.
pub async fn tc_12_owner_of_another_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let before = create(&polis, Some(BACKEND)).await;
    let id = before.task.id;
    let answer = update(&polis, FRONTEND, id, |u| {
        u.owner = Some(FRONTEND.to_owned());
    })
    .await;
    let words = "Role mismatch. Task requires \"backend-leader\", but you are \"frontend-leader\".\n\
                 Use TaskList({ roleFilter: \"frontend-leader\" }) to find tasks for your role.";
    refused(&polis, &before, answer, Code::RoleMismatch, words).await;
}

/// TC-13: the team lead can force an assignment across roles.
pub async fn tc_13_team_lead_forces_an_assignment(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = create(&polis, Some(BACKEND)).await.task.id;
    let forced = update(&polis, LEAD, id, |u| {
        u.owner = Some("architect".to_owned());
        u.force_assign = true;
    });
    let task = forced.await.unwrap().task;
    assert_eq!(task.owner, "architect");
    assert_eq!(task.required_role.as_deref(), Some(BACKEND));
}

/// TC-14: other agents cannot force an assignment.
pub async fn tc_14_nobody_else_forces_an_assignment(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let before = create(&polis, Some(BACKEND)).await;
    let answer = update(&polis, FRONTEND, before.task.id, |u| {
        u.owner = Some(FRONTEND.to_owned());
        u.force_assign = true;
    })
    .await;
    let words = "Only team-lead can use forceAssign";
    refused(&polis, &before, answer, Code::ForceAssignForbidden, words).await;
}

/// TC-15: any agent may own a task without a required role.
pub async fn tc_15_anybody_owns_a_task_without_role(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    for name in [LEAD, BACKEND, "test-leader-3", "任何角色"] {
        let id = create(&polis, None).await.task.id;
        let taken = update(&polis, name, id, |u| u.owner = Some(name.to_owned()));
        assert_eq!(taken.await.unwrap().task.owner, name);
    }
}

/// TC-16: a pending task can be started.
pub async fn tc_16_pending_to_in_progress(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = create(&polis, None).await.task.id;
    let begun = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    });
    assert_eq!(begun.await.unwrap().task.status, TaskStatus::InProgress);
}

/// TC-17: a task in progress can be completed.
pub async fn tc_17_in_progress_to_completed(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 2).await;
    let done = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    assert_eq!(done.await.unwrap().task.status, TaskStatus::Completed);
}

/// TC-18: a completed task cannot be restarted.
pub async fn tc_18_completed_to_in_progress_is_refused(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 2).await;
    let done = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Completed);
    });
    done.await.unwrap();
    let before = op::get_task(&polis, id).await.unwrap();
    let answer = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    })
    .await;
    let words = "Invalid status transition: \"completed\" -> \"in_progress\".\n\
                 Allowed transitions from \"completed\": [\"deleted\"] (team-lead only).";
    refused(&polis, &before, answer, Code::InvalidTransition, words).await;
}

/// TC-19: a task in progress cannot become pending again.
pub async fn tc_19_in_progress_to_pending_is_refused(ground: &dyn Ground) {
    let polis = fresh(ground).await;
    let id = in_progress_at(&polis, 2).await;
    let before = op::get_task(&polis, id).await.unwrap();
    let answer = update(&polis, BACKEND, id, |u| {
        u.status = Some(TaskStatus::Pending);
    })
    .await;
    let words = "Invalid status transition: \"in_progress\" -> \"pending\".";
    refused(&polis, &before, answer, Code::InvalidTransition, words).await;
}

/// TC-20: if two agents take one task at the same version through separate handles, exactly one gets it.
pub async fn tc_20_two_agents_take_one_task(ground: &dyn Ground) {
    let (one, two) = (fresh(ground).await, fresh(ground).await);
    for _ in 0..10 {
        let id = create(&one, Some(BACKEND)).await.task.id;
        let take = |polis: &Polis, name: &'static str| {
            let polis = polis.clone();
            tokio::spawn(async move {
                update(&polis, name, id, |u| {
                    u.owner = Some(name.to_owned());
                    u.expected_version = Some(1);
                })
                .await
            })
        };
        let rivals = [take(&one, "backend-leader"), take(&two, "backend-leader-2")];
        let mut owners = Vec::new();
        let mut refusals = Vec::new();
        for rival in rivals {
            match rival.await.unwrap() {
                Ok(taken) => owners.push(taken.task.owner),
                Err(error) => refusals.push(error.code()),
            }
        }
        assert_eq!(refusals, [Code::VersionMismatch]);
        let after = op::get_task(&one, id).await.unwrap();
        assert_eq!(owners, [after.task.owner]);
        assert_eq!(after.task.version, 2);
    }
}

/// TC-21: an update based on data read before another agent's update is refused.
pub async fn tc_21_an_update_on_stale_data_is_refused(ground: &dyn Ground) {
    let (a, b) = (fresh(ground).await, fresh(ground).await);
    let id = create(&a, None).await.task.id;
    let read = op::get_task(&a, id).await.unwrap();
    assert_eq!(read.task.version, 1);
    let begun = update(&b, FRONTEND, id, |u| {
        u.status = Some(TaskStatus::InProgress);
    });
    assert_eq!(begun.await.unwrap().task.version, 2);
    let before = op::get_task(&a, id).await.unwrap();
    let answer = update(&a, BACKEND, id, |u| {
        u.owner = Some(BACKEND.to_owned());
        u.expected_version = Some(1);
    })
    .await;
    let words = "Task version mismatch. Expected: 1, Current: 2.";
    refused(&a, &before, answer, Code::VersionMismatch, words).await;
}
